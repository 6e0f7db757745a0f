from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from annotate.models.checklist import Question
from annotate.models.round import Assignment, Round, Task
from annotate.models.user import User


class AnnotationQuerySet(models.QuerySet["Annotation"]):
    def counted(self, round: Round | None = None) -> AnnotationQuerySet:
        """Submitted annotations that hold a seat: the ones that labels are made from."""
        found = self.filter(state=Annotation.State.SUBMITTED, surplus=False)
        return found.filter(task__round=round) if round is not None else found


class Annotation(models.Model):
    """What one annotator said about one task. A save raises `version`; one with the last token changes nothing."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        SUBMITTED = "submitted", "Submitted"
        WITHDRAWN = "withdrawn", "Withdrawn"  # kept, and counted nowhere

    class Effect(models.TextChoices):
        """Whether the checklist made scoring easier (Cook et al. 2024, TICK, appendix H.4)."""

        EASIER = "easier", "Easier"
        NONE = "none", "No effect"
        HARDER = "harder", "Harder"

    LONGEST_COMMENT = 10_000

    task = models.ForeignKey(Task, models.PROTECT, related_name="annotations")
    annotator = models.ForeignKey(User, models.PROTECT, related_name="annotations")
    assignment = models.OneToOneField(Assignment, models.PROTECT, null=True, blank=True, related_name="annotation")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    surplus = models.BooleanField(default=False)
    score = models.SmallIntegerField(null=True, blank=True)
    preference = models.SmallIntegerField(null=True, blank=True)
    effect = models.CharField(max_length=8, choices=Effect.choices, blank=True)
    comment = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=0)
    last_token = models.CharField(max_length=64, blank=True)
    exposure = models.JSONField(default=dict, blank=True)  # what the annotator was shown: screen, checklist, order
    active_seconds = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    saved_at = models.DateTimeField(auto_now=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    withdrawn_because = models.CharField(max_length=500, blank=True)

    objects = AnnotationQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["task", "annotator"], name="annotation_once_per_annotator"),
            models.CheckConstraint(
                condition=Q(state="draft") | Q(submitted_at__isnull=False),
                name="annotation_submission_dated",
            ),
            # With one annotation a seat and N seats a task, no task can count more than N annotations.
            models.CheckConstraint(
                condition=~Q(state="submitted") | Q(surplus=True) | Q(assignment__isnull=False),
                name="annotation_counted_holds_seat",
            ),
            models.CheckConstraint(
                condition=Q(withdrawn_because="") | Q(state="withdrawn"), name="annotation_reason_of_withdrawal"
            ),
            models.CheckConstraint(
                condition=Q(preference=None) | Q(preference__gte=1, preference__lte=5),
                name="annotation_preference_on_scale",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} on {self.task}"

    def content(self) -> dict[str, Any]:
        """What the annotator said, as the screen sends and receives it."""
        return {
            "score": self.score,
            "answers": {str(answer.question_id): answer.value for answer in self.answers.all()},
            "effect": self.effect,
            "comment": self.comment,
        }


class Answer(models.Model):
    """One annotator's answer to one question."""

    class Value(models.TextChoices):
        YES = "yes", "Yes"
        NO = "no", "No"
        NA = "na", "Not applicable"

    annotation = models.ForeignKey(Annotation, models.CASCADE, related_name="answers")
    question = models.ForeignKey(Question, models.PROTECT, related_name="answers")
    value = models.CharField(max_length=3, choices=Value.choices)

    class Meta:
        ordering = ["annotation", "question__position"]
        constraints = [
            models.UniqueConstraint(fields=["annotation", "question"], name="answer_once_per_question"),
            models.CheckConstraint(condition=Q(value__in=["yes", "no", "na"]), name="answer_value_known"),
        ]

    def __str__(self) -> str:
        return f"{self.value} to {self.question}"

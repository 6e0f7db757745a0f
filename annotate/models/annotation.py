from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models.checklist import Question
from annotate.models.round import Round
from annotate.models.task import Assignment, Task
from annotate.models.user import User


class AnnotationQuerySet(models.QuerySet["Annotation"]):
    def counted(self, round: Round | None = None) -> AnnotationQuerySet:
        """Submitted annotations that hold a seat: the ones that labels are made from."""
        found = self.filter(state=Annotation.State.SUBMITTED, surplus=False)
        return found.filter(task__round=round) if round is not None else found

    def handed_in(self, round: Round) -> AnnotationQuerySet:
        """Whatever annotators submitted in this round, also surplus and withdrawn; no keys of a training set."""
        return self.filter(task__round=round, key_of=None).exclude(state=Annotation.State.DRAFT)

    def said_in(self, round: Round | int, author: User | int) -> AnnotationQuerySet:
        """What somebody wrote while working in this round, drafts and gold units included."""
        gold = Assignment.objects.filter(shown_in=round, annotator=author).values("task")
        return self.filter(Q(task__round=round) | Q(task__in=gold), annotator=author)

    def of_author(self, round: Round, author: User) -> AnnotationQuerySet:
        """What somebody submitted while working in this round, the newest first; gold units stand among the rest."""
        said = self.said_in(round, author).exclude(state=Annotation.State.DRAFT)
        found = said.select_related("task__item", "task__round")
        return found.prefetch_related("answers").order_by("-submitted_at", "-pk")


class Annotation(models.Model):
    """What one annotator said about one task. A save raises `version`; one with the last token changes nothing."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        SUBMITTED = "submitted", "Submitted"
        WITHDRAWN = "withdrawn", "Withdrawn"  # kept, and counted nowhere

    class Effect(models.TextChoices):
        """Whether the checklist made scoring easier (Cook et al. 2024, TICK, appendix H.4)."""

        EASIER = "easier", _("Easier")
        NONE = "none", _("No effect")
        HARDER = "harder", _("Harder")

    LONGEST_COMMENT = 10_000

    task = models.ForeignKey(Task, models.PROTECT, related_name="annotations")
    annotator = models.ForeignKey(User, models.PROTECT, related_name="annotations")
    assignment = models.OneToOneField(Assignment, models.PROTECT, null=True, blank=True, related_name="annotation")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    surplus = models.BooleanField(default=False)
    score = models.SmallIntegerField(null=True, blank=True)
    # Of a pair, in its original order: 1 (the response is much better) to 5 (the other is much better).
    preference = models.SmallIntegerField(null=True, blank=True)
    effect = models.CharField(max_length=8, choices=Effect.choices, blank=True)
    comment = models.TextField(blank=True)
    # Passages of the text given as evidence, and faults of the checklist, with a note or ""; by question id (with
    # "-other" for the other response of a pair), or "whole" and "checklist".
    quotes = models.JSONField(default=dict, blank=True)
    flags = models.JSONField(default=dict, blank=True)
    written = models.JSONField(default=dict, blank=True)  # of a checklist writer: safe, sensible, questions
    version = models.PositiveIntegerField(default=0)
    last_token = models.CharField(max_length=64, blank=True)
    exposure = models.JSONField(default=dict, blank=True)  # what the annotator was shown and asked, and when
    active_seconds = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    saved_at = models.DateTimeField(auto_now=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    withdrawn_because = models.CharField(max_length=500, blank=True)

    held: bool | None = None  # whether its author has a seat of the task, where saving it looked

    objects = AnnotationQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["annotator", "-submitted_at"], name="annotation_latest")]
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


class Answer(models.Model):
    """One annotator's answer to one question; of a pair, about one of its responses."""

    class Value(models.TextChoices):
        YES = "yes", _("Yes")
        NO = "no", _("No")
        NA = "na", _("Not applicable")
        UNSURE = "unsure", _("Cannot tell")  # counts as no label

    annotation = models.ForeignKey(Annotation, models.CASCADE, related_name="answers")
    question = models.ForeignKey(Question, models.PROTECT, related_name="answers")
    about_other = models.BooleanField(default=False)  # of a pair: about its other response
    value = models.CharField(max_length=6, choices=Value.choices)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["annotation", "question", "about_other"], name="answer_once_per_question"),
            models.CheckConstraint(condition=Q(value__in=["yes", "no", "na", "unsure"]), name="answer_value_known"),
        ]

    def __str__(self) -> str:
        return f"{self.value} to {self.question}"


class Revision(models.Model):
    """What an annotation said before it was corrected or begun anew, and what a key expected before it was changed."""

    class Why(models.TextChoices):
        CORRECTED = "corrected", _("corrected")
        KEY = "key", _("expected answers changed")
        ANEW = "anew", _("begun anew for another attempt")

    annotation = models.ForeignKey(Annotation, models.CASCADE, related_name="revisions")
    version = models.PositiveIntegerField()  # the one that this was
    content = models.JSONField()
    why = models.CharField(max_length=10, choices=Why.choices)
    detail = models.CharField(max_length=500, blank=True)  # the user name of who changed a key
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["annotation", "version", "pk"]

    def __str__(self) -> str:
        return f"Version {self.version} of {self.annotation}"


class Removal(models.Model):
    """The record of what was done with the labels of an annotator who was taken out of a round."""

    class Labels(models.TextChoices):
        KEPT = "kept", _("keep the labels")
        EXCLUDED = "excluded", _("keep the labels, and count them nowhere")
        DELETED = "deleted", _("delete the labels")

    round = models.ForeignKey(Round, models.PROTECT, related_name="removals")
    annotator = models.ForeignKey(User, models.PROTECT, related_name="removals")
    removed_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    removed_at = models.DateTimeField(auto_now_add=True)
    labels = models.CharField(max_length=8, choices=Labels.choices)
    reason = models.CharField(max_length=500, blank=True)
    annotations = models.PositiveIntegerField()  # how many were concerned
    drafts = models.PositiveIntegerField(default=0)  # of these, as far as they were deleted
    digest = models.CharField(max_length=64, blank=True)  # SHA-256 of what was deleted

    class Meta:
        ordering = ["-removed_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.annotator} removed from {self.round}"

    @property
    def submissions(self) -> int:
        return self.annotations - self.drafts


class Adjudication(models.Model):
    """An adjudicator's decision on a task on which people disagree: a label of its own, beside theirs."""

    task = models.ForeignKey(Task, models.PROTECT, related_name="adjudications")
    adjudicator = models.ForeignKey(User, models.PROTECT, related_name="adjudications")
    content = models.JSONField()  # as `annotate.contents.Content.as_json`
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["task", "-decided_at", "-pk"]

    def __str__(self) -> str:
        return f"Decision of {self.adjudicator} on {self.task}"

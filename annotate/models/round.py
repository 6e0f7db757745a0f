from __future__ import annotations

import datetime
import random
from collections import Counter
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Count, Q
from django.utils import timezone

from annotate.models.checklist import Checklist
from annotate.models.item import Item, Response
from annotate.models.project import Project, Scale
from annotate.models.user import User
from annotate.signals import round_opened


class RoundQuerySet(models.QuerySet["Round"]):
    def open(self) -> RoundQuerySet:
        return self.filter(state=Round.State.OPEN)

    def with_progress(self) -> RoundQuerySet:
        """Adds `seats_total` and `seats_submitted`."""
        live = ~Q(tasks__assignments__state=Assignment.State.SKIPPED)
        done = Q(tasks__assignments__state=Assignment.State.SUBMITTED)
        return self.annotate(
            seats_total=Count("tasks__assignments", filter=live),
            seats_submitted=Count("tasks__assignments", filter=done),
        )


class Round(Scale):
    """A piece of human work: what is asked (kind), of which units, by how many people each (overlap N)."""

    class Kind(models.TextChoices):
        DIRECT_SCORING = "direct_scoring", "Direct scoring"
        CHECK_THEN_SCORE = "check_then_score", "Check, then score"

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed"

    MOST_OVERLAP = 50

    project = models.ForeignKey(Project, models.PROTECT, related_name="rounds")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=24, choices=Kind.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    guidelines = models.TextField(blank=True)
    overlap = models.PositiveSmallIntegerField("annotators per response", default=3)
    arm = models.CharField(max_length=60, blank=True, help_text="The experimental arm this round stands for, if any.")
    category = models.CharField("only this category", max_length=100, blank=True)
    language = models.CharField("only this language", max_length=35, blank=True)
    sample_size = models.PositiveIntegerField("at most this many items", null=True, blank=True)
    checklist_policy = models.CharField("checklists written by", max_length=40, blank=True)
    lease_minutes = models.PositiveSmallIntegerField("minutes a task is held for one annotator", default=60)
    allow_na = models.BooleanField('offer "not applicable" as an answer', default=False)
    seed = models.PositiveIntegerField(default=42)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = RoundQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="round_name_once"),
            models.CheckConstraint(condition=Q(overlap__gte=1, overlap__lte=50), name="round_overlap_in_range"),
            models.CheckConstraint(condition=Q(lease_minutes__gte=1), name="round_lease_positive"),
            models.CheckConstraint(condition=Q(scale_high__gt=models.F("scale_low")), name="round_scale_rises"),
            models.CheckConstraint(condition=Q(state="draft") | Q(opened_at__isnull=False), name="round_opening_dated"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def uses_checklist(self) -> bool:
        return self.kind == self.Kind.CHECK_THEN_SCORE

    def units(self) -> tuple[list[Response], int]:
        """The responses that the round would label, in item order, and how many lack an approved checklist."""
        items = Item.objects.filter(project=self.project)
        chosen = items.chosen(self.category, self.language, self.sample_size, self.seed)
        responses = list(Response.objects.filter(item__in=chosen).select_related("item"))
        if not self.uses_checklist:
            return responses, 0
        checklists = Checklist.objects.newest_approved(chosen, self.checklist_policy)
        usable = [response for response in responses if response.item_id in checklists]
        return usable, len(responses) - len(usable)

    def open(self) -> int:
        """Make the tasks with N seats each and let annotators in. Returns the number of tasks."""
        with transaction.atomic():
            opened = Round.objects.filter(pk=self.pk, state=self.State.DRAFT).update(
                state=self.State.OPEN, opened_at=timezone.now()
            )
            if not opened:
                raise ValidationError("Only a draft can be opened: reload the page to see its present state.")
            responses, _ = self.units()
            if not responses:
                raise ValidationError(
                    "The round has nothing to label: approve checklists for its items first."
                    if self.uses_checklist
                    else "The round has nothing to label: import items, or widen its filter."
                )
            checklists: dict[int, Checklist] = {}
            if self.uses_checklist:
                items = {response.item_id: response.item for response in responses}
                checklists = Checklist.objects.newest_approved(list(items.values()), self.checklist_policy)
            order = list(range(1, len(responses) + 1))
            random.Random(self.seed).shuffle(order)
            tasks = Task.objects.bulk_create(
                Task(
                    round=self,
                    item_id=response.item_id,
                    response=response,
                    checklist=checklists.get(response.item_id),
                    position=position,
                )
                for response, position in zip(responses, order, strict=True)
            )
            Assignment.objects.bulk_create(
                (Assignment(task=task, seat=seat) for task in tasks for seat in range(1, self.overlap + 1)),
                batch_size=5000,
            )
            self.refresh_from_db()
            round_opened.send(sender=Round, round=self)
        return len(tasks)

    def close(self) -> None:
        """Hand out no more tasks. What is submitted later is kept as surplus."""
        closed = Round.objects.filter(pk=self.pk, state=self.State.OPEN).update(
            state=self.State.CLOSED, closed_at=timezone.now()
        )
        if not closed:
            raise ValidationError("Only an open round can be closed: reload the page to see its present state.")
        self.refresh_from_db()

    def reopen(self) -> None:
        reopened = Round.objects.filter(pk=self.pk, state=self.State.CLOSED).update(
            state=self.State.OPEN, closed_at=None
        )
        if not reopened:
            raise ValidationError("Only a closed round can be reopened: reload the page to see its present state.")
        self.refresh_from_db()

    def workers(self) -> list[Worker]:
        """Everybody who took a seat or said something in this round, by user name."""
        said: Counter[tuple[int, str]] = Counter()
        annotated = User.objects.filter(annotations__task__round=self)
        for pk, state, surplus, n in annotated.values_list(
            "pk", "annotations__state", "annotations__surplus", Count("annotations")
        ).order_by():
            said[pk, "surplus" if surplus else state] += n
        seats = Assignment.objects.filter(task__round=self, annotator__isnull=False)
        for pk, state, n in seats.values_list("annotator", "state", Count("pk")).order_by():
            said[pk, f"seat {state}"] += n
        people = User.objects.filter(pk__in={pk for pk, _ in said}).order_by("username")
        return [
            Worker(
                person,
                said[person.pk, "submitted"],
                said[person.pk, "surplus"],
                said[person.pk, "seat leased"],
                said[person.pk, "seat skipped"],
            )
            for person in people
        ]

    def progress_of(self, user: User) -> dict[str, int]:
        """How many tasks this annotator submitted, and how many could still be theirs."""
        mine = Assignment.objects.filter(task__round=self, annotator=user)
        return {
            "submitted": mine.filter(state=Assignment.State.SUBMITTED).count(),
            "available": Assignment.objects.claimable(self, user, timezone.now()).values("task").distinct().count()
            + mine.filter(state=Assignment.State.LEASED).count(),
        }


class Worker(NamedTuple):
    """How far one annotator has come in a round, in tasks."""

    annotator: User
    submitted: int
    surplus: int
    held: int
    skipped: int


class Task(models.Model):
    """One unit of a round: a response, or a pair of responses in a stored order. Pins its checklist version."""

    round = models.ForeignKey(Round, models.PROTECT, related_name="tasks")
    item = models.ForeignKey(Item, models.PROTECT, related_name="tasks")
    response = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="tasks")
    other = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="+")
    swapped = models.BooleanField(null=True, blank=True)  # of a pair: `other` is shown on the left
    checklist = models.ForeignKey(Checklist, models.PROTECT, null=True, blank=True, related_name="tasks")
    position = models.PositiveIntegerField()  # from 1, shuffled by the round's seed

    class Meta:
        ordering = ["round", "position"]
        constraints = [
            models.UniqueConstraint(fields=["round", "position"], name="task_position_once"),
            models.UniqueConstraint(fields=["round", "response"], condition=Q(other=None), name="task_response_once"),
            models.UniqueConstraint(
                fields=["round", "response", "other"], condition=Q(other__isnull=False), name="task_pair_once"
            ),
            models.UniqueConstraint(fields=["round", "item"], condition=Q(response=None), name="task_item_once"),
            models.CheckConstraint(
                condition=Q(other=None, swapped=None)
                | (
                    Q(other__isnull=False, response__isnull=False, swapped__isnull=False)
                    & ~Q(other=models.F("response"))
                ),
                name="task_pair_complete",
            ),
        ]

    def __str__(self) -> str:
        return f"Task {self.position} of {self.round}"


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def claimable(self, round: Round, user: Any, now: datetime.datetime) -> AssignmentQuerySet:
        """Seats of an open round that `user` could take: free, or held under a lease that ran out, of tasks that
        the user has no seat of and has submitted nothing about, withdrawn or not."""
        seen = Assignment.objects.filter(task=models.OuterRef("task"), annotator=user)
        said = Task.objects.filter(
            pk=models.OuterRef("task"), annotations__annotator=user, annotations__state__in=["submitted", "withdrawn"]
        )
        return (
            self.filter(task__round=round, task__round__state=Round.State.OPEN)
            .filter(Q(state=Assignment.State.FREE) | Q(state=Assignment.State.LEASED, leased_until__lt=now))
            .exclude(models.Exists(seen))
            .exclude(models.Exists(said))
        )


class Assignment(models.Model):
    """One of the N seats of a task. A skipped seat stays as a record and a free one with its number takes its place."""

    class State(models.TextChoices):
        FREE = "free", "Free"
        LEASED = "leased", "Leased"
        SUBMITTED = "submitted", "Submitted"
        SKIPPED = "skipped", "Skipped"

    task = models.ForeignKey(Task, models.PROTECT, related_name="assignments")
    seat = models.PositiveSmallIntegerField()  # 1..N
    state = models.CharField(max_length=10, choices=State.choices, default=State.FREE)
    annotator = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="assignments")
    leased_until = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True)  # why it was skipped

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["task", "seat"]
        indexes = [models.Index(fields=["state", "leased_until"], name="assignment_state_lease")]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "seat"], condition=~Q(state="skipped"), name="assignment_seat_once"
            ),
            models.UniqueConstraint(
                fields=["task", "annotator"],
                condition=Q(annotator__isnull=False),
                name="assignment_annotator_once",
            ),
            models.CheckConstraint(condition=Q(seat__gte=1), name="assignment_seat_from_one"),
            models.CheckConstraint(
                condition=Q(state="free", annotator=None, leased_until=None)
                | Q(state="leased", annotator__isnull=False, leased_until__isnull=False)
                | Q(state__in=["submitted", "skipped"], annotator__isnull=False, leased_until=None),
                name="assignment_state_complete",
            ),
        ]

    def __str__(self) -> str:
        return f"Seat {self.seat} of {self.task}"

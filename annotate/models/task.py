from __future__ import annotations

import random
import secrets
from collections.abc import Sequence

from django.db import models
from django.db.models import Q

from annotate.models.checklist import Checklist, Question
from annotate.models.item import Item, Response
from annotate.models.round import Round, Unit
from annotate.models.user import User

BATCH = 5000
LARGEST_ID = 2**53 - 1  # that JSON readers keep exact


class TaskQuerySet(models.QuerySet["Task"]):
    def make(self, round: Round, units: Sequence[Unit]) -> None:
        """The tasks of a round that is being opened, with N seats each; of a training set, without seats.

        The round's seed decides the positions, and which response of a pair stands on the left: of every two pairs
        one is swapped, so that both orders occur equally often.
        """
        rng = random.Random(round.seed)
        order = list(range(1, len(units) + 1))
        if round.order == Round.Order.RANDOM:
            rng.shuffle(order)
        swaps = [bool(number % 2) for number in range(len(units))]
        rng.shuffle(swaps)
        # Ids are drawn, as addresses show them: rising ones would tell the systems apart, and gold units from tasks.
        tasks = self.bulk_create(
            (
                Task(
                    pk=1 + secrets.randbelow(LARGEST_ID),
                    round=round,
                    item=unit.item,
                    response=unit.response,
                    other=unit.other,
                    swapped=swapped if unit.other else None,
                    checklist=unit.checklist,
                    position=position,
                )
                for unit, position, swapped in zip(units, order, swaps, strict=True)
            ),
            batch_size=BATCH,
        )
        if not round.is_training:
            Assignment.objects.bulk_create(
                (Assignment(task=task, seat=seat) for task in tasks for seat in range(1, round.overlap + 1)),
                batch_size=BATCH,
            )

    def with_texts(self) -> TaskQuerySet:
        """With all that a screen shows, in two queries."""
        return self.for_saving().select_related("round__project", "item", "response", "other")

    def for_saving(self) -> TaskQuerySet:
        """With what a form is checked against, in two queries."""
        asked = models.Prefetch("checklist__questions", Question.objects.order_by("position"))
        return self.select_related("round", "checklist").prefetch_related(asked)


class Task(models.Model):
    """One unit of a round: a response, a pair of responses in a stored order, or an item. Pins its checklist."""

    round = models.ForeignKey(Round, models.PROTECT, related_name="tasks")
    item = models.ForeignKey(Item, models.PROTECT, related_name="tasks")
    response = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="tasks")
    other = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="+")
    swapped = models.BooleanField(null=True, blank=True)  # of a pair: `other` is shown on the left
    checklist = models.ForeignKey(Checklist, models.PROTECT, null=True, blank=True, related_name="tasks")
    position = models.PositiveIntegerField()  # from 1, shuffled by the round's seed
    # Of a training set: what a researcher expects, as an annotation of their own whose comment is the feedback.
    key = models.OneToOneField("annotate.Annotation", models.PROTECT, null=True, blank=True, related_name="key_of")
    # How far people disagree, in [0, 1], and whether an adjudicator has decided. `annotate.adjudication` keeps both;
    # of the first `judging.moves` runs its `keep_size`, and `judging.recount` its `keep_sizes`.
    disagreement = models.FloatField(default=0)
    decided = models.BooleanField(default=False)

    objects = TaskQuerySet.as_manager()

    class Meta:
        ordering = ["round", "position"]
        indexes = [models.Index("round", "decided", models.F("disagreement").desc(), "position", name="task_listed")]
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

    @property
    def shown(self) -> list[Response]:
        """The responses as they stand on the screen, the left one first; none where an item is the unit."""
        both = [response for response in (self.response, self.other) if response is not None]
        return both[::-1] if self.swapped else both


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def in_round(self, round: Round | int) -> AssignmentQuerySet:
        """The seats of this round's own tasks, and those of the gold units that annotators meet in it."""
        return self.filter(Q(task__round=round) | Q(shown_in=round))

    def skipped(self) -> AssignmentQuerySet:
        """Those that their annotators skipped themselves."""
        return self.filter(state=Assignment.State.SKIPPED, vacated=False)

    def without(self, user: int) -> AssignmentQuerySet:
        """Seats of tasks that the user with this id has no seat of and submitted nothing about, withdrawn or not."""
        from annotate.models.annotation import Annotation

        seen = Assignment.objects.filter(task=models.OuterRef("task"), annotator=user)
        said = Annotation.objects.filter(task=models.OuterRef("task"), annotator=user).exclude(state="draft")
        return self.exclude(models.Exists(seen)).exclude(models.Exists(said))


class Assignment(models.Model):
    """One of the N seats of a task. A skipped seat stays as a record and a free one with its number takes its place;
    so does a vacated one, which a researcher took.

    A training set makes a seat whenever somebody takes one of its tasks.
    """

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
    reason = models.CharField(max_length=500, blank=True)  # why it was skipped or vacated
    vacated = models.BooleanField(default=False)  # of a skipped seat: its annotator did not skip the task
    # Where a gold unit is mixed into another round: that round.
    shown_in = models.ForeignKey(Round, models.PROTECT, null=True, blank=True, related_name="gold_seats")

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["task", "seat"]
        indexes = [
            # Few seats are leased at a time, so these stay small however large a round is.
            models.Index(fields=["leased_until"], condition=Q(state="leased"), name="assignment_lease"),
            models.Index(fields=["annotator"], condition=Q(state="leased"), name="assignment_held"),
        ]
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

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from django.db import models
from django.db.models import Count
from django.utils.translation import gettext_lazy as _

from annotate.models.annotation import Annotation
from annotate.models.round import Round
from annotate.models.task import Assignment
from annotate.models.user import User


class Participation(models.Model):
    """One annotator in one round: how far they are in their own order, and whether they may go on."""

    class State(models.TextChoices):
        ACTIVE = "active", _("Active")
        PAUSED = "paused", _("Paused")
        REMOVED = "removed", _("Removed")

    round = models.ForeignKey(Round, models.CASCADE, related_name="participations")
    annotator = models.ForeignKey(User, models.PROTECT, related_name="participations")
    state = models.CharField(max_length=8, choices=State.choices, default=State.ACTIVE)
    block = models.PositiveIntegerField(default=0)  # the block of tasks that they work in (see annotate.assignment)
    submitted = models.PositiveIntegerField(default=0)  # tasks submitted and counted, kept by annotate.labelling
    # Of a training set:
    attempts = models.PositiveSmallIntegerField(default=0)  # finished
    attempt_tasks = models.JSONField(default=list, blank=True)  # the ids of its tasks, from its first one to its last
    share = models.FloatField(null=True, blank=True)  # of the expected answers met in the best attempt, in [0, 1]
    passed_at = models.DateTimeField(null=True, blank=True)
    # The round that they are on the way into.
    practised_for = models.ForeignKey(Round, models.SET_NULL, null=True, blank=True, related_name="+")
    started_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["round", "annotator"], name="participation_once"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} in {self.round}"


class Worker(NamedTuple):
    """How far one annotator has come in a round, in tasks."""

    annotator: User
    submitted: int
    surplus: int
    held: int
    skipped: int
    state: str = Participation.State.ACTIVE

    @property
    def state_label(self) -> str:
        return str(Participation.State(self.state).label)


def workers_of(round: Round) -> list[Worker]:
    """Everybody who took a seat or said something in this round, was paused or removed; by user name. Writers of keys
    are none of them."""
    said: Counter[tuple[int, str]] = Counter()
    rows = Annotation.objects.filter(task__round=round, key_of=None).values_list("annotator", "state", "surplus")
    for pk, state, surplus, n in rows.annotate(n=Count("pk")).order_by():
        said[pk, "surplus" if surplus else state] += n
    seats = Assignment.objects.filter(task__round=round, annotator__isnull=False)
    for name, some in (("held", seats.filter(state=Assignment.State.LEASED)), ("skipped", seats.skipped())):
        for pk, n in some.values_list("annotator").annotate(n=Count("pk")).order_by():
            said[pk, name] += n
    states = dict(round.participations.exclude(state=Participation.State.ACTIVE).values_list("annotator", "state"))
    people = User.objects.filter(pk__in={pk for pk, _ in said} | states.keys()).order_by("username")
    return [
        Worker(
            person,
            said[person.pk, "submitted"],
            said[person.pk, "surplus"],
            said[person.pk, "held"],
            said[person.pk, "skipped"],
            states.get(person.pk, Participation.State.ACTIVE),
        )
        for person in people
    ]

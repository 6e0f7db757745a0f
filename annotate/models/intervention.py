from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.models.round import Round
from annotate.models.task import Task
from annotate.models.user import User


class Intervention(models.Model):
    """The record of what a researcher did to a round, or to its people, seats or single labels. Removals have their
    own."""

    class Action(models.TextChoices):
        RELEASED = "released", _("released seats")
        REASSIGNED = "reassigned", _("gave a seat to somebody else")
        PAUSED = "paused", _("paused an annotator")
        RESUMED = "resumed", _("let an annotator in again")
        PLACED = "placed", _("placed an annotator in this arm")
        WITHDRAWN = "withdrawn", _("withdrew a label")
        CLOSED = "closed", _("closed the round")
        REOPENED = "reopened", _("opened the round again")

    round = models.ForeignKey(Round, models.PROTECT, related_name="interventions")
    action = models.CharField(max_length=10, choices=Action.choices)
    annotator = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")  # whom it concerns
    given_to = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    task = models.ForeignKey(Task, models.PROTECT, null=True, blank=True, related_name="+")
    seats = models.PositiveIntegerField(default=0)  # released
    reason = models.CharField(max_length=500, blank=True)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.by} {self.action} in {self.round}"

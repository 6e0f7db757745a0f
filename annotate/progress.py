"""How far a round is: its bar, its people, and when either has moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import supervision
from annotate.assignment import COUNTED_UP_TO
from annotate.models import Round
from annotate.models.participation import Worker, workers_of


@dataclass(frozen=True)
class Progress:
    """Tasks submitted of those that there are, by everybody; who works; and how many seats are held beyond their time.

    note  the numbers in words
    """

    done: int
    total: int
    note: str
    workers: list[Worker]
    expired: int


def progress_of(round: Round) -> Progress:
    """Counts seats and labels: the more of them, the longer it takes."""
    counted: Any = Round.objects.with_progress().get(pk=round.pk)
    done, total = counted.seats_submitted, counted.seats_total
    tasks = ngettext("%(n)s task", "%(n)s tasks", round.size) % {"n": intcomma(round.size)}
    people = ngettext("%(n)s annotator each", "%(n)s annotators each", round.overlap) % {"n": round.overlap}
    note = _("%(done)s of %(total)s: %(tasks)s, %(people)s") % {
        "done": intcomma(done),
        "total": intcomma(total),
        "tasks": tasks,
        "people": people,
    }
    return Progress(done, total, note, workers_of(round), supervision.expired(round))


def moves_along(round: Round) -> bool:
    """Whether the progress can be counted in passing, each time that something has changed."""
    return round.size <= COUNTED_UP_TO and not round.is_training


def version(round: Round) -> str:
    """A string that changes whenever somebody starts, submits, or is paused, let in or removed. One small query."""
    return repr(list(round.participations.order_by("pk").values_list("pk", "state", "submitted")))

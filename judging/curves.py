"""Agreement over time: figures of rounds that moved are noted each minute, and the curve is drawn from the notes."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, OuterRef, Q, Subquery

from annotate.models import Round
from judging import live
from judging.agreement import Figure
from judging.models import Ledger, Snapshot

MOST_POINTS = 48
NOTED = ("value", "low", "high", "n_units", "n_labels", "missing")


@dataclass(frozen=True)
class Noted:
    """A figure as it was; all None where it was not measured yet, `value` None where it was undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n_units: int | None = None
    n_labels: int | None = None
    missing: int | None = None


@dataclass(frozen=True)
class Point:
    """One moment, with a figure for every line of the curve."""

    at: datetime.datetime
    figures: Sequence[Noted]


@dataclass(frozen=True)
class Line:
    words: str
    figures: Sequence[Noted]


@dataclass(frozen=True)
class Curve:
    """At most `MOST_POINTS` moments, the oldest first."""

    lines: Sequence[Line]
    points: Sequence[Point]


def take(now: datetime.datetime) -> int:
    """Note the figures of every round with labels that moved since its last snapshot. Returns their number."""
    last = Snapshot.objects.filter(round=OuterRef("round")).order_by("-pk").values("revision")[:1]
    moved = Ledger.objects.annotate(noted=Subquery(last)).filter(Q(noted=None) | ~Q(revision=F("noted")))
    taken = 0
    for ledger in moved.select_related("round"):
        panel = live.panel(ledger.round)
        if not panel.labels:
            continue
        figures = {name: _noted(figure) for name, (_, figure) in panel.alphas.items()}
        _, made = Snapshot.objects.get_or_create(
            round=ledger.round, revision=ledger.revision, defaults={"taken_at": now, "figures": figures}
        )
        taken += made
    return taken


def version(round: Round) -> str:
    """A string that changes with every snapshot."""
    newest = Snapshot.objects.filter(round=round).order_by("-taken_at").values_list("pk", flat=True).first()
    return f"{round.pk}-{newest or 0}"


def curve(round: Round, panel: live.Panel) -> Curve:
    """How the figures that the panel shows came about; long histories are thinned evenly. Two queries."""
    snapshots = Snapshot.objects.filter(round=round)
    kept = _thinned(list(snapshots.order_by("taken_at", "pk").values_list("pk", flat=True)))
    shown = list(snapshots.filter(pk__in=kept).order_by("taken_at", "pk"))
    names = panel.alphas
    rows = [[Noted(**snapshot.figures.get(name, {})) for name in names] for snapshot in shown]
    return Curve(
        lines=[Line(words, [row[place] for row in rows]) for place, (words, _) in enumerate(names.values())],
        points=[Point(snapshot.taken_at, row) for snapshot, row in zip(shown, rows, strict=True)],
    )


def _noted(figure: Figure) -> dict[str, float | int | None]:
    return {name: getattr(figure, name) for name in NOTED}


def _thinned(pks: Sequence[int]) -> Sequence[int]:
    """Evenly spaced, with the first and the last."""
    if len(pks) <= MOST_POINTS:
        return pks
    return [pks[place * (len(pks) - 1) // (MOST_POINTS - 1)] for place in range(MOST_POINTS)]

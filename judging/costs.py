"""What runs have cost, and what more of them would.

Source: RocketEval (003), Table 4: checklists are written once, and every run with them costs the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotate.models import Checklist
from judging.models import Call, Run

PROJECTED = (1, 10, 100)  # runs


@dataclass(frozen=True)
class Standing:
    """How far a run is, as of `Run.progress`, and what it has cost in US dollars."""

    progress: dict[str, int]
    cost: Decimal


def standings(runs: Sequence[Run]) -> dict[int, Standing]:
    """Where runs stand, by run id. Two queries, however many there are."""
    calls = Call.objects.filter(run__in=[run.pk for run in runs])
    progress, used = calls.progress_by_run(), calls.used_by_run()
    return {run.pk: Standing(progress[run.pk], run.cost(used[run.pk])) for run in runs}


@dataclass(frozen=True)
class Projection:
    """The cost of many runs, in US dollars: `fixed` for the checklists, written once, and `each` for every run.

    checklists  that the run asks
    written     how many of them go back to one that a run wrote; the others cost nothing here
    """

    fixed: Decimal
    each: Decimal
    checklists: int
    written: int

    def of(self, runs: int) -> Decimal:
        return self.fixed + runs * self.each

    @property
    def rows(self) -> list[tuple[int, Decimal]]:
        return [(runs, self.of(runs)) for runs in PROJECTED]


def projection(run: Run) -> Projection:
    """What runs like this one would cost, from what it and the checklists that it asks have cost."""
    asked = Checklist.objects.filter(calls__run=run).distinct()
    parents = dict(asked.values_list("pk", "parent"))
    origins = {pk: {pk} for pk in parents}  # a version and those that it was made from
    while later := {pk: parent for pk, parent in parents.items() if parent is not None}:
        for pk, parent in later.items():
            origins[pk].add(parent)
        above = dict(Checklist.objects.filter(pk__in=later.values()).values_list("pk", "parent"))
        parents = {pk: above.get(parent) for pk, parent in later.items()}
    everything = set().union(*origins.values())
    wrote = dict(Call.objects.filter(written__in=everything).values_list("written", "pk"))
    return Projection(
        fixed=_cost_of(set(wrote.values())),
        each=run.cost(),
        checklists=len(origins),
        written=sum(bool(versions & wrote.keys()) for versions in origins.values()),
    )


def _cost_of(calls: set[int]) -> Decimal:
    """US dollars that calls of any runs have cost, with those that they follow."""
    before = calls
    while before:
        followed = Call.objects.filter(pk__in=before, follows__isnull=False).values_list("follows", flat=True)
        before = {pk for pk in followed if pk is not None} - calls
        calls = calls | before
    used = Call.objects.filter(pk__in=calls).used_by_run()
    return sum((run.cost(used[run.pk]) for run in Run.objects.filter(pk__in=used).select_related("judge")), Decimal(0))

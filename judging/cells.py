"""The cells of live agreement: how many units of a series have each pattern of labels.

Whoever changes them raises the revision of the round's ledger first, which makes movers of one round wait for one
another until the transaction ends. It is the last lock a transaction takes, and every label is read after it, so two
people who finish a task at once cannot both miss each other, and nobody waits in a circle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import QuerySet

from annotate.models import Round
from judging import statements
from judging.agreement import Value
from judging.labels import ANSWERS, QUESTIONS, Facet
from judging.models import Cell, Series

BATCH = 2000


class Key(NamedTuple):
    """Which series of a round: of people, or of a run beside the people."""

    facet: Facet
    run: int | None = None


class Place(NamedTuple):
    """Where a unit stands in a series; see `Cell`."""

    pattern: str = ""
    judge: str = ""
    simulated: int = 0


Contents = dict[Key, Counter[Place]]


class Drift(Exception):
    """The cells do not hold the unit that is to be moved, so they were wrong before."""


# -- patterns as text ----------------------------------------------------------------------------------------------


def pattern_of(values: Iterable[Value]) -> str:
    """Labels of one unit as text: "2:1,4:2", "yes:2,no:1"; the same for every order of the labels."""
    return ",".join(f"{shown(value)}:{n}" for value, n in sorted(Counter(values).items(), key=_in_order))


def _in_order(pair: tuple[Value, int]) -> float:
    value = pair[0]
    return ANSWERS.index(value) if isinstance(value, str) else value


def values_of(pattern: str, facet: Facet) -> dict[Value, int]:
    """The counts of values behind the text."""
    parts = (part.rsplit(":", 1) for part in pattern.split(",") if part)
    return {read(text, facet): int(number) for text, number in parts}


def shown(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def read(text: str, facet: Facet) -> Value:
    return float(text) if facet.numeric else text


# -- storing -------------------------------------------------------------------------------------------------------


def hold(round_id: int) -> bool:
    """Raise the revision, and keep every other mover of the round waiting until the transaction ends.

    False where the round has no ledger, because it was opened before there were any.
    """
    return bool(statements.run(statements.RAISE_REVISION, [round_id]))


def stored(round: Round) -> tuple[Contents, dict[Key, float]]:
    """What the cells of a round hold, without those that no unit is in; and `observed` of every question."""
    series = {row.pk: row for row in Series.objects.filter(round=round)}
    contents: Contents = {key_of(row): Counter() for row in series.values()}
    for pk, cells in by_series(Cell.objects.filter(series__round=round)).items():
        contents[key_of(series[pk])] = cells
    return contents, {key_of(row): row.observed for row in series.values() if row.kind == "question"}


def by_series(cells: QuerySet[Cell]) -> dict[int, Counter[Place]]:
    """These cells by the id of their series, without those that no unit is in. One query."""
    found: dict[int, Counter[Place]] = {}
    rows = cells.filter(units__gt=0).values_list("series_id", "pattern", "judge", "simulated", "units")
    for pk, pattern, judge, simulated, units in rows:
        found.setdefault(pk, Counter())[Place(pattern, judge, simulated)] = units
    return found


def key_of(series: Series) -> Key:
    return Key(Facet(series.kind, series.question_id), series.run_id)  # type: ignore[arg-type]


def observed(contents: Mapping[Place, int]) -> float:
    """Percent agreement of one question, the same bits for the same cells; `NOTHING_PAIRABLE` without a pair."""
    equal: Counter[int] = Counter()  # by number of labels, in whole numbers
    pairable = 0
    for place, units in contents.items():
        counts = values_of(place.pattern, QUESTIONS).values()
        size = sum(counts)
        if size >= 2 and units:
            equal[size] += units * sum(count * (count - 1) for count in counts)
            pairable += units
    if not pairable:
        return Series.NOTHING_PAIRABLE
    return sum(number / (size * (size - 1)) for size, number in sorted(equal.items())) / pairable


def replace(round: Round, contents: Contents, old: QuerySet[Series]) -> None:
    """Store these series with their cells in the place of the old ones."""
    known = {key_of(row): row for row in old}
    Cell.objects.filter(series__in=old).delete()
    for key in known.keys() - contents.keys():
        known.pop(key).delete()
    agreed = {key: observed(cells) for key, cells in contents.items() if key.facet.kind == "question"}
    changed = [row for key, row in known.items() if key in agreed and row.observed != agreed[key]]
    for row in changed:
        row.observed = agreed[key_of(row)]
    Series.objects.bulk_update(changed, ["observed"], batch_size=200)
    fresh = (
        Series(
            round=round,
            run_id=key.run,
            kind=key.facet.kind,
            question_id=key.facet.question,
            observed=agreed.get(key, Series.NOTHING_PAIRABLE),
        )
        for key in contents
        if key not in known
    )
    known |= {key_of(row): row for row in Series.objects.bulk_create(fresh, batch_size=BATCH)}
    Cell.objects.bulk_create(_rows(known, contents), batch_size=BATCH)


def _rows(series: Mapping[Key, Series], contents: Contents) -> Iterator[Cell]:
    for key, cells in contents.items():
        for place, units in sorted(cells.items()):
            yield Cell(series=series[key], units=units, **place._asdict())


# -- moving --------------------------------------------------------------------------------------------------------


class Move(NamedTuple):
    """One unit of a series goes from one place to another; None stands for outside the series."""

    key: Key
    old: Place | None
    new: Place | None


@dataclass
class Row:
    """A series as a move needs it."""

    pk: int
    is_question: bool
    observed: float


def rows_of(round_id: int, questions: Collection[int]) -> dict[Key, Row]:
    """The series of a round, of single questions only these."""
    statement = statements.SERIES.format(questions=statements.places(questions))
    return {
        Key(Facet(kind, question), run): Row(pk, question is not None, observed)
        for pk, kind, question, run, observed in statements.rows(statement, [round_id, *questions])
    }


def apply(series: Mapping[Key, Row], moves: Iterable[Move]) -> None:
    """Carry out moves of units, while the ledger is held. Two statements, and one more where the percent agreement of
    a question changes.

    Raises Drift, with nothing written, where a unit is not where it should be or its series is missing.
    """
    deltas = _deltas(series, moves)
    if not deltas:
        return
    asked = [row for row in series.values() if row.is_question and row.pk in deltas]
    present = _present({row.pk for row in asked}, deltas)
    changed: list[int | str] = []
    for pk, changes in deltas.items():
        for place, delta in changes.items():
            present[pk][place] += delta
            if present[pk][place] < 0:
                raise Drift(f"Series {pk} has no unit with {place}.")
            changed += [pk, *place, present[pk][place]]
    cells = statements.places(range(len(changed) // 5), "(%s, %s, %s, %s, %s)")
    statements.run(statements.STORE_CELLS.format(rows=cells), changed)
    agreed = {row.pk: observed(present[row.pk]) for row in asked}
    moved = {row.pk: agreed[row.pk] for row in asked if agreed[row.pk] != row.observed}
    if moved:
        cases = " ".join("WHEN %s THEN %s" for _ in moved)
        statement = statements.STORE_OBSERVED.format(cases=cases, ids=statements.places(moved))
        statements.run(statement, [*(part for pair in moved.items() for part in pair), *moved])


def _deltas(series: Mapping[Key, Row], moves: Iterable[Move]) -> dict[int, Counter[Place]]:
    deltas: dict[int, Counter[Place]] = {}
    for key, old, new in moves:
        if key not in series:
            raise Drift(f"There is no series {key}.")
        changes = deltas.setdefault(series[key].pk, Counter())
        for place, step in ((old, -1), (new, 1)):
            if place is not None:
                changes[place] += step
    moved = {pk: Counter({place: n for place, n in changes.items() if n}) for pk, changes in deltas.items()}
    return {pk: changes for pk, changes in moved.items() if changes}


def _present(questions: set[int], deltas: Mapping[int, Counter[Place]]) -> dict[int, Counter[Place]]:
    """The cells that the deltas touch, and of a question all of them, because its percent agreement is kept."""
    others = deltas.keys() - questions
    patterns = {place.pattern for pk in others for place in deltas[pk]}
    places = statements.places
    statement = statements.CELLS.format(whole=places(questions), others=places(others), patterns=places(patterns))
    present: dict[int, Counter[Place]] = {pk: Counter() for pk in deltas}
    for pk, pattern, judge, simulated, units in statements.rows(statement, [*questions, *others, *patterns]):
        present[pk][Place(pattern, judge, simulated)] = units
    return present

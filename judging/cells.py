"""The cells of live agreement: how many units of a series have each pattern of labels.

Whoever changes them raises the revision of the round's ledger first, which makes movers of one round wait for one
another until the transaction ends. Every label is read after it, so two people who finish a task at once cannot both
miss each other. It is taken after the locks of the annotation, the seat and the participation; what is locked after
it, the rows of tasks whose disagreement is kept and the seats that a removal frees, is waited for by nobody who
then asks for the ledger, so nobody waits in a circle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from annotate import prepared
from annotate.models import Round
from judging import statements
from judging.agreement import PREFERENCES, Value
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
    """A value from its text: of scores and preferences a number, but of a judge's preference a word."""
    return float(text) if facet.numeric and text not in PREFERENCES else text


# -- storing -------------------------------------------------------------------------------------------------------


def hold(round_id: int) -> bool:
    """Raise the revision, and keep every other mover of the round waiting until the transaction ends.

    False where the round has no ledger, because it was opened before there were any.
    """
    return bool(prepared.run(statements.RAISE_REVISION, [round_id]))


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


class Held(NamedTuple):
    """What was read once the ledger was held: the series that a move needs, and what else was asked for."""

    series: dict[Key, Row]
    read: list[list[tuple[Any, ...]]]


def hold_and_read(round_id: int, questions: Collection[int], *reads: prepared.Statement) -> Held | None:
    """Hold the ledger (see `hold`), and then read the series of the round, of single questions only these, and what
    `reads` ask for. None where the round has no ledger."""
    series = statements.SERIES.format(questions=statements.places(questions))
    raised, found, *others = prepared.together(
        (statements.RAISE_REVISION, [round_id]), (series, [round_id, *questions]), *reads
    )
    if not raised.number:
        return None
    rows = {
        Key(Facet(kind, question), run): Row(pk, question is not None, observed)
        for pk, kind, question, run, observed in found.rows
    }
    return Held(rows, [other.rows for other in others])


def apply(series: Mapping[Key, Row], moves: Iterable[Move], *also: prepared.Statement) -> None:
    """Carry out moves of units, while the ledger is held, and what `also` says in the same exchange with the database.
    One exchange, or two where answers to questions moved, whose percent agreement is kept.

    Raises Drift where a unit is not where it should be or its series is missing: then the cells are to be computed
    anew.
    """
    deltas = _deltas(series, moves)
    written: list[prepared.Statement] = []
    gone = [[pk, *place, -n] for pk, changes in deltas.items() for place, n in changes.items() if n < 0]
    come = [[pk, *place, n] for pk, changes in deltas.items() for place, n in changes.items() if n > 0]
    for statement, cells in ((statements.TAKE_OUT, gone), (statements.PUT_IN, come)):
        if cells:
            rows = statements.places(cells, "(%s, %s, %s, %s, %s)")
            written.append((statement.format(rows=rows), [value for cell in cells for value in cell]))
    agreed = _agreed([row for row in series.values() if row.is_question and row.pk in deltas], deltas)
    if agreed:
        cases = " ".join("WHEN %s THEN %s" for _ in agreed)
        statement = statements.STORE_OBSERVED.format(cases=cases, ids=statements.places(agreed))
        written.append((statement, [*(part for pair in agreed.items() for part in pair), *agreed]))
    outcomes = prepared.together(*written, *also)
    if gone and outcomes[0].number != len(gone):
        raise Drift(f"Of {len(gone)} cells of the series {sorted(deltas)}, {outcomes[0].number} hold their units.")


def _agreed(asked: Sequence[Row], deltas: Mapping[int, Counter[Place]]) -> dict[int, float]:
    """The percent agreement of these questions, by the id of their series, where it changes with the deltas."""
    if not asked:
        return {}
    present: dict[int, Counter[Place]] = {row.pk: Counter(deltas[row.pk]) for row in asked}
    found = prepared.rows(statements.CELLS.format(series=statements.places(asked)), [row.pk for row in asked])
    for pk, pattern, judge, simulated, units in found:
        present[pk][Place(pattern, judge, simulated)] += units
    agreed = {row.pk: observed(present[row.pk]) for row in asked}
    return {row.pk: agreed[row.pk] for row in asked if agreed[row.pk] != row.observed}


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

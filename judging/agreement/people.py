"""People and a judge on the same units: who agrees with the others how well.

The panel puts people and judge side by side, so that each is compared with the same other people on the same
units.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Literal, NamedTuple, get_args

import numpy as np

from judging.agreement.correlation import COEFFICIENTS, coefficient_of
from judging.agreement.labels import Value
from judging.agreement.patterns import checked_domain, sorted_values
from judging.agreement.resampling import FloatArray, IntArray
from judging.agreement.result import Figure

Measure = Literal["accuracy", "rmse", "pearson", "spearman", "kendall"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


class Panel(NamedTuple):
    """Labels as places in the domain, -1 where there is none.

    units, people  their names, sorted
    domain         the values, ascending
    places         (units, people)
    judge          (units,)
    """

    units: list[Hashable]
    people: list[Hashable]
    domain: tuple[Value, ...]
    places: IntArray
    judge: IntArray

    @property
    def shared(self) -> "Panel":
        """Only the units that the judge and at least two people labelled."""
        kept = (self.judge >= 0) & ((self.places >= 0).sum(axis=1) >= 2)
        units = [unit for unit, keep in zip(self.units, kept.tolist(), strict=True) if keep]
        return Panel(units, self.people, self.domain, self.places[kept], self.judge[kept])

    def numbers(self) -> tuple[FloatArray, FloatArray]:
        """People's values (units, people) and the judge's (units,), nan where missing.

        Raises ValueError where the values are words.
        """
        if any(isinstance(value, str) for value in self.domain):
            raise ValueError("Numbers are needed here, and the labels are words; use the nominal level.")
        values = np.append(np.asarray(self.domain, dtype=np.float64), np.nan)
        return values[self.places], values[self.judge]


class Ceiling(NamedTuple):
    """One person, and the judge, against the same other people on the same units."""

    person: Hashable
    of_person: Figure
    of_judge: Figure


def panel_of(labels: Iterable[tuple[Hashable, Hashable, Value]], judge: Hashable) -> Panel:
    """Sort labels (unit, rater, value) into a panel; the rater ``judge`` is not one of the people.

    Raises ValueError if the judge has no label, if nobody else has one, or for a second label on a unit.
    """
    rows = list(labels)
    people = _ordered({rater for _, rater, _ in rows if rater != judge})
    if not any(rater == judge for _, rater, _ in rows):
        raise ValueError(f"There is no label by the judge {judge}.")
    if not people:
        raise ValueError(f"All labels are by the judge {judge}; there are no people to compare with.")
    units = _ordered({unit for unit, _, _ in rows})
    domain = checked_domain(sorted_values(value for _, _, value in rows))
    place = {value: index for index, value in enumerate(domain)}
    line = {unit: index for index, unit in enumerate(units)}
    column = {person: index for index, person in enumerate([*people, judge])}
    table = np.full((len(units), len(people) + 1), -1, dtype=np.int64)
    for unit, rater, value in rows:
        cell = (line[unit], column[rater])
        if table[cell] >= 0:
            raise ValueError(f"Rater {rater} labels unit {unit} twice; keep one of the two labels.")
        table[cell] = place[value]
    return Panel(units, people, domain, table[:, :-1], table[:, -1])


def leave_one_out_ceiling(panel: Panel, measure: Measure = "accuracy") -> list[Ceiling]:
    """Each person against the others, beside the judge against the same others.

    accuracy  share of units on which the rater says what most of the others say; units on which the
    others have
              no single most frequent value are left out and counted as missing
    rmse      root mean squared difference from the mean of the others
    pearson, spearman, kendall   correlation with the mean of the others

    Only units that the person, the judge and at least one other person labelled. No intervals: the
    judge's advantage with its uncertainty is the alternative annotator test. Raises ValueError for an
    unknown measure and for words where numbers are needed.
    """
    if measure not in MEASURES:
        raise ValueError(f"There is no measure {measure!r}; choose one of {', '.join(MEASURES)}.")
    compare = _majority_share if measure == "accuracy" else _numeric_measure(measure)
    return [Ceiling(person, *compare(panel, column)) for column, person in enumerate(panel.people)]


def _numeric_measure(measure: Measure) -> Callable[[Panel, int], tuple[Figure, Figure]]:
    def compare(panel: Panel, column: int) -> tuple[Figure, Figure]:
        people, judge = panel.numbers()
        others = np.delete(people, column, axis=1)
        kept = ~np.isnan(people[:, column]) & ~np.isnan(judge) & ~np.isnan(others).all(axis=1)
        middle = np.nanmean(others[kept], axis=1) if kept.any() else np.zeros(0)
        return (
            _measured(measure, people[kept, column], middle, int((~kept).sum())),
            _measured(measure, judge[kept], middle, int((~kept).sum())),
        )

    return compare


def _measured(measure: Measure, x: FloatArray, y: FloatArray, missing: int) -> Figure:
    name = f"{measure} with the others"
    if not len(x):
        return Figure(name=name, reason="Undefined: there is no common unit.", missing=missing)
    if measure == "rmse":
        return Figure(name=name, value=float(np.sqrt(np.mean((x - y) ** 2))), n_units=len(x), missing=missing)
    coefficient = next(known for known in COEFFICIENTS if known == measure)
    value = coefficient_of(x, y, coefficient)
    reason = "Undefined: the scores of one side do not vary." if value is None else None
    return Figure(name=name, value=value, reason=reason, n_units=len(x), missing=missing)


def _majority_share(panel: Panel, column: int) -> tuple[Figure, Figure]:
    counts = one_hot(np.delete(panel.places, column, axis=1), len(panel.domain)).sum(axis=1)
    top = counts.max(axis=1, initial=0)
    single = ((counts == top[:, None]) & (top[:, None] > 0)).sum(axis=1) == 1
    kept = single & (panel.places[:, column] >= 0) & (panel.judge >= 0)
    said = counts.argmax(axis=1)[kept]

    def share(places: IntArray) -> Figure:
        name = "accuracy against most of the others"
        missing = int((~kept).sum())
        if not said.size:
            return Figure(name=name, reason="Undefined: there is no common unit.", missing=missing)
        return Figure(name=name, value=float(np.mean(places[kept] == said)), n_units=said.size, missing=missing)

    return share(panel.places[:, column]), share(panel.judge)


def one_hot(places: IntArray, width: int) -> IntArray:
    """(..., width): 1 at the place, nothing where it is -1."""
    table: IntArray = (places[..., None] == np.arange(width)).astype(np.int64)
    return table


def _ordered(keys: set[Hashable]) -> list[Hashable]:
    return sorted(keys, key=lambda key: (str(key), repr(key)))

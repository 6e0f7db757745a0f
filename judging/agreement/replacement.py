"""Differences of alpha on the same units: the judge in a person's seat, one arm against another."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import numpy as np

from judging.agreement.alpha import Level, alpha, check_level, table_statistic
from judging.agreement.confusion import CrossTable
from judging.agreement.intervals import Method, with_interval
from judging.agreement.labels import Value
from judging.agreement.patterns import Histogram, Pattern, PatternTable, checked_domain, sorted_values
from judging.agreement.people import Panel, one_hot
from judging.agreement.resampling import Average, Difference, IntArray
from judging.agreement.result import Figure

JointPattern = tuple[Pattern, Pattern]


class JointHistogram:
    """How many units have each pair of count patterns: of people and judge, or of two arms.

    The pair of patterns is sufficient for the difference of any two measures of the two sides.
    """

    def __init__(self, domain: Sequence[Value], patterns: Mapping[JointPattern, int] | None = None) -> None:
        self.domain = checked_domain(domain)
        # One histogram over the domain twice keeps the counting, and its checks, in one place.
        self._both = Histogram([f"{side}:{place}" for side in "lr" for place in range(len(self.domain))])
        for (left, right), units in (patterns or {}).items():
            self.add(left, right, units)

    @classmethod
    def from_labels(
        cls,
        left: Iterable[tuple[Hashable, Hashable, Value]],
        right: Iterable[tuple[Hashable, Hashable, Value]],
        domain: Sequence[Value] | None = None,
    ) -> "JointHistogram":
        """From (unit, rater, value) of each side. Raises ValueError as ``Histogram.from_labels`` does."""
        sides = [list(left), list(right)]
        values = sorted_values(row[2] for side in sides for row in side) if domain is None else domain
        joint = cls(values)
        for side in sides:
            Histogram.from_labels(side, joint.domain)
        place = {value: index for index, value in enumerate(joint.domain)}
        units: dict[Hashable, IntArray] = {}
        for number, side in enumerate(sides):
            for unit, _, value in side:
                counts = units.setdefault(unit, np.zeros((2, len(place)), dtype=np.int64))
                counts[number, place[value]] += 1
        for counts in units.values():
            joint.add(counts[0].tolist(), counts[1].tolist())
        return joint

    def add(self, left: Sequence[int], right: Sequence[int], units: int = 1) -> None:
        """Add units with these patterns; a negative number takes units away."""
        if len(left) != len(self.domain):
            raise ValueError(f"{tuple(left)} is not a pattern of counts over {len(self.domain)} values.")
        self._both.add((*left, *right), units)

    @property
    def patterns(self) -> dict[JointPattern, int]:
        """Units per pair of patterns, sorted."""
        width = len(self.domain)
        return {(both[:width], both[width:]): units for both, units in self._both.patterns.items()}

    def left(self) -> Histogram:
        return self._side(lambda left, right: left)

    def right(self) -> Histogram:
        return self._side(lambda left, right: right)

    def together(self) -> Histogram:
        """Both sides as raters of one group."""
        return self._side(lambda left, right: tuple(a + b for a, b in zip(left, right, strict=True)))

    def cross_table(self, consensus: Callable[[Sequence[Value]], Value | None]) -> CrossTable:
        """One value per side, by a rule for several labels; None is no value.

        Units without a value on the left are left out; without one on the right they are missing.
        """
        pairs: list[tuple[Value, Value | None]] = []
        for (left, right), units in self.patterns.items():
            first, second = (
                consensus([value for value, count in zip(self.domain, side, strict=True) for _ in range(count)])
                if any(side)
                else None
                for side in (left, right)
            )
            if first is not None:
                pairs.extend([(first, second)] * units)
        return CrossTable.from_pairs(pairs, self.domain)

    def tables(self) -> tuple[PatternTable, PatternTable]:
        """Left and right patterns of the units that have two labels on either side, row by row."""
        counts, units, _ = self._both.table()
        width = len(self.domain)
        left, right = counts[:, :width], counts[:, width:]
        kept = (left.sum(axis=1) >= 2) | (right.sum(axis=1) >= 2)
        first, second = (PatternTable(side[kept], units[kept], side[kept].sum(axis=1)) for side in (left, right))
        return first, second

    def _side(self, chosen: Callable[[Pattern, Pattern], Pattern]) -> Histogram:
        histogram = Histogram(self.domain)
        for (left, right), units in self.patterns.items():
            histogram.add(chosen(left, right), units)
        return histogram


def alpha_difference(
    joint: JointHistogram,
    level: Level,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """Alpha of the left side minus alpha of the right side, with an interval that pairs the units."""
    name = f"difference of alpha ({level})"
    left, right = alpha(joint.left(), level), alpha(joint.right(), level)
    first, second = joint.tables()
    counts = int(first.units.sum())
    missing = joint.together().table().units.sum() - counts
    if left.value is None or right.value is None:
        reason = left.reason or right.reason
        return Figure(name=name, reason=reason, n_units=counts, missing=int(missing))
    statistic = Difference(table_statistic(first, joint.domain, level), table_statistic(second, joint.domain, level))
    figure = Figure(
        name=name,
        value=left.value - right.value,
        n_units=counts,
        n_labels=left.n_labels + right.n_labels,
        missing=int(missing),
    )
    return with_interval(figure, statistic, method=method, confidence=confidence, seed=seed, replicates=replicates)


def replacement_effect(
    panel: Panel,
    level: Level,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """Mean over people of alpha with the judge in the person's place, minus alpha of the people.

    Above 0 the judge agrees with people better than people do among themselves. Only units that the judge
    and at least two people labelled; the judge takes a person's place on the units that this person
    labelled.
    """
    name = f"replacement effect on alpha ({level})"
    check_level(panel.domain, level)
    shared = panel.shared
    missing = len(panel.units) - len(shared.units)
    if not shared.units:
        return Figure(
            name=name, reason="Undefined: no unit has labels of the judge and of two people.", missing=missing
        )
    rows, units = np.unique(np.column_stack([shared.places, shared.judge]), axis=0, return_counts=True)
    places, judge = rows[:, :-1], rows[:, -1]
    width = len(panel.domain)
    everyone = one_hot(places, width).sum(axis=1)

    def table(counts: IntArray) -> PatternTable:
        return PatternTable(counts, units, counts.sum(axis=1))

    replaced = []
    for column in range(places.shape[1]):
        seat = places[:, column]
        if np.any(seat >= 0):
            taken = np.where(seat >= 0, judge, -1)
            counts = everyone - one_hot(seat, width) + one_hot(taken, width)
            replaced.append(table_statistic(table(counts), panel.domain, level))
    people = table_statistic(table(everyone), panel.domain, level)
    statistic = Difference(Average(replaced), people)
    value = statistic.estimate()
    sizes = {"n_units": int(units.sum()), "n_labels": int(units @ (everyone.sum(axis=1) + 1))}
    if not np.isfinite(value):
        reason = "Undefined: without variation in the labels there is no alpha to compare."
        return Figure(name=name, reason=reason, missing=missing, n_units=sizes["n_units"])
    figure = Figure(name=name, value=value, n_units=sizes["n_units"], n_labels=sizes["n_labels"], missing=missing)
    return with_interval(figure, statistic, method=method, confidence=confidence, seed=seed, replicates=replicates)

"""The histogram of count patterns: all that agreement needs to know of any number of labels.

The pattern of a unit says how many raters gave it each value of the domain. Alpha, its interval, Fleiss'
kappa, AC1/AC2 and percent agreement depend on the labels only through the number of units that have each
pattern. One new label moves one unit from one pattern to another, whatever the number of labels.
Everything is counted in Python integers, so a correction or a withdrawal leaves no trace.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judging.agreement.labels import Value, shown
from judging.agreement.result import Figure

Pattern = tuple[int, ...]
IntArray = NDArray[np.int64]


class PatternTable(NamedTuple):
    """The patterns in sorted order. counts: (patterns, values); units: (patterns,); sizes: labels per
    unit.
    """

    counts: IntArray
    units: IntArray
    sizes: IntArray


class Histogram:
    """How many units have each count pattern over an ordered domain of values.

    Units with fewer than two labels are kept: they count as missing, and become pairable when a label is
    added. The domain holds either strictly increasing finite numbers or distinct strings (whose order is
    then the order of an ordinal scale).
    """

    def __init__(self, domain: Sequence[Value], patterns: Mapping[Pattern, int] | None = None) -> None:
        self.domain = checked_domain(domain)
        self._units: dict[Pattern, int] = {}
        self._table: PatternTable | None = None
        self._pairable: PatternTable | None = None
        for pattern, units in (patterns or {}).items():
            self.add(pattern, units)

    # -- constructors -------------------------------------------------------------------------------------

    @classmethod
    def from_labels(
        cls, labels: Iterable[tuple[Hashable, Hashable, Value]], domain: Sequence[Value] | None = None
    ) -> "Histogram":
        """From (unit, rater, value) in any order; without a domain, the sorted values that occur.

        Raises ValueError for a value outside the domain and for a rater who labels one unit twice.
        """
        rows = list(labels)
        if domain is None:
            domain = sorted_values(value for _, _, value in rows)
        histogram = cls(domain)
        place = {value: index for index, value in enumerate(histogram.domain)}
        seen: set[tuple[Hashable, Hashable]] = set()
        units: dict[Hashable, list[int]] = {}
        for unit, rater, value in rows:
            if (unit, rater) in seen:
                raise ValueError(f"Rater {rater} labels unit {unit} twice; keep one of the two labels.")
            seen.add((unit, rater))
            if value not in place:
                raise ValueError(
                    f"The value {shown(value)} of unit {unit} by rater {rater} is not one of "
                    f"{listed(histogram.domain)}."
                )
            units.setdefault(unit, [0] * len(place))[place[value]] += 1
        for pattern, number in Counter(map(tuple, units.values())).items():
            histogram.add(pattern, number)
        return histogram

    @classmethod
    def from_counts(cls, counts: ArrayLike, domain: Sequence[Value] | None = None) -> "Histogram":
        """From an array (units, values) of non-negative whole numbers; the domain is 0, 1, ... if not
        given.
        """
        array = np.asarray(counts)
        if array.ndim != 2:
            raise ValueError("Value counts are a table with one row for each unit and one column for each value.")
        whole = array.astype(np.int64)
        if whole.size and (np.any(whole != array) or whole.min() < 0):
            raise ValueError("Value counts are whole numbers of zero or more.")
        histogram = cls(tuple(float(i) for i in range(whole.shape[1])) if domain is None else domain)
        if len(histogram.domain) != whole.shape[1]:
            raise ValueError(f"There are {whole.shape[1]} columns of counts for {len(histogram.domain)} values.")
        patterns, units = _distinct_rows(whole)
        for pattern, number in zip(patterns.tolist(), units.tolist(), strict=True):
            histogram.add(tuple(pattern), number)
        return histogram

    @classmethod
    def from_reliability(cls, data: ArrayLike, domain: Sequence[float] | None = None) -> "Histogram":
        """From reliability data, an array (raters, units) of numbers in which nan is a missing label."""
        array = np.asarray(data, dtype=np.float64)
        if array.ndim != 2:
            raise ValueError("Reliability data is a table with one row for each rater and one column for each unit.")
        rater, unit = np.nonzero(~np.isnan(array))
        values = array[rater, unit]
        known = np.asarray(np.unique(values) if domain is None else checked_domain(domain), dtype=np.float64)
        strange = values[~np.isin(values, known)]
        if strange.size:
            raise ValueError(f"The value {shown(float(strange[0]))} is not one of {listed(known.tolist())}.")
        counts = np.zeros((array.shape[1], known.size), dtype=np.int64)
        np.add.at(counts, (unit, np.searchsorted(known, values)), 1)
        return cls.from_counts(counts, known.tolist())

    # -- changes ------------------------------------------------------------------------------------------

    def add(self, pattern: Sequence[int], units: int = 1) -> None:
        """Add units with this pattern; a negative number takes units away. Raises ValueError below zero."""
        key = tuple(int(count) for count in pattern)
        if len(key) != len(self.domain) or any(count < 0 for count in key):
            raise ValueError(f"{key} is not a pattern of counts over {len(self.domain)} values.")
        left = self._units.get(key, 0) + int(units)
        if left < 0:
            raise ValueError(f"There are only {self._units.get(key, 0)} units with the pattern {key}.")
        if left:
            self._units[key] = left
        else:
            self._units.pop(key, None)
        self._table = self._pairable = None

    def move(self, old: Sequence[int] | None, new: Sequence[int] | None) -> None:
        """One unit leaves the pattern ``old`` for ``new``; None stands for a unit that is not in the data."""
        if old is not None:
            self.add(old, -1)
        if new is not None:
            self.add(new, 1)

    def merged(self, other: "Histogram") -> "Histogram":
        """The units of both, which must share a domain."""
        if self.domain != other.domain:
            raise ValueError("Only histograms over the same values can be merged.")
        both = Histogram(self.domain, self._units)
        for pattern, units in other._units.items():
            both.add(pattern, units)
        return both

    # -- reading ------------------------------------------------------------------------------------------

    @property
    def patterns(self) -> dict[Pattern, int]:
        """Units per pattern, sorted by pattern (a copy)."""
        return dict(sorted(self._units.items()))

    @property
    def numeric(self) -> bool:
        return not any(isinstance(value, str) for value in self.domain)

    @property
    def values(self) -> NDArray[np.float64]:
        """The domain as numbers, (values,). Raises ValueError where the domain is made of strings."""
        if not self.numeric:
            raise ValueError(f"Numbers are needed here, and the values are {listed(self.domain)}.")
        return np.asarray(self.domain, dtype=np.float64)

    def table(self) -> PatternTable:
        """All patterns, sorted, as arrays; the same for every order in which the labels came."""
        if self._table is None:
            keys = sorted(self._units)
            counts = np.array(keys, dtype=np.int64).reshape(len(keys), len(self.domain))
            units = np.array([self._units[key] for key in keys], dtype=np.int64)
            self._table = PatternTable(counts, units, counts.sum(axis=1))
        return self._table

    def pairable(self) -> PatternTable:
        """The patterns of units with at least two labels, sorted."""
        if self._pairable is None:
            counts, units, sizes = self.table()
            kept = sizes >= 2
            self._pairable = PatternTable(counts[kept], units[kept], sizes[kept])
        return self._pairable

    @property
    def n_units(self) -> int:
        """Units with at least two labels."""
        return int(self.pairable().units.sum())

    @property
    def n_labels(self) -> int:
        """Labels on units with at least two labels."""
        table = self.pairable()
        return int(table.units @ table.sizes)

    @property
    def missing(self) -> int:
        """Units with fewer than two labels."""
        return int(self.table().units.sum()) - self.n_units

    def used(self) -> list[Value]:
        """The values that occur on units with at least two labels, in the order of the domain."""
        totals = self.pairable().counts.sum(axis=0)
        return [self.domain[place] for place in np.flatnonzero(totals).tolist()]

    def figure(self, name: str, value: float | None = None, reason: str | None = None) -> Figure:
        """A figure about these units, with their numbers filled in."""
        return Figure(
            name=name,
            value=value,
            reason=reason,
            n_units=self.n_units,
            n_labels=self.n_labels,
            missing=self.missing,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.domain == other.domain and self._units == other._units

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Histogram({self.domain!r}, {self.patterns!r})"


def checked_domain(domain: Sequence[Value]) -> tuple[Value, ...]:
    """The domain as a tuple of floats or of strings. Raises ValueError if it is mixed, unsorted or not
    finite.
    """
    values = tuple(value if isinstance(value, str) else float(value) for value in domain)
    if len(set(values)) != len(values):
        raise ValueError(f"A value stands twice in the domain {listed(values)}.")
    numbers = [value for value in values if not isinstance(value, str)]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError("The values of a domain are finite numbers.")
    if numbers and len(numbers) != len(values):
        raise ValueError(f"The domain {listed(values)} mixes numbers and words; use one of the two.")
    if numbers != sorted(numbers):
        raise ValueError(f"The numbers of the domain {listed(values)} are not in ascending order.")
    return values


def sorted_values(values: Iterable[Value]) -> list[Value]:
    """The distinct values, ascending: numbers by size, words by alphabet."""
    distinct = set(values)
    words = sorted(value for value in distinct if isinstance(value, str))
    numbers = sorted(float(value) for value in distinct if not isinstance(value, str))
    return [*numbers, *words]


def listed(values: Iterable[Value]) -> str:
    """The values in a sentence, cut after twelve."""
    names = [shown(value) for value in values]
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def _distinct_rows(counts: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct rows of (units, values), and how often each occurs."""
    units, width = counts.shape
    if not units:
        return counts, np.zeros(0, dtype=np.int64)
    base = int(counts.max(initial=0)) + 1
    if base**width >= 2**62:
        rows, number = np.unique(counts, axis=0, return_counts=True)
        return rows, number
    # A row read as one number of base (largest count + 1) sorts ten times faster than a row of numbers.
    powers = np.array([base**power for power in range(width - 1, -1, -1)], dtype=np.int64)
    codes, number = np.unique(counts @ powers, return_counts=True)
    return codes[:, None] // powers % base, number

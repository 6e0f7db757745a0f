"""Statistics that can be recomputed for other weights of the same patterns, which is what every interval
needs.

A pattern is anything that several units share: a count pattern, a cell of a cross table, a win or a loss. A
statistic over units is a function of how many units have each pattern.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Combine = Callable[[FloatArray], FloatArray]


class Statistic(Protocol):
    """A statistic of P patterns in a fixed, sorted order; nan where it is undefined."""

    @property
    def units(self) -> IntArray:
        """Units per pattern, (P,)."""

    def estimate(self) -> float:
        """The statistic of the data."""

    def leave_one_out(self) -> FloatArray:
        """(P,): the statistic without one unit of each pattern."""

    def reweighted(self, weights: FloatArray) -> FloatArray:
        """(B,): the statistic of each row of weights (B, P), the units per pattern of one resample."""


class Totals:
    """A statistic that depends on the data only through totals of features over units.

    features  (P, L): what one unit of each pattern adds to the totals
    units     (P,):   units per pattern
    combine   maps totals (B, L) to values (B,), nan where undefined
    """

    def __init__(self, features: FloatArray, units: IntArray, combine: Combine) -> None:
        self.features = np.asarray(features, dtype=np.float64)
        self.units = units
        self.combine = combine

    def _values(self, totals: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.combine(totals)

    def estimate(self) -> float:
        return float(self._values(self.units[None, :] @ self.features)[0])

    def leave_one_out(self) -> FloatArray:
        return self._values(self.units @ self.features - self.features)

    def reweighted(self, weights: FloatArray) -> FloatArray:
        return self._values(weights @ self.features)


class Difference:
    """The difference of two statistics of the same patterns, for paired comparisons."""

    def __init__(self, left: Statistic, right: Statistic) -> None:
        self.left = left
        self.right = right
        self.units = left.units

    def estimate(self) -> float:
        return self.left.estimate() - self.right.estimate()

    def leave_one_out(self) -> FloatArray:
        return self.left.leave_one_out() - self.right.leave_one_out()

    def reweighted(self, weights: FloatArray) -> FloatArray:
        return self.left.reweighted(weights) - self.right.reweighted(weights)


class Average:
    """The mean of several statistics of the same patterns."""

    def __init__(self, parts: Sequence[Statistic]) -> None:
        self.parts = parts
        self.units = parts[0].units

    def estimate(self) -> float:
        return float(np.mean([part.estimate() for part in self.parts]))

    def leave_one_out(self) -> FloatArray:
        return np.asarray(np.mean([part.leave_one_out() for part in self.parts], axis=0))

    def reweighted(self, weights: FloatArray) -> FloatArray:
        return np.asarray(np.mean([part.reweighted(weights) for part in self.parts], axis=0))

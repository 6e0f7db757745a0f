"""Krippendorff's alpha at four levels of measurement.

Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability; Hayes & Krippendorff (2007).
With the counts c_u over the values of every unit that has m_u >= 2 labels:

    o = sum over u of (c_u c_u' - diag c_u) / (m_u - 1)      coincidences
    n = row sums of o, N = sum of n                          pairable labels per value, and in all
    alpha = 1 - (N - 1) * sum(o * d) / sum(n n' * d)

where d is the squared difference of two values: [a != b] (nominal), (a - b)^2 (interval), ((a - b)/(a + b))^2
(ratio), and (r_a - r_b)^2 of the mid-ranks r_c = (sum of n below c) + n_c / 2 (ordinal).
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from judging.agreement.labels import Value, shown
from judging.agreement.patterns import Histogram, PatternTable, listed
from judging.agreement.resampling import FloatArray, IntArray, Statistic, Totals
from judging.agreement.result import Figure

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)
NOTHING_TO_COMPARE = "Undefined: no unit has two labels, so there is nothing to compare."


def alpha(histogram: Histogram, level: Level) -> Figure:
    """Alpha without an interval.

    The range is -1 (about) to 1. Undefined without two labels on some unit, and where all pairable labels
    are the same. Raises ValueError for an unknown level and for values that the level cannot measure.
    Coincidences are added up as integers for each number of labels per unit, so equal data give equal
    bits.
    """
    check_level(histogram.domain, level)
    name = f"alpha ({level})"
    reason = why_undefined(histogram)
    if reason is not None:
        return histogram.figure(name, reason=reason)
    table = histogram.pairable()
    marginals = table.units @ table.counts
    distances = squared_differences(histogram.domain, level, marginals)
    observed = float((_coincidences(table) * distances).sum())
    expected = float(marginals @ distances @ marginals)
    return histogram.figure(name, 1.0 - (histogram.n_labels - 1) * observed / expected)


def alpha_counts(counts: ArrayLike, level: Level, domain: Sequence[Value] | None = None) -> Figure:
    """Alpha from an array of counts (units, values); the domain is 0, 1, 2, ... if not given."""
    return alpha(Histogram.from_counts(counts, domain), level)


def why_undefined(histogram: Histogram) -> str | None:
    """The sentence that says why nothing can be said about agreement, or None if something can."""
    if not histogram.patterns:
        return "Undefined: there are no labels."
    used = histogram.used()
    if not used:
        return NOTHING_TO_COMPARE
    if len(used) == 1:
        return f"Undefined: every rating is {shown(used[0])}."
    return None


def check_level(domain: Sequence[Value], level: str) -> None:
    """Raise ValueError, with a sentence, if the level is unknown or does not fit the values."""
    if level not in LEVELS:
        raise ValueError(f"There is no level {level!r}; choose one of {', '.join(LEVELS)}.")
    if level not in ("interval", "ratio"):
        return
    if any(isinstance(value, str) for value in domain):
        raise ValueError(f"The {level} level needs numbers, and the values are {listed(domain)}.")
    least = min((float(value) for value in domain), default=0.0)
    if level == "ratio" and least < 0:
        raise ValueError(f"The ratio level needs values of zero or more, and {shown(least)} is less.")


def mid_ranks(marginals: FloatArray | IntArray) -> FloatArray:
    """Mid-ranks of the values from their frequencies (..., values), shifted so that their weighted mean
    is 0.
    """
    below = np.cumsum(marginals, axis=-1) - marginals
    ranks: FloatArray = below + (marginals - marginals.sum(axis=-1, keepdims=True)) / 2.0
    return ranks


def squared_differences(domain: Sequence[Value], level: Level, marginals: IntArray) -> FloatArray:
    """(values, values): the squared difference d of every two values at this level."""
    if level == "nominal":
        return 1.0 - np.eye(len(domain))
    places = mid_ranks(marginals) if level == "ordinal" else np.asarray(domain, dtype=np.float64)
    gaps = places[:, None] - places[None, :]
    if level == "ratio":
        sums = places[:, None] + places[None, :]
        gaps = np.divide(gaps, sums, out=np.zeros_like(gaps), where=sums != 0)
    squares: FloatArray = gaps**2
    return squares


def alpha_statistic(histogram: Histogram, level: Level) -> Statistic:
    """Alpha as a statistic of the pairable patterns, in sorted order, for intervals."""
    return table_statistic(histogram.pairable(), histogram.domain, level)


def table_statistic(table: PatternTable, domain: Sequence[Value], level: Level) -> Statistic:
    """Alpha as a statistic of the rows of a table, whose patterns may repeat or hold fewer than two
    labels.
    """
    check_level(domain, level)
    if level == "ordinal":
        return OrdinalAlpha(table)
    return fixed_distance_alpha(table, squared_differences(domain, level, table.units))


def fixed_distance_alpha(table: PatternTable, distances: FloatArray) -> Totals:
    """Alpha with distances that do not depend on the data; units with one label add nothing."""
    counts = table.counts * (table.sizes >= 2)[:, None]
    disagreement = np.einsum("pa,pa->p", counts @ distances, counts) / np.maximum(table.sizes - 1, 1)

    def combine(totals: FloatArray) -> FloatArray:
        marginals = totals[:, 1:]
        expected = np.einsum("ba,ba->b", marginals @ distances, marginals)
        value: FloatArray = 1.0 - (marginals.sum(axis=1) - 1.0) * totals[:, 0] / expected
        return np.where(expected > 0, value, np.nan)

    return Totals(np.column_stack([disagreement, counts]), table.units, combine)


class OrdinalAlpha:
    """Ordinal alpha: the ranks move with the data, so each resample brings its own distances."""

    def __init__(self, table: PatternTable) -> None:
        self.units = table.units
        self.counts = (table.counts * (table.sizes >= 2)[:, None]).astype(np.float64)
        self.sizes = table.sizes
        self._divisors = np.maximum(table.sizes - 1, 1)

    def _alpha(self, marginals: FloatArray, ranks: FloatArray, observed: FloatArray) -> FloatArray:
        # The weighted mean of the ranks is 0, which leaves one term of the expected disagreement.
        total = marginals.sum(axis=1)
        expected = 2.0 * total * np.einsum("ba,ba->b", marginals, ranks**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            value: FloatArray = 1.0 - (total - 1.0) * observed / expected
        return np.where(expected > 0, value, np.nan)

    def estimate(self) -> float:
        return float(self.reweighted(self.units[None, :].astype(np.float64))[0])

    def reweighted(self, weights: FloatArray) -> FloatArray:
        marginals = weights @ self.counts
        ranks = mid_ranks(marginals)
        sums = ranks @ self.counts.T
        squares = (ranks**2) @ self.counts.T
        disagreement = 2.0 * (self.sizes * squares - sums**2) / self._divisors
        return self._alpha(marginals, ranks, np.einsum("bp,bp->b", weights, disagreement))

    def leave_one_out(self) -> FloatArray:
        kept = self.counts / self._divisors[:, None]
        coincidences = (self.counts * self.units[:, None]).T @ kept - np.diag(self.units @ kept)
        everyone = self.units @ self.counts
        marginals = everyone - self.counts
        ranks = mid_ranks(marginals)
        everywhere = (ranks**2) @ everyone - np.einsum("pa,pa->p", ranks @ coincidences, ranks)
        sums = np.einsum("pa,pa->p", ranks, self.counts)
        squares = np.einsum("pa,pa->p", ranks**2, self.counts)
        own = (self.sizes * squares - sums**2) / self._divisors
        return self._alpha(marginals, ranks, 2.0 * (everywhere - own))


def _coincidences(table: PatternTable) -> FloatArray:
    """The coincidence matrix o, (values, values); whole numbers are added before any division."""
    width = table.counts.shape[1]
    matrix = np.zeros((width, width))
    # Products of floats are much faster than those of integers, and as exact while every sum stays below 2**53.
    exact = float(table.units @ table.sizes.astype(np.float64) ** 2) < 2.0**53
    whole = table.counts.astype(np.float64) if exact else table.counts
    for size in np.unique(table.sizes).tolist():
        chosen = table.sizes == size
        counts = whole[chosen]
        weighted = counts * table.units[chosen][:, None]
        matrix += (weighted.T @ counts - np.diag(weighted.sum(axis=0))) / (size - 1)
    return matrix

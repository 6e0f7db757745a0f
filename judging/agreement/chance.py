"""Coefficients of the form (observed - chance) / (1 - chance) from count patterns, with missing labels.

Observed agreement is the mean over units with two or more labels of the weighted share of agreeing pairs. The
prevalence of a value is the mean over all labelled units of its share in the unit. Both follow Gwet (2014),
Handbook of Inter-Rater Reliability, chapters 2 to 4; the coefficients differ in what they call chance.
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from judging.agreement.alpha import NOTHING_TO_COMPARE
from judging.agreement.intervals import Method, with_interval
from judging.agreement.patterns import Histogram
from judging.agreement.resampling import FloatArray, Totals
from judging.agreement.result import Figure

Weights = Literal["identity", "linear", "quadratic", "ordinal"]
WEIGHTS: tuple[Weights, ...] = get_args(Weights)
Chance = Callable[[FloatArray], FloatArray]


def agreement_weights(width: int, weights: Weights) -> FloatArray:
    """(width, width): 1 for the same value, down to 0 for the two ends; by position on the scale.

    Raises ValueError for an unknown name.
    """
    if weights not in WEIGHTS:
        raise ValueError(f"There are no weights {weights!r}; choose one of {', '.join(WEIGHTS)}.")
    places = np.arange(width)
    steps = np.abs(places[:, None] - places[None, :]).astype(np.float64)
    if weights == "identity":
        return np.eye(width)
    if weights == "quadratic":
        steps = steps**2
    if weights == "ordinal":
        # Pairs of neighbouring values from one value to the other, both included.
        steps = steps * (steps + 1.0) / 2.0
    credit: FloatArray = 1.0 - steps / max(float(steps.max(initial=0.0)), 1.0)
    return credit


def chance_corrected(
    histogram: Histogram,
    name: str,
    weights: FloatArray,
    chance: Chance,
    *,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """One coefficient of the family with its interval over units.

    weights  (values, values) in [0, 1]
    chance   maps prevalences (B, values) to the agreement expected by chance (B,)

    Undefined where no unit has two labels, and where chance alone explains everything (all ratings equal).
    """
    if not histogram.n_units:
        return histogram.figure(name, reason=NOTHING_TO_COMPARE)
    counts, units, sizes = histogram.table()
    labelled = sizes > 0
    counts, units, sizes = counts[labelled].astype(np.float64), units[labelled], sizes[labelled]
    pairs = np.where(sizes >= 2, sizes * (sizes - 1.0), 1.0)
    agreeing = (counts * (counts @ weights - 1.0)).sum(axis=1) / pairs
    pairable = (sizes >= 2).astype(np.float64)
    features = np.column_stack([agreeing * pairable, pairable, counts / sizes[:, None]])

    def combine(totals: FloatArray) -> FloatArray:
        shares = totals[:, 2:]
        expected = chance(shares / shares.sum(axis=1, keepdims=True))
        observed = totals[:, 0] / totals[:, 1]
        return np.where(1.0 - expected > 1e-12, (observed - expected) / (1.0 - expected), np.nan)

    statistic = Totals(features, units, combine)
    value = statistic.estimate()
    if not np.isfinite(value):
        return histogram.figure(name, reason="Undefined: all ratings are the same, so chance explains them.")
    return with_interval(
        histogram.figure(name, value),
        statistic,
        method=method,
        confidence=confidence,
        seed=seed,
        replicates=replicates,
        highest=1.0,
    )

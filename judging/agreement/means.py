"""Means and ratios over units with an interval."""

from dataclasses import replace

import numpy as np

from judging.agreement.intervals import Method, with_interval
from judging.agreement.resampling import FloatArray, IntArray, Totals
from judging.agreement.result import Figure


def mean_figure(
    template: Figure,
    values: FloatArray,
    units: IntArray,
    method: Method,
    confidence: float,
    seed: int,
    replicates: int,
    lowest: float = 0.0,
    highest: float = np.inf,
    per: FloatArray | None = None,
) -> Figure:
    """The template with the mean over units of values (P,), or the ratio of two totals, and its interval."""
    weights = np.ones_like(values) if per is None else per
    if not units.size or not float(units @ weights):
        return replace(template, value=None, reason="Undefined: there is nothing to compare.", warning=None)
    statistic = Totals(np.column_stack([values, weights]), units, lambda totals: totals[:, 0] / totals[:, 1])
    return with_interval(
        replace(template, value=statistic.estimate()),
        statistic,
        method=method,
        confidence=confidence,
        seed=seed,
        replicates=replicates,
        lowest=lowest,
        highest=highest,
    )

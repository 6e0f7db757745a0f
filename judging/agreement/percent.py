"""Percent agreement and prevalence: the two plain numbers that stand beside every alpha."""

import numpy as np

from judging.agreement.alpha import NOTHING_TO_COMPARE
from judging.agreement.intervals import Method
from judging.agreement.labels import Value
from judging.agreement.means import mean_figure
from judging.agreement.patterns import Histogram
from judging.agreement.resampling import FloatArray
from judging.agreement.result import Figure


def percent_agreement(
    histogram: Histogram,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """The share of equal pairs of labels within a unit, averaged over units, in [0, 1].

    A unit with m labels counts once, as sum over values of c(c - 1) / (m(m - 1)) (Fleiss 1971, P_i).
    Undefined without two labels on some unit; defined, as 1, where all labels are the same.
    """
    table = histogram.pairable()
    if not histogram.n_units:
        return histogram.figure("percent agreement", reason=NOTHING_TO_COMPARE)
    return mean_figure(
        histogram.figure("percent agreement", 0.0),
        pair_agreement(table.counts.astype(np.float64)),
        table.units,
        method,
        confidence,
        seed,
        replicates,
        highest=1.0,
    )


def pair_agreement(counts: FloatArray) -> FloatArray:
    """(P,): the share of equal pairs within each row of counts (P, values) of at least two labels."""
    sizes = counts.sum(axis=1)
    share: FloatArray = (counts * (counts - 1.0)).sum(axis=1) / (sizes * (sizes - 1.0))
    return share


def prevalence(histogram: Histogram) -> dict[Value, float]:
    """The share of each value among all labels, singly rated units included; empty without labels."""
    table = histogram.table()
    totals = table.units @ table.counts
    number = int(totals.sum())
    if not number:
        return {}
    return {value: total / number for value, total in zip(histogram.domain, totals.tolist(), strict=True)}

"""Gwet's AC1 and AC2, and Brennan & Prediger's coefficient.

Sources: Gwet (2008, 2014); Brennan & Prediger (1981). All depend on the number of values of the domain,
used or not: declare the whole scale.
"""

import numpy as np

from judging.agreement.chance import Weights, agreement_weights, chance_corrected
from judging.agreement.intervals import Method
from judging.agreement.patterns import Histogram
from judging.agreement.resampling import FloatArray
from judging.agreement.result import Figure


def ac1(
    histogram: Histogram,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """AC1, nominal agreement that stays calm when one value is rare, -1 to 1."""
    return ac2(histogram, "identity", method, confidence, seed, replicates)


def ac2(
    histogram: Histogram,
    weights: Weights = "ordinal",
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """AC2, agreement with partial credit by the distance on the scale; identity weights make it AC1.

    Chance is T / (q (q - 1)) * sum of p (1 - p), with T the sum of the weights and q the number of values.
    Undefined with fewer than two values in the domain. Raises ValueError for unknown weights.
    """
    width = len(histogram.domain)
    table = agreement_weights(width, weights)
    name = "AC1" if weights == "identity" else f"AC2 ({weights})"
    if width < 2:
        return histogram.figure(name, reason="Undefined: the scale has fewer than two values.")
    factor = table.sum() / (width * (width - 1.0))

    def chance(shares: FloatArray) -> FloatArray:
        expected: FloatArray = factor * (shares * (1.0 - shares)).sum(axis=1)
        return expected

    return chance_corrected(
        histogram,
        name,
        table,
        chance,
        method=method,
        confidence=confidence,
        seed=seed,
        replicates=replicates,
    )


def brennan_prediger(
    histogram: Histogram,
    weights: Weights = "identity",
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """Agreement corrected for guessing each value equally often; for two raters and two values it is
    PABAK.
    """
    width = len(histogram.domain)
    table = agreement_weights(width, weights)
    expected = float(table.sum()) / max(width * width, 1)
    return chance_corrected(
        histogram,
        "Brennan-Prediger",
        table,
        lambda shares: np.full(len(shares), expected),
        method=method,
        confidence=confidence,
        seed=seed,
        replicates=replicates,
    )

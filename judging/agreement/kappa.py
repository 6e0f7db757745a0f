"""Kappa: Cohen's for two raters (plain, linear, quadratic), Fleiss' and Conger's for more.

Sources: Cohen (1960, 1968); Fleiss, Cohen & Everitt (1969) for the asymptotic interval; Fleiss (1971), with
missing labels as in Gwet (2014); Conger (1980).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from judging.agreement.alpha import NOTHING_TO_COMPARE
from judging.agreement.chance import Weights, agreement_weights, chance_corrected
from judging.agreement.confusion import CrossTable
from judging.agreement.intervals import Method, check_confidence, with_interval
from judging.agreement.labels import shown
from judging.agreement.patterns import Histogram
from judging.agreement.percent import percent_agreement
from judging.agreement.resampling import FloatArray
from judging.agreement.result import Figure

KappaMethod = Method | Literal["asymptotic"]


def cohen(
    table: CrossTable,
    weights: Weights = "identity",
    method: KappaMethod = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """Cohen's kappa of two raters over the fixed domain of the table, -1 to 1.

    Weights go by position on the scale. Undefined without a unit that both labelled, and where both
    raters gave one and the same value throughout. Raises ValueError for unknown weights or methods.
    """
    name = "Cohen's kappa" if weights == "identity" else f"Cohen's kappa ({weights})"
    credit = agreement_weights(len(table.domain), weights)

    def kappa(cells: FloatArray) -> FloatArray:
        total = cells.sum(axis=(1, 2))
        rows, columns = cells.sum(axis=2), cells.sum(axis=1)
        observed = 1.0 - np.einsum("bij,ij->b", cells, credit) / total
        expected = 1.0 - np.einsum("bi,ij,bj->b", rows, credit, columns) / total**2
        return np.where(expected > 1e-12, 1.0 - observed / expected, np.nan)

    if not table.n_units:
        return table.figure(name, reason="Undefined: no unit has a label of both raters.")
    statistic = table.statistic(kappa)
    value = statistic.estimate()
    if not np.isfinite(value):
        only = table.domain[int(np.argmax(table.cells.sum(axis=1)))]
        return table.figure(name, reason=f"Undefined: every rating is {shown(only)}.")
    figure = table.figure(name, value)
    if method == "asymptotic":
        return _asymptotic(figure, value, table.cells / table.n_units, credit, confidence)
    return with_interval(
        figure,
        statistic,
        method=method,
        confidence=confidence,
        seed=seed,
        replicates=replicates,
        lowest=-1.0,
        highest=1.0,
    )


def fleiss(
    histogram: Histogram,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """Fleiss' kappa of any number of raters, -1 to 1; with two raters on every unit it is Scott's pi."""

    def chance(shares: FloatArray) -> FloatArray:
        expected: FloatArray = (shares**2).sum(axis=1)
        return expected

    return chance_corrected(
        histogram,
        "Fleiss' kappa",
        np.eye(len(histogram.domain)),
        chance,
        method=method,
        confidence=confidence,
        seed=seed,
        replicates=replicates,
    )


def conger(data: ArrayLike, domain: Sequence[float]) -> Figure:
    """Conger's kappa, which gives each rater a prevalence of his own; for two raters it is Cohen's.

    data    (raters, units) of numbers with nan for a missing label; every rater has labelled something
    domain  the values of the scale

    No interval. Chance is the mean over pairs of raters of the agreement of their prevalences.
    """
    array = np.asarray(data, dtype=np.float64)
    histogram = Histogram.from_reliability(array, domain)
    everyone = array[~np.isnan(array).all(axis=1)]
    if len(everyone) < 2:
        return histogram.figure("Conger's kappa", reason="Undefined: there is only one rater.")
    shares = np.stack([(everyone == value).sum(axis=1) for value in histogram.domain], axis=1, dtype=np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    raters = len(shares)
    expected = float((shares.sum(axis=0) ** 2).sum() - (shares**2).sum()) / (raters * (raters - 1))
    observed = percent_agreement(histogram).value
    if observed is None:
        return histogram.figure("Conger's kappa", reason=NOTHING_TO_COMPARE)
    if expected > 1.0 - 1e-12:
        return histogram.figure("Conger's kappa", reason=f"Undefined: every rating is {shown(histogram.used()[0])}.")
    return histogram.figure("Conger's kappa", (observed - expected) / (1.0 - expected))


def _asymptotic(figure: Figure, kappa: float, shares: FloatArray, credit: FloatArray, confidence: float) -> Figure:
    """The interval of Fleiss, Cohen & Everitt (1969) from the large-sample variance."""
    check_confidence(confidence)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(rows @ credit @ columns)
    lines = (credit @ columns)[:, None] + (rows @ credit)[None, :]
    spread = float((shares * (credit - lines * (1.0 - kappa)) ** 2).sum())
    spread -= (kappa - expected * (1.0 - kappa)) ** 2
    error = np.sqrt(max(spread, 0.0) / figure.n_units) / (1.0 - expected)
    width = float(stats.norm.ppf(0.5 + confidence / 2.0) * error)
    return replace(
        figure,
        low=max(kappa - width, -1.0),
        high=min(kappa + width, 1.0),
        level=confidence,
        method="large-sample normal",
    )

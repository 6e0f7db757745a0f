"""Estimates beyond the units that people labelled: prediction-powered means and corrected prevalences.

Sources: Angelopoulos, Bates et al. (2023) and Angelopoulos, Duchi & Zrnic (2023) for the tuned weight;
Rogan & Gladen (1978), with the interval of Lang & Reiczigel (2014).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from judging.agreement.intervals import check_confidence
from judging.agreement.resampling import FloatArray
from judging.agreement.result import Figure


class PredictionPowered(NamedTuple):
    """The estimate beside the two naive ones; ``weight`` (lambda) is how far the judge is trusted, 0 to 1."""

    estimate: Figure
    people_only: Figure
    judge_only: Figure
    weight: float | None


def prediction_powered_mean(
    people: ArrayLike,
    judge_there: ArrayLike,
    judge_elsewhere: ArrayLike,
    confidence: float = 0.95,
    weight: float | None = None,
) -> PredictionPowered:
    """The mean of what people would say, from few labels of people and many of a judge.

    people           (n,) people's scores
    judge_there      (n,) the judge's scores of the same units
    judge_elsewhere  (N,) the judge's scores of units that nobody labelled, drawn like the others
    weight           a fixed lambda; without it, the one with the smallest variance, cut to [0, 1]

    With weight 0 this is the mean of the people, with 1 the plain prediction-powered mean. Normal intervals.
    Undefined with fewer than two units on either side.
    """
    check_confidence(confidence)
    if weight is not None and not 0.0 <= weight <= 1.0:
        raise ValueError(f"The weight of the judge lies between 0 and 1, not at {weight}.")
    said = _finite(people)
    there, elsewhere = _finite(judge_there), _finite(judge_elsewhere)
    if said.shape != there.shape:
        raise ValueError(f"People scored {said.size} units and the judge {there.size}; they must be the same units.")
    if said.size < 2 or elsewhere.size < 2:
        reason = "Undefined: two units with labels of people and two without are the least."
        nothing = Figure(name="prediction-powered mean", reason=reason)
        return PredictionPowered(nothing, nothing, nothing, None)
    n, more = said.size, elsewhere.size
    if weight is None:
        spread = float(np.var(np.concatenate([there, elsewhere]), ddof=1))
        together = float(np.cov(said, there)[0, 1])
        weight = float(np.clip(together / ((1.0 + n / more) * spread), 0.0, 1.0)) if spread else 0.0
    value = float(said.mean() + weight * (elsewhere.mean() - there.mean()))
    variance = np.var(said - weight * there, ddof=1) / n + weight**2 * np.var(elsewhere, ddof=1) / more
    return PredictionPowered(
        _normal("prediction-powered mean", value, float(variance), confidence, n + more, 2 * n + more),
        _normal("mean of people", float(said.mean()), float(np.var(said, ddof=1)) / n, confidence, n, n),
        _normal(
            "mean of the judge (naive)",
            float(elsewhere.mean()),
            float(np.var(elsewhere, ddof=1)) / more,
            confidence,
            more,
            more,
        ),
        weight,
    )


def rogan_gladen(
    judged_yes: int,
    judged: int,
    yes_found: int,
    yes_known: int,
    no_found: int,
    no_known: int,
    confidence: float = 0.95,
) -> Figure:
    """The true share of yes, from a judge whose errors people have measured, in [0, 1].

    judged_yes of judged   what the judge said about the units of interest
    yes_found of yes_known his yes on units where people said yes (sensitivity)
    no_found of no_known   his no on units where people said no (specificity)

    Undefined where the judge does no better than chance (sensitivity + specificity <= 1). Raises
    ValueError for counts that are not parts of their wholes.
    """
    check_confidence(confidence)
    for part, whole in ((judged_yes, judged), (yes_found, yes_known), (no_found, no_known)):
        if not 0 <= part <= whole:
            raise ValueError(f"{part} is not a part of {whole}.")
    name = "share of yes, corrected"
    counts = {"n_units": judged, "n_labels": judged + yes_known + no_known}
    if not (judged and yes_known and no_known):
        reason = "Undefined: judged units and units where people said yes and no are all needed."
        return Figure(name=name, reason=reason, n_units=judged)
    found, refused = yes_found / yes_known, no_found / no_known
    if found + refused <= 1.0:
        reason = "Undefined: on the units that people labelled the judge does no better than chance."
        return Figure(name=name, reason=reason, n_units=judged)
    raw = (judged_yes / judged + refused - 1.0) / (found + refused - 1.0)
    value = float(np.clip(raw, 0.0, 1.0))
    low, high = _lang_reiczigel(judged_yes, judged, yes_found, yes_known, no_found, no_known, confidence)
    figure = Figure(
        name=name,
        value=value,
        low=min(low, value),
        high=max(high, value),
        level=confidence,
        method="Lang-Reiczigel",
        n_units=counts["n_units"],
        n_labels=counts["n_labels"],
    )
    return figure.warned(f"The correction gives {raw:.3f} and was cut to the range 0 to 1." if raw != value else None)


def _lang_reiczigel(
    judged_yes: int, judged: int, yes_found: int, yes_known: int, no_found: int, no_known: int, confidence: float
) -> tuple[float, float]:
    z = float(stats.norm.ppf(0.5 + confidence / 2.0))
    units, yes, no = judged + z * z, yes_known + 2, no_known + 2
    share = (judged_yes + z * z / 2.0) / units
    found, refused = (yes_found + 1) / yes, (no_found + 1) / no
    gain = found + refused - 1.0
    true = (share + refused - 1.0) / gain
    noise_yes, noise_no = found * (1.0 - found) / yes, refused * (1.0 - refused) / no
    shift = 2.0 * z * z * (true * noise_yes - (1.0 - true) * noise_no)
    width = z * np.sqrt(share * (1.0 - share) / units + true**2 * noise_yes + (1.0 - true) ** 2 * noise_no) / gain
    low, high = np.clip([true + shift - width, true + shift + width], 0.0, 1.0)
    return float(low), float(high)


def _finite(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(array).all():
        raise ValueError("Scores are finite numbers; leave units without a score out on both sides.")
    return array


def _normal(name: str, value: float, variance: float, confidence: float, units: int, labels: int) -> Figure:
    width = float(stats.norm.ppf(0.5 + confidence / 2.0) * np.sqrt(variance))
    return Figure(
        name=name,
        value=value,
        low=value - width,
        high=value + width,
        level=confidence,
        method="normal",
        n_units=units,
        n_labels=labels,
    )

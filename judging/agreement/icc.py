"""Intraclass correlations of a complete table of scores.

Sources: Shrout & Fleiss (1979); McGraw & Wong (1996) for the intervals.
"""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from judging.agreement.intervals import check_confidence
from judging.agreement.resampling import FloatArray
from judging.agreement.result import Figure

Model = Literal[1, 2, 3]
MODELS: tuple[Model, ...] = get_args(Model)


def icc(data: ArrayLike, model: Model, average: bool = False, confidence: float = 0.95) -> Figure:
    """ICC(model, 1), or ICC(model, k) of the mean of the k raters, with its F interval.

    data   (units, raters) of numbers, nan where missing; units with a gap are left out and counted as missing
    model  1: each unit has raters of its own; 2: the raters are a sample; 3: these raters and no others

    Undefined with fewer than two complete units or two raters, and where all scores are the same.
    """
    array = np.asarray(data, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError("Scores are a table with a row for each unit and a column for each rater.")
    if model not in MODELS:
        raise ValueError(f"There is no ICC model {model}; choose 1, 2 or 3.")
    check_confidence(confidence)
    complete = array[~np.isnan(array).any(axis=1)]
    n, k = complete.shape
    figure = Figure(
        name=f"ICC({model},{'k' if average else 1})",
        value=0.0,
        n_units=n,
        n_labels=n * k,
        missing=len(array) - n,
    )
    if n < 2 or k < 2:
        return replace(figure, value=None, reason="Undefined: two raters on two common units are the least.")
    units, raters, error, within = _mean_squares(complete)
    if units + error + raters <= 1e-24 * float(np.mean(complete**2)):
        return replace(figure, value=None, reason=f"Undefined: every rating is {complete[0, 0]:g}.")
    if model == 1:
        noise, lift = within, 0.0
    elif model == 2:
        noise, lift = error, k * (raters - error) / n
    else:
        noise, lift = error, 0.0
    bottom = units + lift / k if average else units + (k - 1) * noise + lift
    if bottom <= 0:
        return replace(figure, value=None, reason="Undefined: the variance between units is nil.")
    value = (units - noise) / bottom
    low, high = _limits(model, units, raters, error, within, n, k, 1.0 - confidence)
    if average:
        low, high = (limit * k / (1.0 + limit * (k - 1)) for limit in (low, high))
    figure = replace(figure, value=float(value))
    if not (np.isfinite(low) and np.isfinite(high)):
        return figure.warned("No interval: the raters leave no error to estimate it from.")
    return replace(figure, low=float(low), high=float(high), level=confidence, method="F distribution")


def _mean_squares(scores: FloatArray) -> tuple[float, float, float, float]:
    """Mean squares between units, between raters, of the residual, and within units."""
    n, k = scores.shape
    mean = scores.mean()
    rows, columns = scores.mean(axis=1), scores.mean(axis=0)
    units = k * float(((rows - mean) ** 2).sum()) / (n - 1)
    raters = n * float(((columns - mean) ** 2).sum()) / (k - 1)
    residual = scores - rows[:, None] - columns[None, :] + mean
    error = float((residual**2).sum()) / ((n - 1) * (k - 1))
    within = float(((scores - rows[:, None]) ** 2).sum()) / (n * (k - 1))
    return units, raters, error, within


def _limits(
    model: Model, units: float, raters: float, error: float, within: float, n: int, k: int, miss: float
) -> tuple[float, float]:
    """Limits of the single-rater ICC; nan where the F ratio has no denominator."""
    tail = 1.0 - miss / 2.0
    noise = within if model == 1 else error
    if noise <= 0:
        return np.nan, np.nan
    ratio = units / noise
    if model != 2:
        freedom = n * (k - 1) if model == 1 else (n - 1) * (k - 1)
        below = ratio / stats.f.ppf(tail, n - 1, freedom)
        above = ratio * stats.f.ppf(tail, freedom, n - 1)
        return (below - 1) / (below + k - 1), (above - 1) / (above + k - 1)
    single = (units - error) / (units + (k - 1) * error + k * (raters - error) / n)
    a = k * single / (n * (1.0 - single))
    b = 1.0 + k * single * (n - 1) / (n * (1.0 - single))
    top = (a * raters + b * error) ** 2
    freedom2 = top / ((a * raters) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1)))
    first = stats.f.ppf(tail, n - 1, freedom2)
    second = stats.f.ppf(tail, freedom2, n - 1)
    rest = k * raters + (k * n - k - n) * error
    low = n * (units - first * error) / (first * rest + n * units)
    high = n * (second * units - error) / (rest + n * second * units)
    return float(low), float(high)

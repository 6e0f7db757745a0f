"""Intervals over units: jackknife-t, percentile and BCa bootstrap.

All three cost the number of patterns and not the number of labels. The delete-one jackknife needs one
value per pattern, because all units of a pattern are alike; a bootstrap resample of units is one
multinomial draw over the patterns. The patterns are sorted, so one seed gives one interval in whatever
order the labels came.

Sources: Efron & Tibshirani (1993), chapters 11, 13 and 14.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from scipy import stats

from judging.agreement.alpha import Level, alpha, alpha_statistic
from judging.agreement.patterns import Histogram
from judging.agreement.resampling import FloatArray, Statistic
from judging.agreement.result import Figure

Method = Literal["jackknife", "percentile", "bca"]
METHODS: tuple[Method, ...] = get_args(Method)
METHOD_NAMES: dict[Method, str] = {
    "jackknife": "jackknife-t over units",
    "percentile": "percentile bootstrap over units",
    "bca": "BCa bootstrap over units",
}
NO_WIDTH = "All resamples agree on this value, so the interval has no width; it is not certainty."
SKEWED_PREVALENCE = 0.8
FEW_UNITS = 100
# Weights held at once while drawing: 32 MB of 64-bit numbers.
DRAWN_AT_ONCE = 4_000_000


def alpha_with_interval(
    histogram: Histogram,
    level: Level,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """Alpha with an interval over units, and a warning where such an interval is known to be too narrow.

    See ``alpha`` for the value and ``with_interval`` for the arguments.
    """
    figure = alpha(histogram, level)
    if not figure.defined:
        return figure
    statistic = alpha_statistic(histogram, level)
    figure = with_interval(
        figure, statistic, method=method, confidence=confidence, seed=seed, replicates=replicates, highest=1.0
    )
    return figure.warned(skew_warning(histogram))


def with_interval(
    figure: Figure,
    statistic: Statistic,
    *,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
    lowest: float = -np.inf,
    highest: float = np.inf,
) -> Figure:
    """The figure with the limits of its statistic, cut to the range of the statistic.

    method      "jackknife" (delete-one, Student's t with units - 1 degrees of freedom, around the estimate),
                "percentile" or "bca"
    confidence  in (0, 1)
    seed        of the bootstrap; the jackknife draws nothing and stores none
    replicates  resamples of the bootstrap, at least 2

    Where no interval can be made the figure keeps its value and says why in its warning. Raises
    ValueError for arguments out of range.
    """
    if method not in METHODS:
        raise ValueError(f"There is no interval {method!r}; choose one of {', '.join(METHODS)}.")
    check_confidence(confidence)
    if replicates < 2:
        raise ValueError("A bootstrap needs at least 2 replicates.")
    if figure.value is None:
        return figure
    if int(statistic.units.sum()) < 2:
        return figure.warned("No interval: there is only one unit.")
    if method == "jackknife":
        limits, warning = _jackknife(figure.value, statistic, confidence)
    else:
        limits, warning = _bootstrap(figure.value, statistic, method, confidence, seed, replicates)
    if limits is None:
        return figure.warned(warning)
    low, high = (float(np.clip(limit, lowest, highest)) for limit in limits)
    if low == high:
        warning = " ".join(filter(None, [warning, NO_WIDTH]))
    return replace(
        figure,
        low=low,
        high=high,
        level=confidence,
        method=METHOD_NAMES[method],
        seed=None if method == "jackknife" else seed,
    ).warned(warning)


def check_confidence(confidence: float) -> None:
    """Raise ValueError unless the confidence lies between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"The confidence of an interval lies between 0 and 1, not at {confidence}.")


def skew_warning(histogram: Histogram) -> str | None:
    """The sentence for two skewed categories on few units, or None.

    With one of two categories on more than 80 % of the labels and fewer than 100 units, resampling units
    covers less often than it promises.
    """
    table = histogram.pairable()
    totals = table.units @ table.counts
    used = totals[totals > 0]
    units = int(table.units.sum())
    if used.size != 2 or units >= FEW_UNITS or used.max() <= SKEWED_PREVALENCE * used.sum():
        return None
    return (
        f"One category holds {used.max() / used.sum():.0%} of the labels on only {units} units: "
        "the true interval is wider than the one shown."
    )


def jackknife_error(statistic: Statistic) -> float:
    """The delete-one standard error; nan if the statistic is undefined without some unit."""
    values = statistic.leave_one_out()
    units = statistic.units
    total = int(units.sum())
    mean = units @ values / total
    return float(np.sqrt((total - 1) / total * (units @ (values - mean) ** 2)))


def replicated(statistic: Statistic, replicates: int, seed: int) -> FloatArray:
    """(replicates,): the statistic of resamples of all units with replacement; nan where it is undefined."""
    return np.concatenate([statistic.reweighted(weights) for weights in _resamples(statistic, replicates, seed)])


def _resamples(statistic: Statistic, replicates: int, seed: int) -> Iterator[FloatArray]:
    units = statistic.units
    total = int(units.sum())
    generator = np.random.default_rng(seed)
    at_once = max(1, DRAWN_AT_ONCE // units.size)
    for start in range(0, replicates, at_once):
        drawn = generator.multinomial(total, units / total, size=min(at_once, replicates - start))
        yield drawn.astype(np.float64)


def _jackknife(value: float, statistic: Statistic, confidence: float) -> tuple[tuple[float, float] | None, str | None]:
    error = jackknife_error(statistic)
    if not np.isfinite(error):
        return None, "No interval: the figure hangs on a single unit and is undefined without it."
    width = float(stats.t.ppf(0.5 + confidence / 2.0, int(statistic.units.sum()) - 1)) * error
    return (value - width, value + width), None


def percentile_limits(
    figure: Figure, drawn: Sequence[float | None] | FloatArray, confidence: float, seed: int, method: str
) -> Figure:
    """The figure with percentile limits from replicates that were drawn elsewhere; None or nan is undefined.

    Raises ValueError for a confidence out of range.
    """
    check_confidence(confidence)
    everything = np.asarray(drawn, dtype=np.float64)
    values = everything[np.isfinite(everything)]
    lost = everything.size - values.size
    if values.size < everything.size / 2 or values.size < 2:
        return figure.warned(f"No interval: the figure is undefined in {lost} of {everything.size} resamples.")
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    limited = replace(figure, low=float(low), high=float(high), level=confidence, method=method, seed=seed)
    return limited.warned(f"{lost} of {everything.size} resamples were undefined and left out." if lost else None)


def _bootstrap(
    value: float, statistic: Statistic, method: Method, confidence: float, seed: int, replicates: int
) -> tuple[tuple[float, float] | None, str | None]:
    drawn = replicated(statistic, replicates, seed)
    values = drawn[np.isfinite(drawn)]
    lost = drawn.size - values.size
    if values.size < drawn.size / 2 or values.size < 2:
        return None, f"No interval: the figure is undefined in {lost} of {replicates} resamples."
    warning = f"{lost} of {replicates} resamples had no variation and were left out." if lost else None
    tail = (1.0 - confidence) / 2.0
    tails = np.array([tail, 1.0 - tail])
    if method == "bca" and np.ptp(values) > 0:
        adjusted = _bca_tails(value, values, statistic, tails)
        if adjusted is None:
            return None, "No BCa interval: the figure lies outside of its resamples; choose another method."
        tails = adjusted
    low, high = np.quantile(values, tails)
    return (float(low), float(high)), warning


def _bca_tails(value: float, values: FloatArray, statistic: Statistic, tails: FloatArray) -> FloatArray | None:
    """The tails corrected for bias and acceleration, or None where they cannot be computed."""
    share = (np.mean(values < value) + np.mean(values <= value)) / 2.0
    bias = stats.norm.ppf(share)
    left_out = statistic.leave_one_out()
    units = statistic.units
    gaps = units @ left_out / units.sum() - left_out
    spread = float(units @ gaps**2)
    if not np.isfinite(bias) or not np.isfinite(spread):
        return None
    acceleration = float(units @ gaps**3) / (6.0 * spread**1.5) if spread > 0 else 0.0
    shifted = bias + stats.norm.ppf(tails)
    corrected: FloatArray = stats.norm.cdf(bias + shifted / (1.0 - acceleration * shifted))
    return corrected

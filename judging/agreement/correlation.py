"""Correlation of judge scores with people's scores at three levels.

pooled            all rows together
per instruction   one coefficient for each instruction, and their mean
system            one coefficient over the mean scores of the systems

The three answer different questions and can differ a lot, so every figure carries its level in its name.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats

from judging.agreement.grouped import coefficients_within
from judging.agreement.intervals import percentile_limits
from judging.agreement.means import mean_figure
from judging.agreement.resampling import FloatArray, IntArray
from judging.agreement.result import Figure
from judging.agreement.weighted import Coefficient, weighted_coefficient

COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
TITLES: dict[Coefficient, str] = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall tau-b"}


def coefficient_of(x: FloatArray, y: FloatArray, coefficient: Coefficient) -> float | None:
    """One coefficient of two equally long arrays, -1 to 1; None if either is constant or shorter than 2.

    Raises ValueError for an unknown coefficient.
    """
    _title(coefficient)
    if len(x) < 2 or np.all(x == x[0]) or np.all(y == y[0]):
        return None
    if coefficient == "kendall":
        return float(stats.kendalltau(x, y).statistic)
    if coefficient == "spearman":
        x, y = stats.rankdata(x), stats.rankdata(y)
    x, y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip((x @ y) / spread, -1.0, 1.0)) if spread else None


def pooled(
    x: ArrayLike,
    y: ArrayLike,
    coefficient: Coefficient = "spearman",
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """The coefficient over all rows, with a percentile bootstrap interval.

    x, y      (rows,) of numbers; a row with nan on either side is left out and counted as missing
    clusters  (rows,): rows that belong together (the instruction) are resampled together
    """
    first, second = _numbers(x, y)
    kept = ~(np.isnan(first) | np.isnan(second))
    group = _codes(range(len(first)) if clusters is None else clusters, len(first))[kept]
    lost = int((~kept).sum())
    name = f"{_title(coefficient)}, pooled"
    first, second = first[kept], second[kept]
    # Rows in an order of their own, so that neither value nor interval depends on the order of arrival.
    order = np.lexsort((second, first)) if clusters is None else np.lexsort((second, first, group))
    first, second, group = first[order], second[order], group[order]
    value = coefficient_of(first, second, coefficient)
    if value is None:
        return _undefined(name, first, second, lost)
    group = np.arange(len(first)) if clusters is None else np.unique(group, return_inverse=True)[1]
    drawn = _resampled(weighted_coefficient(first, second, coefficient), group, seed, replicates)
    figure = Figure(name=name, value=value, n_units=int(group.max()) + 1, n_labels=2 * len(first), missing=lost)
    over = "rows" if clusters is None else "instructions"
    return percentile_limits(figure, drawn, confidence, seed, f"percentile bootstrap over {over}")


def per_instruction(
    x: ArrayLike,
    y: ArrayLike,
    instructions: Sequence[Hashable],
    coefficient: Coefficient = "spearman",
    confidence: float = 0.95,
) -> Figure:
    """The mean over instructions of the coefficient within the instruction, with a t interval.

    Instructions in which either side is constant have no coefficient; they are left out, counted as missing,
    and named in the warning.
    """
    first, second = _numbers(x, y)
    group = _codes(instructions, len(first))
    order = np.lexsort((second, first, group))
    order = order[~(np.isnan(first) | np.isnan(second))[order]]
    title = _title(coefficient)
    places = np.unique(group[order], return_inverse=True)[1]
    found = coefficients_within(first[order], second[order], places, coefficient)
    values = np.sort(found[~np.isnan(found)])
    skipped = np.unique(group).size - values.size
    template = Figure(
        name=f"{title}, per instruction",
        value=0.0,
        n_units=values.size,
        n_labels=2 * order.size,
        missing=skipped,
        warning=f"{skipped} instructions with constant scores were skipped." if skipped else None,
    )
    ones = np.ones(values.size, dtype=np.int64)
    return mean_figure(template, values, ones, "jackknife", confidence, 0, 2, lowest=-1.0, highest=1.0)


def system_level(
    x: ArrayLike,
    y: ArrayLike,
    systems: Sequence[Hashable],
    coefficient: Coefficient = "spearman",
    instructions: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """The coefficient over the systems' mean scores, with a percentile interval over instructions.

    Without ``instructions`` there is nothing to resample but the systems, so there is no interval.
    """
    first, second = _numbers(x, y)
    system = _codes(systems, len(first))
    group = np.zeros_like(system) if instructions is None else _codes(instructions, len(first))
    # Sums in one order, so that the same rows give the same bits however they came.
    order = np.lexsort((second, first, system, group))
    first, second, system, group = first[order], second[order], system[order], group[order]
    kept = ~(np.isnan(first) | np.isnan(second))
    system, group = system[kept], group[kept]
    lost = int((~kept).sum())
    first, second = first[kept], second[kept]
    name = f"{_title(coefficient)}, system"
    width = int(system.max(initial=-1)) + 1
    counts = np.bincount(system, minlength=width)
    seen = counts > 0
    means = [np.bincount(system, scores, width)[seen] / counts[seen] for scores in (first, second)]
    value = coefficient_of(means[0], means[1], coefficient)
    if value is None:
        return _undefined(name, means[0], means[1], lost)
    figure = Figure(name=name, value=value, n_units=int(seen.sum()), n_labels=2 * len(first), missing=lost)
    if instructions is None:
        return figure.warned("No interval: the rows do not say which instruction they belong to.")
    height = int(group.max()) + 1
    # Most systems may have answered few instructions, so only the cells that hold something are kept.
    tables = [
        sparse.csr_array((numbers, (system, group)), shape=(width, height))
        for numbers in (np.ones_like(first), first, second)
    ]
    generator = np.random.default_rng(seed)
    drawn: list[float | None] = []
    for _ in range(replicates):
        weights = np.bincount(generator.integers(0, height, height), minlength=height)
        number, left, right = (table @ weights for table in tables)
        here = number > 0
        drawn.append(coefficient_of(left[here] / number[here], right[here] / number[here], coefficient))
    return percentile_limits(figure, drawn, confidence, seed, "percentile bootstrap over instructions")


def _resampled(statistic: Callable[[IntArray], float], group: IntArray, seed: int, replicates: int) -> FloatArray:
    """(replicates,): the statistic of rows whose groups are drawn with replacement."""
    generator = np.random.default_rng(seed)
    number = int(group.max()) + 1
    return np.array(
        [
            statistic(np.bincount(generator.integers(0, number, number), minlength=number)[group])
            for _ in range(replicates)
        ]
    )


def _title(coefficient: str) -> str:
    for known in COEFFICIENTS:
        if known == coefficient:
            return TITLES[known]
    raise ValueError(f"There is no coefficient {coefficient!r}; choose one of {', '.join(COEFFICIENTS)}.")


def _numbers(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError("A correlation needs two columns of the same length.")
    return first, second


def _codes(keys: Sequence[Hashable], length: int) -> IntArray:
    """Whole numbers for keys, in an order that does not depend on which key came first."""
    if len(keys) != length:
        raise ValueError(f"There are {len(keys)} group names for {length} rows.")
    place = {key: code for code, key in enumerate(sorted(set(keys), key=lambda key: (str(key), repr(key))))}
    return np.array([place[key] for key in keys], dtype=np.int64)


def _undefined(name: str, x: FloatArray, y: FloatArray, missing: int) -> Figure:
    if len(x) < 2:
        reason = "Undefined: there are fewer than two rows with both scores."
    else:
        side, value = ("first", x[0]) if np.all(x == x[0]) else ("second", y[0])
        reason = f"Undefined: every {side} score is {value:g}."
    return Figure(name=name, reason=reason, n_units=len(x), n_labels=2 * len(x), missing=missing)

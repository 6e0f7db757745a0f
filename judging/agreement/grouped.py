"""Correlation within many small groups at once, which is what a coefficient for each instruction asks for."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judging.agreement.resampling import FloatArray, IntArray
from judging.agreement.weighted import Coefficient

# Rows of a group up to which Kendall's tau compares all of its pairs in one table, and pairs in the tables of one step.
MOST_ROWS = 50
PAIRS_AT_ONCE = 1_000_000


def coefficients_within(x: FloatArray, y: FloatArray, group: IntArray, coefficient: Coefficient) -> FloatArray:
    """(groups,): the coefficient of the rows of each group; nan where either side is constant or has fewer than two.

    x, y    (rows,) of numbers
    group   (rows,) of 0, 1, 2, ..., every one of them present, in ascending order
    """
    sizes = np.bincount(group)
    if not sizes.size:
        return np.zeros(0)
    starts = np.cumsum(sizes) - sizes
    varied = (sizes >= 2) & _varied(x, starts) & _varied(y, starts)
    if coefficient == "kendall":
        found = _kendall(x, y, starts, sizes, varied)
    else:
        if coefficient == "spearman":
            x, y = _ranks(x, group, starts), _ranks(y, group, starts)
        found = _pearson(x, y, group, starts, sizes)
    return np.where(varied, found, np.nan)


def _varied(values: FloatArray, starts: IntArray) -> NDArray[np.bool_]:
    varied: NDArray[np.bool_] = np.minimum.reduceat(values, starts) < np.maximum.reduceat(values, starts)
    return varied


def _ranks(values: FloatArray, group: IntArray, starts: IntArray) -> FloatArray:
    """Mid-ranks within each group, from 0."""
    order = np.lexsort((values, group))
    ordered = values[order]
    first = np.ones(values.size, dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]) | (group[1:] != group[:-1])
    begins = np.flatnonzero(first)
    lengths = np.diff(np.append(begins, values.size))
    ranks = np.empty(values.size)
    ranks[order] = np.repeat(begins + (lengths - 1) / 2.0, lengths) - starts[group]
    return ranks


def _pearson(x: FloatArray, y: FloatArray, group: IntArray, starts: IntArray, sizes: IntArray) -> FloatArray:
    x = x - (np.add.reduceat(x, starts) / sizes)[group]
    y = y - (np.add.reduceat(y, starts) / sizes)[group]
    together, x_size, y_size = (np.add.reduceat(product, starts) for product in (x * y, x * x, y * y))
    spread = np.sqrt(x_size * y_size)
    found = np.divide(together, spread, out=np.full(spread.size, np.nan), where=spread > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def _kendall(x: FloatArray, y: FloatArray, starts: IntArray, sizes: IntArray, varied: NDArray[np.bool_]) -> FloatArray:
    """Tau-b. Groups of one size are compared together, all pairs of rows of each; large groups one by one."""
    found = np.full(sizes.size, np.nan)
    for size in np.unique(sizes[varied]).tolist():
        chosen = np.flatnonzero(varied & (sizes == size))
        if size > MOST_ROWS:
            for place in chosen.tolist():
                rows = slice(starts[place], starts[place] + size)
                found[place] = stats.kendalltau(x[rows], y[rows]).statistic
            continue
        left, right = np.triu_indices(size, 1)
        step = max(1, PAIRS_AT_ONCE // left.size)
        for some in np.split(chosen, range(step, chosen.size, step)):
            first, second = starts[some][:, None] + left, starts[some][:, None] + right
            x_signs, y_signs = np.sign(x[first] - x[second]), np.sign(y[first] - y[second])
            untied = [(signs != 0).sum(axis=1, dtype=np.float64) for signs in (x_signs, y_signs)]
            found[some] = (x_signs * y_signs).sum(axis=1) / np.sqrt(untied[0] * untied[1])
    return np.asarray(np.clip(found, -1.0, 1.0))

"""Correlation of weighted rows: one bootstrap replicate without sorting the rows again.

A resample gives every row a weight, the number of times it was drawn. The order of the values never changes, so
mid-ranks are running sums of weights and each replicate costs a few passes over the rows.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import stats

from judging.agreement.resampling import FloatArray, IntArray

Coefficient = Literal["pearson", "spearman", "kendall"]
# Cells of the table of distinct values up to which Kendall's tau is read from the table.
LARGEST_TABLE = 250_000


def weighted_coefficient(x: FloatArray, y: FloatArray, coefficient: Coefficient) -> Callable[[IntArray], float]:
    """A function from whole weights (rows,) to the coefficient of the weighted rows; nan where one is constant.

    Equal to the coefficient of rows that are repeated as often as their weights say.
    """
    if coefficient == "pearson":
        first, second = x - x.mean(), y - y.mean()
        return lambda weights: _pearson(first, second, weights)
    x_places, y_places = (np.unique(side, return_inverse=True)[1] for side in (x, y))
    if coefficient == "spearman":
        return lambda weights: _pearson(_ranks(x_places, weights), _ranks(y_places, weights), weights)
    shape = (int(x_places.max()) + 1, int(y_places.max()) + 1)
    if shape[0] * shape[1] > LARGEST_TABLE:
        return lambda weights: _kendall_of_rows(np.repeat(x_places, weights), np.repeat(y_places, weights))
    cells = x_places * shape[1] + y_places
    size = shape[0] * shape[1]
    return lambda weights: _kendall_of_table(np.bincount(cells, weights, size).astype(np.float64).reshape(shape))


def _pearson(x: FloatArray, y: FloatArray, weights: IntArray) -> float:
    # Plain sums: a threaded product of two long vectors waits for its threads on a busy machine.
    total = weights.sum()
    left, right = weights * x, weights * y
    x_size, y_size = float((left * x).sum()), float((right * y).sum())
    x_mean, y_mean = float(left.sum()) / total, float(right.sum()) / total
    x_spread, y_spread = x_size - total * x_mean**2, y_size - total * y_mean**2
    # Rounding leaves a little spread in a constant side.
    if x_spread <= 1e-12 * x_size or y_spread <= 1e-12 * y_size:
        return float("nan")
    together = float((left * y).sum()) - total * x_mean * y_mean
    return float(np.clip(together / np.sqrt(x_spread * y_spread), -1.0, 1.0))


def _ranks(places: IntArray, weights: IntArray) -> FloatArray:
    numbers = np.bincount(places, weights)
    # Counted from the middle, because the mean of the ranks is half of the rows.
    ranks: FloatArray = (np.cumsum(numbers) - (numbers + weights.sum()) / 2.0)[places]
    return ranks


def _kendall_of_rows(x: IntArray, y: IntArray) -> float:
    if np.all(x == x[0]) or np.all(y == y[0]):
        return float("nan")
    return float(stats.kendalltau(x, y).statistic)


def _kendall_of_table(table: FloatArray) -> float:
    """Tau-b from the number of rows with each pair of values (x values, y values)."""
    before = np.zeros_like(table)
    before[1:] = np.cumsum(table, axis=0)[:-1]
    running = np.cumsum(before, axis=1)
    concordant = float((table[:, 1:] * running[:, :-1]).sum())
    discordant = float((table * (running[:, -1:] - running)).sum())
    total = float(table.sum())
    pairs = total * (total - 1.0)
    x_free, y_free = (
        pairs - float((numbers * (numbers - 1.0)).sum()) for numbers in (table.sum(axis=1), table.sum(axis=0))
    )
    if x_free <= 0.0 or y_free <= 0.0:
        return float("nan")
    return 2.0 * (concordant - discordant) / float(np.sqrt(x_free * y_free))

"""Selective checklists: use the checklist only where the judge without one is not consistent.

Source: 000, sections 3 and 4. The judge is asked r times without a checklist; the units on which his answers
differ by k or more are judged with it. The curve shows what that does for every k, with None (never) and All
(always) at its ends, and paired bootstrap intervals of the differences.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from judging.agreement.consensus import ROUNDING, plurality
from judging.agreement.intervals import percentile_limits
from judging.agreement.resampling import FloatArray, IntArray
from judging.agreement.result import Figure

DIRECT_THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7)
PAIRWISE_THRESHOLDS = (5.0, 4.0, 3.0, 2.0, 1.0)

MeasureOf = Callable[[FloatArray, IntArray], float]
"""Maps the chosen verdicts (n,) and the rows of the data that they belong to (n,) to one number; may be
nan.
"""


class Point(NamedTuple):
    """One point of the curve: the checklist was used where the inconsistency was at least ``threshold``.

    threshold  None for "never", 0 for "always"
    applied    share of units that were judged with the checklist
    against_none, against_all   paired differences from the two ends, with intervals
    """

    threshold: float | None
    applied: float
    figure: Figure
    against_none: Figure
    against_all: Figure


def vote_inconsistency(votes: Sequence[Hashable]) -> int:
    """How many votes differ from the most frequent one: those of the less preferred response."""
    return len(votes) - max(Counter(votes).values(), default=0)


def score_inconsistency(scores: Sequence[float]) -> float:
    """The population standard deviation of at least one score."""
    return float(np.std(np.asarray(scores, dtype=np.float64)))


def vote_credit(votes: Sequence[Hashable], truth: Hashable) -> float:
    """1 if most votes are for the truth, 0 if for something else, 0.5 for an even split or no vote at all."""
    winner = plurality(votes)
    if winner is None:
        return 0.5
    return 1.0 if winner == truth else 0.0


def mean_of(chosen: FloatArray, rows: IntArray) -> float:
    """The measure for credits: their mean, which is the accuracy."""
    return float(chosen.mean())


def selective_curve(
    inconsistency: ArrayLike,
    without: ArrayLike,
    with_checklist: ArrayLike,
    thresholds: Sequence[float],
    measure: MeasureOf = mean_of,
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> list[Point]:
    """The curve from None over the thresholds, in the order given, to All.

    inconsistency            (units,)
    without, with_checklist  (units,) credits, or final scores if ``measure`` compares them with a gold
    standard
    measure                  the mean of the credits by default

    The units must come in a fixed order (of their keys, not of arrival): the bootstrap draws row numbers, the
    same for both sides of a difference. Raises ValueError for columns of different lengths or without rows.
    """
    doubt = np.asarray(inconsistency, dtype=np.float64)
    plain = np.asarray(without, dtype=np.float64)
    checked = np.asarray(with_checklist, dtype=np.float64)
    if not doubt.size or not doubt.shape == plain.shape == checked.shape:
        raise ValueError("The curve needs three columns of the same length, with at least one unit.")
    levels: list[float | None] = [None, *thresholds, 0.0]
    used = [np.zeros(doubt.size, dtype=bool) if level is None else doubt >= level - ROUNDING for level in levels]
    chosen = [np.where(mask, checked, plain) for mask in used]
    figures = [_measured("selective checklist", measure, verdicts) for verdicts in chosen]
    drawn = _drawn(chosen, measure, seed, replicates)
    ends = ((figures[0], drawn[:, 0]), (figures[-1], drawn[:, -1]))
    points = []
    for place, (level, mask, figure) in enumerate(zip(levels, used, figures, strict=True)):
        differences = (_difference(figure, end, drawn[:, place] - draws, confidence, seed) for end, draws in ends)
        points.append(Point(level, float(mask.mean()), figure, *differences))
    return points


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    measure: MeasureOf = mean_of,
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """measure(first) - measure(second) on the same units, with a paired percentile bootstrap interval.

    first, second  (units,), in the same fixed order of the units
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not x.size or x.shape != y.shape:
        raise ValueError("A paired difference needs two columns of the same length, with at least one unit.")
    left, right = (_measured("difference", measure, side) for side in (x, y))
    drawn = _drawn([x, y], measure, seed, replicates)
    return _difference(left, right, drawn[:, 0] - drawn[:, 1], confidence, seed)


def _drawn(columns: Sequence[FloatArray], measure: MeasureOf, seed: int, replicates: int) -> FloatArray:
    """(replicates, columns): the measure of every column in resamples of the units, the same ones for all columns."""
    table = np.column_stack(columns)
    size = len(table)
    generator = np.random.default_rng(seed)
    drawn = np.empty((replicates, len(columns)))
    for replicate in range(replicates):
        rows = generator.integers(0, size, size)
        if measure is mean_of:
            # A resample only says how often each unit was drawn.
            drawn[replicate] = np.bincount(rows, minlength=size) @ table / size
        else:
            drawn[replicate] = [measure(column[rows], rows) for column in columns]
    return drawn


def _difference(left: Figure, right: Figure, drawn: FloatArray, confidence: float, seed: int) -> Figure:
    if left.value is None or right.value is None:
        return replace(left if left.value is None else right, name="difference")
    figure = replace(left, name="difference", value=left.value - right.value, n_labels=2 * left.n_units)
    return percentile_limits(figure, drawn, confidence, seed, "paired percentile bootstrap over units")


def _measured(name: str, measure: MeasureOf, verdicts: FloatArray) -> Figure:
    value = measure(verdicts, np.arange(verdicts.size))
    if not np.isfinite(value):
        return Figure(name=name, reason="Undefined: the measure has no value here.", n_units=verdicts.size)
    return Figure(name=name, value=float(value), n_units=verdicts.size, n_labels=verdicts.size)

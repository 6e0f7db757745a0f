"""What only judges have: repeats, two orders of a pair, and checklists that can be switched on and off.

Sources: 000, sections 3 and 6.1 (direct scores, position bias, ablation of items); CheckEval (001), section 4
(stability over judges).
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from judging.agreement.consensus import ROUNDING, rounded_mean
from judging.agreement.intervals import Method, alpha_with_interval
from judging.agreement.means import mean_figure
from judging.agreement.patterns import Histogram
from judging.agreement.result import Figure

Effect = Literal["positive", "neutral", "negative"]
PAIRWISE_MARGIN = 0.3
DIRECT_MARGIN = 1.5


class Stability(NamedTuple):
    """Mean and population variance over judges of their correlation with people."""

    mean: float
    variance: float
    judges: int


def direct_agreement(
    units: Iterable[tuple[Sequence[float], Sequence[float]]],
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """Ordinal alpha between the judge's and the people's final scores.

    units  per unit the judge's repeats and the people's scores; a final score is the mean, rounded half up. A unit
           without scores on one side is missing.
    """
    labels: list[tuple[Hashable, Hashable, float]] = []
    for unit, sides in enumerate(units):
        labels += [(unit, rater, float(rounded_mean(side))) for rater, side in enumerate(sides) if len(side)]
    return alpha_with_interval(Histogram.from_labels(labels), "ordinal", method, confidence, seed, replicates)


def changed_with_order(
    verdicts: Iterable[tuple[Hashable | None, Hashable | None]],
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """The share of pairs on which the judge says something else when the two responses change places.

    verdicts  per pair the verdict in either order, turned back to the original one; None where it is unreadable,
              and then the pair is missing
    """
    rows = list(verdicts)
    read = [first != second for first, second in rows if first is not None and second is not None]
    counts = np.array([len(read) - sum(read), sum(read)], dtype=np.int64)
    template = Figure(
        name="changed with the order",
        value=0.0,
        n_units=len(read),
        n_labels=2 * len(read),
        missing=len(rows) - len(read),
    )
    changed = np.array([0.0, 1.0])[counts > 0]
    settings = (method, confidence, seed, replicates)
    return mean_figure(template, changed, counts[counts > 0], *settings, highest=1.0)


def stability(correlations: Sequence[float]) -> Stability:
    """Stability over at least one judge. Raises ValueError without any."""
    if not correlations:
        raise ValueError("Stability needs the correlation of at least one judge.")
    values = np.asarray(correlations, dtype=np.float64)
    return Stability(float(values.mean()), float(values.var()), values.size)


def checklist_effect(gold: float, without: float, with_all: float, margin: float) -> Effect:
    """Did the checklist bring the judge nearer to people, by at least the margin?

    margin  0.3 for preferences, 1.5 for direct scores, as in the paper
    """
    gain = abs(gold - without) - abs(gold - with_all)
    if gain >= margin - ROUNDING:
        return "positive"
    return "negative" if gain <= ROUNDING - margin else "neutral"


def item_effect(gold: float, with_all: float, without_item: float) -> Effect:
    """Does the judge get further from people without this item (positive), nearer (negative), or neither?"""
    change = abs(gold - with_all) - abs(gold - without_item)
    if abs(change) < ROUNDING:
        return "neutral"
    return "positive" if change < 0 else "negative"

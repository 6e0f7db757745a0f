"""RocketEval: a score per response from the normalised scores of its questions (`judging.reading.probabilities`).

Source: RocketEval (003), equations 2 to 4.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from judging.agreement.resampling import FloatArray

MISSING_PROBABILITY = 0.5


class Supervised(NamedTuple):
    """scores: (responses,); item_weights: (questions,) importances that sum to 1, or all 0 if none
    mattered.
    """

    scores: FloatArray
    item_weights: FloatArray


def unsupervised_score(probabilities: Sequence[float | None], low: float, high: float) -> float | None:
    """Mean probability over the questions that have one, mapped to the label range; None if none has."""
    known = [probability for probability in probabilities if probability is not None]
    if not known:
        return None
    return math.fsum(known) / len(known) * (high - low) + low


def supervised_scores(train: ArrayLike, labels: ArrayLike, responses: ArrayLike) -> Supervised:
    """Scores of responses from labelled training responses to the same instruction.

    train, responses  (training responses, questions) and (responses, questions); nan becomes 0.5
    labels            (training responses,)

    Extremely randomised trees as in the paper: 10 trees of depth 2, random state 42. The responses to
    score must not be among the training ones; the caller knows them, this function does not.
    """
    # Imported here because it takes a second, and of all the statistics only this one needs it.
    from sklearn.ensemble import ExtraTreesRegressor

    known, wanted = _filled(train), _filled(responses)
    goals = np.asarray(labels, dtype=np.float64)
    if goals.shape != known.shape[:1] or not goals.size:
        raise ValueError(f"There are {goals.size} labels for {len(known)} training responses.")
    if known.shape[1] != wanted.shape[1]:
        raise ValueError(f"Training has {known.shape[1]} questions and the responses have {wanted.shape[1]}.")
    forest = ExtraTreesRegressor(n_estimators=10, max_depth=2, random_state=42)  # type: ignore[no-untyped-call]
    forest.fit(known, goals)
    scores = forest.predict(wanted) if len(wanted) else []  # type: ignore[no-untyped-call]
    return Supervised(np.asarray(scores, dtype=np.float64), np.asarray(forest.feature_importances_, dtype=np.float64))


def supervision_weight(labels: Sequence[int], low: int, high: int) -> float:
    """How far the supervised score is trusted, 0 to 1: 1 - KL(labels || uniform) / log(levels).

    0 where all labels are the same, 1 where every level of ``low..high`` occurs equally often. Raises
    ValueError without labels, for a label off the range, and for a range of one level.
    """
    levels = high - low + 1
    if levels < 2:
        raise ValueError(f"A label range from {low} to {high} has fewer than two levels.")
    if not labels:
        raise ValueError("The weight of the supervised score needs at least one label.")
    strange = [label for label in labels if not low <= label <= high]
    if strange:
        raise ValueError(f"The label {strange[0]} is not in the range {low} to {high}.")
    shares = [count / len(labels) for _, count in sorted(Counter(labels).items())]
    divergence = math.fsum(share * math.log(share * levels) for share in shares)
    return min(1.0, max(0.0, 1.0 - divergence / math.log(levels)))


def combined_score(unsupervised: float, supervised: float, weight: float) -> float:
    """(1 - weight) * unsupervised + weight * supervised."""
    return (1.0 - weight) * unsupervised + weight * supervised


def _filled(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError("Probabilities are a table with a row for each response and a column for each question.")
    return np.where(np.isnan(array), MISSING_PROBABILITY, array)

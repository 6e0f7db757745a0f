"""One value out of several: majorities, rounded means, and preferences on the sliding scale."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal, TypeVar

Preference = Literal["loss", "tie", "win"]
PREFERENCES: tuple[Preference, ...] = ("loss", "tie", "win")
"""In ascending order, so that the distance of two preferences is the distance of their places."""

ROUNDING = 1e-9
"""Scores and their means are decimals that floating point cannot hold: a difference that falls short of a margin by
less than this reaches it (4.3 - 4.2 is 0.1)."""

T = TypeVar("T", bound=Hashable)


def majority(values: Sequence[T]) -> T | None:
    """The value that more than half of the raters gave; None if there is none."""
    if not values:
        return None
    value, count = Counter(values).most_common(1)[0]
    return value if 2 * count > len(values) else None


def plurality(values: Sequence[T]) -> T | None:
    """The value that was given most often; None if several were, or no value at all."""
    ranked = Counter(values).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def majority_preference(preferences: Sequence[str]) -> str:
    """The preference of more than half of the raters; without such a majority it is a tie."""
    return majority(preferences) or "tie"


def preference_from_mean(mean: float) -> Preference:
    """Bin the mean of the sliding scale: win for 1 <= m < 2.5, tie for 2.5 <= m <= 3.5, loss for 3.5 < m
    <= 5.

    1 says that the first response is much better and 5 that the second is. Raises ValueError outside of 1
    to 5.
    """
    if not 1.0 <= mean <= 5.0:
        raise ValueError(f"{mean:g} is not a mean of preferences from 1 to 5.")
    if mean < 2.5:
        return "win"
    return "tie" if mean <= 3.5 else "loss"


def preference_from_scores(first: float, second: float, margin: float = 0.0) -> Preference:
    """The preference that two scores of one protocol imply.

    Scores that differ by no more than 0, or by less than a positive margin, are a tie.
    """
    gap = first - second
    if gap == 0.0 or abs(gap) < margin - ROUNDING:
        return "tie"
    return "win" if gap > 0 else "loss"


def round_half_up(value: float) -> int:
    """The nearest whole number, and the greater of two that are equally near."""
    return math.floor(value + 0.5)


def rounded_mean(values: Sequence[float]) -> int:
    """The mean of at least one score, rounded half up. Sums with ``fsum``, so the order does not matter."""
    return round_half_up(math.fsum(values) / len(values))

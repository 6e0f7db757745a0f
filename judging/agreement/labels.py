"""The one thing that the agreement code sees of the rest of the application."""

from collections.abc import Hashable
from typing import NamedTuple

Value = float | str


class Label(NamedTuple):
    """One rater's value for one unit.

    ``value`` is a number (scores, preferences, probabilities) or a string (categories, answers).
    """

    unit: Hashable
    rater: Hashable
    value: Value


def shown(value: Value) -> str:
    """The value as a person writes it: ``3`` and not ``3.0``."""
    return value if isinstance(value, str) else f"{value:.12g}"

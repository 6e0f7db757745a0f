"""JSON schemas of replies. What the judge thinks stands before what it decides, so that it thinks first.

Every object requires all its properties and allows no others, which is what endpoints mean by a strict schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TEXT: dict[str, Any] = {"type": "string"}


def properties(**named: dict[str, Any]) -> dict[str, Any]:
    """An object with these properties, in this order."""
    return {"type": "object", "properties": named, "required": list(named), "additionalProperties": False}


def one_of(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


def numbered_answers(count: int, *words: str) -> dict[str, Any]:
    """An answer, one of these words, for each number from 1."""
    return properties(**{str(number): one_of(*words) for number in range(1, count + 1)})


def score_of(scores: Sequence[int]) -> dict[str, Any]:
    return {"type": "integer", "enum": list(scores)}


def reasoned_score(scores: Sequence[int], *, reasons: bool) -> dict[str, Any]:
    score = score_of(scores)
    return properties(reasons=TEXT, score=score) if reasons else properties(score=score)

"""The kinds of rounds: what a unit is, and what people are asked about it, in the order in which they answer.

A new kind is one entry here, with the partial templates of its parts in templates/annotate/labels/.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from django.db import models
from django.utils.translation import gettext_lazy as _

Unit = Literal["response", "pair", "item"]
Part = Literal["questions", "score", "preference", "effect", "writing"]


class Kind(models.TextChoices):
    CHECK_THEN_SCORE = "check_then_score", _("Check, then score")
    DIRECT_SCORING = "direct_scoring", _("Direct scoring")
    CHECKLIST_ANSWERING = "checklist_answering", _("Checklist answering")
    PREFERENCE = "preference", _("Preference")
    PAIRWISE_CHECKLIST = "pairwise_checklist", _("Pairwise with checklist")
    CHECKLIST_WRITING = "checklist_writing", _("Checklist writing")


@dataclass(frozen=True)
class Shape:
    """What one task of a kind is about, and the parts of its form; a later part waits for the earlier ones."""

    unit: Unit
    parts: tuple[Part, ...]
    about: Any


SHAPES = {
    # Cook et al. 2024 (TICK), appendix H.4: every question, then the score, then whether the checklist helped.
    Kind.CHECK_THEN_SCORE: Shape(
        "response",
        ("questions", "score", "effect"),
        _("every question of the checklist, then a score, then whether the checklist helped"),
    ),
    Kind.DIRECT_SCORING: Shape("response", ("score",), _("a score alone")),
    Kind.CHECKLIST_ANSWERING: Shape("response", ("questions",), _("the questions of the checklist alone")),
    Kind.PREFERENCE: Shape("pair", ("preference",), _("which of two responses is better, in five steps")),
    Kind.PAIRWISE_CHECKLIST: Shape(
        "pair",
        ("questions", "preference"),
        _("every question for each of two responses, then which one is better"),
    ),
    # Cook et al. 2024 (TICK), appendix H.1.
    Kind.CHECKLIST_WRITING: Shape("item", ("writing",), _("annotators write the questions for an instruction")),
}

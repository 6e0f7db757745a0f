"""Checklist, then score: one call answers every question, then scores the response (paper 000, figure 23)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from judging import reading
from judging.models import Call
from judging.protocols import schemas
from judging.protocols.base import (
    Outcome,
    Protocol,
    Setup,
    Unit,
    answers_to,
    numbered,
    questions_of,
    score_outcome,
    was_cut_off,
    whole_checklist,
    whole_values,
)


class ChecklistThenScore(Protocol):
    name = "checklist_then_score"
    title = _("Checklist, then score")
    description = _(
        "Asks in one call for yes, no or not applicable on each question of the checklist, and then for one whole "
        "number on the round's scale."
    )
    needs_checklist = True
    yields = frozenset({"answers", "score"})

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        return whole_checklist(unit, repeats)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        questions = questions_of(call)
        return {**whole_values(call, setup), "checklist": numbered(questions), "count": str(len(questions))}

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        return schemas.properties(
            answers=schemas.numbered_answers(len(questions_of(call)), "YES", "NO", "N/A"),
            score=schemas.score_of(setup.scale.scores),
        )

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        """The answers and the score are read apart: one that cannot be read takes nothing from the others."""
        questions, cut_off = questions_of(call), was_cut_off(call)
        answers = reading.numbered(call.reply, [question.text for question in questions], na=True, cut_off=cut_off)
        score = reading.score(call.reply, setup.scale.scores, cut_off=cut_off, marked=True)
        return [*answers_to(questions, answers), score_outcome(score)]

"""TICK: every question of the checklist is asked on its own, analysis first, then YES or NO (paper 002)."""

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
    answer_state,
    question_by_question,
    was_cut_off,
    whole_values,
)


class Tick(Protocol):
    name = "tick"
    title = _("TICK: one call per question")
    description = _("Asks each question of the checklist in a call of its own; the pass rate is the share of yes.")
    needs_checklist = True
    analysis_optional = True

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        return question_by_question(unit, repeats)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        assert call.question is not None  # noqa: S101
        return {**whole_values(call, setup), "question": call.question.text}

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        verdict = schemas.one_of("YES", "NO")
        if not setup.analysis:
            return schemas.properties(verdict=verdict)
        return schemas.properties(analysis=schemas.TEXT, verdict=verdict)

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        answer = reading.yes_or_no(call.reply, cut_off=was_cut_off(call))
        return [Outcome(answer_state(answer), call.question)]

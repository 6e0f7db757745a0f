"""TICK with all questions of the checklist in one call, one answer to each number (papers 000 and 001)."""

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
    was_cut_off,
    whole_checklist,
    whole_values,
)


class TickBatch(Protocol):
    name = "tick_batch"
    title = _("TICK in one call")
    description = _(
        "Asks all questions of the checklist in one call; the pass rate is the share of yes. Cheaper than one call per "
        "question, and less exact."
    )
    needs_checklist = True

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        return whole_checklist(unit, repeats)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        questions = questions_of(call)
        return {**whole_values(call, setup), "checklist": numbered(questions), "count": str(len(questions))}

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        return schemas.properties(answers=schemas.numbered_answers(len(questions_of(call)), "YES", "NO"))

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        questions = questions_of(call)
        texts = [question.text for question in questions]
        return answers_to(questions, reading.numbered(call.reply, texts, cut_off=was_cut_off(call)))

"""TICK: every question of the checklist is asked on its own, analysis first, then YES or NO (paper 002)."""

from __future__ import annotations

from collections.abc import Iterator

from annotate.models import Round
from judging import reading
from judging.models import Call
from judging.prompts import Message, template
from judging.protocols.base import Outcome, Protocol, Unit, answer_state, history_text, was_cut_off


class Tick(Protocol):
    name = "tick"
    title = "TICK: one call per question"
    description = "Asks each question of the checklist in a call of its own; the pass rate is the share of yes."
    needs_checklist = True

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        assert unit.checklist is not None  # noqa: S101 - units of this protocol carry one
        for question in unit.checklist.questions.all():
            for repeat in range(1, repeats + 1):
                yield Call(
                    item=unit.item,
                    response=unit.response,
                    checklist=unit.checklist,
                    question=question,
                    repeat=repeat,
                )

    def messages(self, call: Call, round: Round) -> list[Message]:
        assert call.response is not None  # noqa: S101
        assert call.question is not None  # noqa: S101
        return template(self.name).fill(
            {
                "history": history_text(call.item),
                "instruction": call.item.instruction,
                "response": call.response.text,
                "question": call.question.text,
            }
        )

    def read(self, call: Call, round: Round) -> list[Outcome]:
        answer = reading.yes_or_no(call.reply, cut_off=was_cut_off(call))
        return [Outcome(answer_state(answer), call.question)]

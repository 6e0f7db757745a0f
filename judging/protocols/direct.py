"""Direct scoring: a reason, then a whole number on the round's scale with its anchors (papers 002 and 000)."""

from __future__ import annotations

from collections.abc import Iterator

from annotate.models import Round
from judging import reading
from judging.models import Call, Verdict
from judging.prompts import Message, template
from judging.protocols.base import Outcome, Protocol, Unit, history_text, scale_text, was_cut_off


class Direct(Protocol):
    name = "direct"
    title = "Direct scoring"
    description = "Asks for a reason and then one whole number on the round's scale, without a checklist."
    needs_checklist = False

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        for repeat in range(1, repeats + 1):
            yield Call(item=unit.item, response=unit.response, repeat=repeat)

    def messages(self, call: Call, round: Round) -> list[Message]:
        assert call.response is not None  # noqa: S101
        return template(self.name).fill(
            {
                "history": history_text(call.item),
                "instruction": call.item.instruction,
                "response": call.response.text,
                "scale": scale_text(round.anchored_scores),
                "lowest": str(round.scale_low),
                "highest": str(round.scale_high),
            }
        )

    def read(self, call: Call, round: Round) -> list[Outcome]:
        score = reading.score(call.reply, round.scores, cut_off=was_cut_off(call))
        if score is None:
            return [Outcome(Verdict.State.UNPARSED)]
        return [Outcome(Verdict.State.SCORE, score=score)]

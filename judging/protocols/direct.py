"""Direct scoring: a reason, then a whole number on the round's scale with its anchors (papers 002 and 000)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from judging import reading
from judging.models import Call
from judging.protocols import schemas
from judging.protocols.base import Outcome, Protocol, Setup, Unit, score_outcome, was_cut_off, whole_values


class Direct(Protocol):
    name = "direct"
    title = _("Direct scoring")
    description = _("Asks for a reason and then one whole number on the round's scale, without a checklist.")
    analysis_optional = True
    yields = frozenset({"score"})

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        for repeat in range(1, repeats + 1):
            yield Call(item=unit.item, response=unit.response, repeat=repeat)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        return whole_values(call, setup)

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        return schemas.reasoned_score(setup.scale.scores, reasons=setup.analysis)

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        return [score_outcome(reading.score(call.reply, setup.scale.scores, cut_off=was_cut_off(call)))]

"""Check, then score: the checklist is shown and not answered; it guides the score and does not bound it (paper 002)."""

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
    numbered,
    questions_of,
    score_outcome,
    was_cut_off,
    whole_checklist,
    whole_values,
)


class CheckThenScore(Protocol):
    name = "check_then_score"
    title = _("Check, then score")
    description = _(
        "Shows the checklist as a guide, without asking for answers, and asks for a reason and then one whole number "
        "on the round's scale."
    )
    needs_checklist = True
    analysis_optional = True
    yields = frozenset({"score"})

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        return whole_checklist(unit, repeats)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        return {**whole_values(call, setup), "checklist": numbered(questions_of(call))}

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        return schemas.reasoned_score(setup.scale.scores, reasons=setup.analysis)

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        return [score_outcome(reading.score(call.reply, setup.scale.scores, cut_off=was_cut_off(call)))]

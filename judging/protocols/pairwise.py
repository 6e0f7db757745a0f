"""Pairwise comparison: a reason, then the better of two responses, 1 or 2 (paper 000, figure 20)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from judging import reading
from judging.models import Call, Verdict
from judging.protocols import schemas
from judging.protocols.base import (
    Outcome,
    Protocol,
    Setup,
    Unit,
    both_orders,
    choice_outcome,
    pair_values,
    was_cut_off,
)

OPTIONS = {
    **dict.fromkeys(("1", "first"), Verdict.Choice.FIRST),
    **dict.fromkeys(("2", "second"), Verdict.Choice.SECOND),
}
REASONED_CHOICE = schemas.properties(reasons=schemas.TEXT, choice=schemas.score_of([1, 2]))


class Pairwise(Protocol):
    name = "pairwise"
    title = _("The better of two responses")
    description = _(
        "Shows two responses in both orders and asks for a reason and then for the better one: there is no tie."
    )
    pairs = True
    yields = frozenset({"preference"})

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        return both_orders(unit, repeats)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        return pair_values(call, "response_1", "response_2")

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        return REASONED_CHOICE

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        return [choice_outcome(reading.choice(call.reply, OPTIONS, cut_off=was_cut_off(call)))]

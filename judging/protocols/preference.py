"""Preference: analysis of both responses, then the better one or "near-identical" (paper 002, appendix G.3)."""

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
    **dict.fromkeys(("1", "a"), Verdict.Choice.FIRST),
    **dict.fromkeys(("2", "near-identical", "near identical"), Verdict.Choice.SAME),
    **dict.fromkeys(("3", "b"), Verdict.Choice.SECOND),
}


class Preference(Protocol):
    name = "preference"
    title = _("Preference between two responses")
    description = _(
        "Shows two responses in both orders and asks which is better, or whether they are near-identical: they differ "
        "in nothing that has a meaning."
    )
    pairs = True
    analysis_optional = True
    yields = frozenset({"preference"})

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        return both_orders(unit, repeats)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        return pair_values(call, "response_a", "response_b")

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        preference = schemas.score_of([1, 2, 3])
        if not setup.analysis:
            return schemas.properties(preference=preference)
        return schemas.properties(analysis=schemas.TEXT, preference=preference)

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        return [choice_outcome(reading.choice(call.reply, OPTIONS, cut_off=was_cut_off(call)))]

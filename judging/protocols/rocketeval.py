"""RocketEval: every question is asked on its own, and its answer is the probability of yes (paper 003, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from judging.faults import CallFailed
from judging.models import Call
from judging.protocols.base import (
    Outcome,
    Protocol,
    Setup,
    Unit,
    answer_state,
    question_by_question,
    whole_values,
)
from judging.reading.probabilities import yes_no

NO_PROBABILITIES = (
    "The endpoint gave no token probabilities, which RocketEval reads: choose a judge that gives them, "
    "or a protocol that reads the text of the reply."
)


class RocketEval(Protocol):
    """Nothing but the probabilities is read: never the token that the model wrote, which would hide that they are
    missing."""

    name = "rocketeval"
    title = _("RocketEval: how likely is yes")
    description = _(
        "Asks each question of the checklist in a call of its own and takes the probability of yes from the one token "
        "of the reply. For judges that give token probabilities, small ones too."
    )
    needs_checklist = True
    needs_probabilities = True

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        return question_by_question(unit, repeats)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        assert call.question is not None  # noqa: S101
        return {**whole_values(call, setup), "question": call.question.text}

    def parameters(self, call: Call, setup: Setup) -> dict[str, Any]:
        return {"temperature": 0.0, "max_tokens": 1, "logprobs": True, "top_logprobs": setup.alternatives}

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        """Raises CallFailed where the reply came without probabilities: the same would happen to every other call."""
        first = call.alternatives[0] if call.alternatives else []
        if not first:
            raise CallFailed(NO_PROBABILITIES, endpoint_down=True)
        found = yes_no(first)
        answer = found.answer()
        probability = None if answer is None else found.probability
        return [Outcome(answer_state(answer), call.question, probability=probability, captured=found.captured)]

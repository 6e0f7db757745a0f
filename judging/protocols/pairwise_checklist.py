"""Pairwise comparison with a checklist: its questions for both responses, then the better one (paper 000, figure 21).

Where the checklist does not tell the two apart, or the reply names both or none, the judge is asked once more to look
at the whole responses (paper 004, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext_lazy as _

from judging import reading
from judging.models import Call, Verdict
from judging.prompts import Message, second_turn
from judging.protocols import schemas
from judging.protocols.base import (
    Outcome,
    Protocol,
    Setup,
    Unit,
    answers_to,
    both_orders,
    choice_outcome,
    numbered,
    pair_values,
    questions_of,
    was_cut_off,
)
from judging.protocols.pairwise import OPTIONS, REASONED_CHOICE
from judging.reading import PairAnswers


class PairwiseChecklist(Protocol):
    """The first call yields the answers about both responses, and the preference unless a second one is to follow,
    which then yields it: so each verdict has one call that it comes from, also where one of the two fails."""

    name = "pairwise_checklist"
    title = _("The better of two responses, by a checklist")
    description = _(
        "Shows two responses in both orders, asks for yes, no or not applicable on each question of the checklist for "
        "both, and then for the better one. Where the answers do not decide, it asks once more, without the checklist."
    )
    pairs = True
    needs_checklist = True
    yields = frozenset({"answers", "preference"})
    turns = 2

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        return both_orders(unit, repeats)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        return {**pair_values(call, "response_1", "response_2"), "checklist": numbered(questions_of(call))}

    def messages(self, call: Call, setup: Setup) -> list[Message]:
        if call.follows is None:
            return super().messages(call, setup)
        return second_turn(setup.template, call.follows.prompt, call.follows.reply)

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        if call.follows_id is not None:
            return REASONED_CHOICE
        answers = schemas.numbered_answers(len(questions_of(call)), "YES", "NO", "N/A")
        return schemas.properties(response_1=answers, response_2=answers, choice=schemas.score_of([1, 2]))

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        if call.follows_id is not None:
            return [choice_outcome(_choice(call))]
        answers, choice = _answers(call), _choice(call)
        outcomes = _about_both(call, answers)
        if not _undecided(answers, choice):
            outcomes.append(choice_outcome(choice))
        return outcomes

    def blank(self, call: Call, state: Verdict.State) -> list[Outcome]:
        if call.follows_id is not None:
            return [Outcome(state)]
        questions = questions_of(call)
        about_both = [Outcome(state, question, swapped=swapped) for swapped in (False, True) for question in questions]
        return [*about_both, Outcome(state)]

    def follow_up(self, call: Call, setup: Setup) -> Call | None:
        if call.follows_id is not None or not _undecided(_answers(call), _choice(call)):
            return None
        return Call(
            item=call.item,
            response=call.response,
            other=call.other,
            order=call.order,
            checklist=call.checklist,
            repeat=call.repeat,
        )


def tied(answers: PairAnswers) -> bool:
    """Whether the checklist does not tell two responses apart: their pass rates are the same on the questions that were
    answered about both. False where there is no such question: nothing was read that could be a tie."""
    both = [(first, second) for first, second in answers if first is not None and second is not None]
    first, second = (_pass_rate(side) for side in zip(*both, strict=True)) if both else (None, Fraction(0))
    return first == second


def _pass_rate(answers: tuple[str, ...]) -> Fraction | None:
    """The share of yes among yes and no; None where all are n/a."""
    yes, no = answers.count("yes"), answers.count("no")
    return Fraction(yes, yes + no) if yes + no else None


def _undecided(answers: PairAnswers, choice: Verdict.Choice | None) -> bool:
    return choice is None or tied(answers)


def _answers(call: Call) -> PairAnswers:
    return reading.pair_answers(call.reply, len(questions_of(call)), cut_off=was_cut_off(call))


def _choice(call: Call) -> Verdict.Choice | None:
    return reading.choice(call.reply, OPTIONS, listed=call.follows_id is None, cut_off=was_cut_off(call))


def _about_both(call: Call, answers: PairAnswers) -> list[Outcome]:
    """The answers about the call's response, then those about its other one, whichever was shown first."""
    questions = questions_of(call)
    first, second = [one for one, _ in answers], [two for _, two in answers]
    own, others = (first, second) if call.order == "ab" else (second, first)
    swapped = [Outcome(outcome.state, outcome.question, swapped=True) for outcome in answers_to(questions, others)]
    return [*answers_to(questions, own), *swapped]

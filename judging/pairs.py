"""What a judge says about pairs of responses: every showing turned back to one order, and all as one preference.

A pair is shown in both orders, equally often, because judges favour a place; a showing is one repeat in one order.
Source: paper 000, sections 4.3 (both orders) and 4.4 (majority; an even split is a tie).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from judging.agreement import (
    AnswerState,
    Figure,
    Preference,
    changed_with_order,
    majority,
    pass_rate,
    plurality,
)
from judging.models import Call, Run, Verdict

ORDERS = ("ab", "ba")

Pair = tuple[int, int]  # ids of two responses, in the order of the run's units

_TURNED_BACK: dict[tuple[str, str], Preference] = {
    (Verdict.Choice.FIRST, "ab"): "win",
    (Verdict.Choice.FIRST, "ba"): "loss",
    (Verdict.Choice.SAME, "ab"): "tie",
    (Verdict.Choice.SAME, "ba"): "tie",
    (Verdict.Choice.SECOND, "ab"): "loss",
    (Verdict.Choice.SECOND, "ba"): "win",
}
_READ: dict[str, AnswerState] = {Verdict.State.YES: "yes", Verdict.State.NO: "no", Verdict.State.NA: "na"}


def turned_back(choice: str, order: str) -> Preference:
    """A choice as it was said, in the order that was shown, as a win, tie or loss of the pair's first response.

    choice  of Verdict.Choice
    order   "ab": the pair's first response was shown first; "ba": its second one was

    The one place where an answer is turned back. Raises ValueError for anything else.
    """
    try:
        return _TURNED_BACK[choice, order]
    except KeyError:
        raise ValueError(f"There is no choice {choice!r} in an order {order!r}.") from None


def preference_of(verdict: Verdict) -> Preference | None:
    """What a verdict says about its response against the other one; None where it is no preference."""
    return turned_back(verdict.choice, verdict.order) if verdict.choice else None


def first_shown(call: Call) -> int | None:
    """The id of the response that a call about a pair showed first; None of any other call."""
    return {"ab": call.response_id, "ba": call.other_id}.get(call.order)


@dataclass(frozen=True, slots=True)
class Showing:
    """One repeat of a pair in one order.

    choice  as it was said, in the order that was shown; "" where none could be read
    gap     then why: "pending", "failed" or "unreadable"
    """

    order: str
    repeat: int
    choice: str = ""
    gap: str = ""

    @property
    def vote(self) -> Preference | None:
        """The choice turned back; None where there is none."""
        return turned_back(self.choice, self.order) if self.choice else None


@dataclass(frozen=True)
class Judged:
    """All that a run says about one pair.

    answers  where the protocol asks a checklist: by response and question, the states of all showings
    """

    pair: Pair
    showings: Sequence[Showing]
    answers: Mapping[tuple[int, int], Sequence[str]] = field(default_factory=dict)

    @property
    def votes(self) -> list[Preference]:
        """The readable showings, turned back."""
        return [vote for showing in self.showings if (vote := showing.vote) is not None]

    @property
    def preference(self) -> Preference | None:
        """The preference of most votes, over repeats and orders; without a majority a tie; None without any vote."""
        return _majority(self.votes)

    @property
    def orders(self) -> tuple[Preference | None, Preference | None]:
        """The preference in either order, "ab" and "ba", over its repeats; None for an order without a vote."""
        by_order = [[showing.vote for showing in self.showings if showing.order == order] for order in ORDERS]
        first, second = ([vote for vote in votes if vote is not None] for votes in by_order)
        return _majority(first), _majority(second)

    @property
    def depends_on_order(self) -> bool | None:
        """Whether the preference changes with the order; None unless there is one in both."""
        first, second = self.orders
        return None if first is None or second is None else first != second

    @property
    def gap(self) -> str:
        """Why there is no preference, by the showing that may still change that; "" where there is one."""
        if self.votes:
            return ""
        reasons = {showing.gap for showing in self.showings}
        return next((reason for reason in ("pending", "failed") if reason in reasons), "unreadable")

    def pass_rate(self, response: int) -> Figure | None:
        """PR of one response of the pair: each question by the majority of its readable showings, an even split and n/a
        missing. None where no checklist was asked."""
        asked = [states for (about, _), states in self.answers.items() if about == response]
        return pass_rate([_one_answer(states) for states in asked]) if asked else None


class Asked(NamedTuple):
    """A call about a pair, as far as it matters here."""

    response: int
    other: int
    order: str
    repeat: int
    state: str  # of Call.State


class Said(NamedTuple):
    """A verdict about a pair. `about` is the response that an answer is about, and else the first of the pair."""

    response: int
    other: int
    order: str
    repeat: int
    about: int
    question: int | None
    state: str  # of Verdict.State
    choice: str


def judged(asked: Iterable[Asked], said: Iterable[Said]) -> list[Judged]:
    """What the calls of a run and their verdicts come to, by pair, in the order in which pairs are first asked about.

    A second look belongs to the showing of the call that it follows: they share pair, order and repeat.
    """
    found: dict[Pair, dict[tuple[str, int], Showing]] = {}
    waiting: set[tuple[Pair, str, int]] = set()
    answers: dict[Pair, dict[tuple[int, int], list[str]]] = {}
    for call in asked:
        pair, place = (call.response, call.other), (call.order, call.repeat)
        found.setdefault(pair, {}).setdefault(place, Showing(*place, gap="unreadable"))
        if call.state in (Call.State.PLANNED, Call.State.LEASED):
            waiting.add((pair, *place))
            found[pair][place] = Showing(*place, gap="pending")
    for verdict in said:
        pair, place = (verdict.response, verdict.other), (verdict.order, verdict.repeat)
        if verdict.question is not None:
            answers.setdefault(pair, {}).setdefault((verdict.about, verdict.question), []).append(verdict.state)
        elif verdict.choice:
            found[pair][place] = Showing(*place, choice=verdict.choice)
        elif (pair, *place) not in waiting and verdict.state == Verdict.State.ERROR:
            found[pair][place] = Showing(*place, gap="failed")
    return [Judged(pair, list(showings.values()), answers.get(pair, {})) for pair, showings in found.items()]


def judged_in(run: Run) -> list[Judged]:
    """What a run says about every pair that it asks about. Two queries."""
    calls = run.calls.filter(other__isnull=False).order_by("position")
    asked = calls.values_list("response_id", "other_id", "order", "repeat", "state")
    verdicts = run.verdicts.filter(other__isnull=False, dimension=None).order_by("call__position", "pk")
    said = verdicts.values_list(
        "call__response_id", "call__other_id", "order", "repeat", "response_id", "question_id", "state", "choice"
    )
    return judged((Asked(*row) for row in asked), (Said(*row) for row in said))


def order_dependence(pairs: Iterable[Judged]) -> Figure:
    """The share of pairs whose preference changes with the order, with its interval: of those that have one in both
    orders, the others are missing."""
    return changed_with_order(pair.orders for pair in pairs)


def gaps(pairs: Iterable[Judged]) -> Counter[str]:
    """The numbers of showings without a choice, by reason."""
    return Counter(showing.gap for pair in pairs for showing in pair.showings if showing.gap)


def places(pairs: Iterable[Judged]) -> Counter[str]:
    """How often the response shown first, the second one, or neither was chosen, by Verdict.Choice: with both orders
    shown equally often, a judge without a liking for a place chooses both places equally often."""
    return Counter(showing.choice for pair in pairs for showing in pair.showings if showing.choice)


def _majority(votes: Sequence[Preference]) -> Preference | None:
    return (majority(votes) or "tie") if votes else None


def _one_answer(states: Sequence[str]) -> AnswerState:
    """The answer of most readable showings; where there is none, or an even split, one that counts as missing."""
    answer = plurality([_READ[state] for state in states if state in _READ])
    if answer is None:
        return "error" if set(states) == {Verdict.State.ERROR} else "unparsed"
    return answer

"""What a judge says about pairs of responses: every showing turned back to one order, and all as one preference.

A pair is shown in both orders, equally often, because judges favour a place; a showing is one repeat in one order.
Source: paper 000, sections 4.3 (both orders) and 4.4 (majority; an even split is a tie).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from judging.agreement import Preference, majority
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
    def standing(self) -> str:
        """The preference, or else why there is none."""
        return self.preference or self.gap

    @property
    def gap(self) -> str:
        """Why there is no preference, by the showing that may still change that; "" where there is one."""
        if self.votes:
            return ""
        reasons = {showing.gap for showing in self.showings}
        return next((reason for reason in ("pending", "failed") if reason in reasons), "unreadable")


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
    return _read(run.calls.all(), run.verdicts.all()).get(run.pk, [])


def judged_about(round_id: int, pair: Pair) -> dict[int, Judged]:
    """What the judging runs of a round say about one of its pairs, by run. Two queries."""
    response, other = pair
    of_round = Q(run__round=round_id, run__kind=Run.Kind.JUDGING)
    calls = Call.objects.filter(of_round, response=response, other=other)
    verdicts = Verdict.objects.filter(of_round, call__response=response, call__other=other)
    return {run: judged for run, [judged] in _read(calls, verdicts).items()}


def judged_around(calls: Sequence[Call]) -> tuple[dict[Pair, Judged], dict[Pair, Judged]]:
    """What a run says about the pairs of some of its calls: before these were settled, and now. Two queries."""
    run, pks = calls[0].run, {call.pk for call in calls}
    pairs = [Q(response=call.response_id, other=call.other_id) for call in calls]
    verdicts = [Q(call__response=call.response_id, call__other=call.other_id) for call in calls]
    asked = list(_asked(run.calls.filter(reduce(or_, pairs))))
    said = list(_said(run.verdicts.filter(reduce(or_, verdicts))))
    before = judged(
        (one._replace(state=Call.State.LEASED) if pk in pks else one for _, pk, one in asked),
        (one for _, pk, one in said if pk not in pks),
    )
    now = judged((one for _, _, one in asked), (one for _, _, one in said))
    return {one.pair: one for one in before}, {one.pair: one for one in now}


def _read(calls: QuerySet[Call], verdicts: QuerySet[Verdict]) -> dict[int, list[Judged]]:
    """By run. Two queries."""
    asked: dict[int, list[Asked]] = {}
    said: dict[int, list[Said]] = {}
    for run, _, call in _asked(calls):
        asked.setdefault(run, []).append(call)
    for run, _, verdict in _said(verdicts):
        said.setdefault(run, []).append(verdict)
    return {run: judged(calls, said.get(run, ())) for run, calls in asked.items()}


def _asked(calls: QuerySet[Call]) -> Iterator[tuple[int, int, Asked]]:
    """With the ids of run and call."""
    found = calls.filter(other__isnull=False, dimension=None).order_by("position", "pk")
    fields = ("run_id", "pk", "response_id", "other_id", "order", "repeat", "state")
    rows: Iterable[tuple[Any, ...]] = found.values_list(*fields)
    for run, pk, *row in rows:
        yield run, pk, Asked(*row)


def _said(verdicts: QuerySet[Verdict]) -> Iterator[tuple[int, int, Said]]:
    """With the ids of run and call."""
    rows = verdicts.filter(other__isnull=False, dimension=None).order_by("call__position", "pk")
    fields = ("order", "repeat", "response_id", "question_id", "state", "choice")
    for run, call, *row in rows.values_list("run_id", "call_id", "call__response_id", "call__other_id", *fields):
        yield run, call, Said(*row)


def _majority(votes: Sequence[Preference]) -> Preference | None:
    return (majority(votes) or "tie") if votes else None

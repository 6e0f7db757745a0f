"""What a judging protocol is: what is asked about a unit, and how a reply becomes verdicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from annotate.models import Checklist, Dimension, Item, Question, Response
from annotate.models.project import Scale
from judging.models import Call, Verdict
from judging.pairs import ORDERS
from judging.prompts import Message, Template

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

MOST_ALTERNATIVES = 20  # what endpoints give at most; one that gives fewer says so (see `judging.client`)


@dataclass(frozen=True)
class Unit:
    """What is judged: a response of an item, or a pair of them, with the checklist or the dimension to judge it by."""

    item: Item
    response: Response
    checklist: Checklist | None = None
    other: Response | None = None
    dimension: Dimension | None = None


@dataclass(frozen=True)
class Setup:
    """What the calls of one run share.

    template        the prompt, as pinned by the run
    scale           of the run's round, or of its project
    analysis        the judge writes its reasons before its verdict (chain of thought)
    schema          the endpoint takes a JSON schema for the reply
    alternatives    for how many alternatives of a token it is asked for probabilities; 0 for none
    """

    template: Template
    scale: Scale
    analysis: bool = True
    schema: bool = False
    alternatives: int = 0


@dataclass(frozen=True)
class Outcome:
    """One verdict of a call: an answer to a question, a score or a preference; or that it could not be read, or failed.

    `swapped`: of a pair, the answer is about the call's `other` and not about its `response`. For the rest, see
    `Verdict`.
    """

    state: str  # of Verdict.State
    question: Question | None = None
    score: float | None = None
    choice: str = ""  # of Verdict.Choice
    dimension: Dimension | None = None
    probability: float | None = None
    captured: float | None = None
    swapped: bool = False


class Protocol(ABC):
    """One way to judge. A protocol is a module of this package, a prompt of its name, and a line in its registry.

    pairs                the units are pairs of responses; each is asked about in both orders
    needs_checklist      every unit carries the checklist of its item
    by_dimension         there is one unit for each response and dimension of the project
    analysis_optional    there is a second prompt, `<name>_short`, that asks for the verdict alone
    needs_probabilities  the verdict is read from token probabilities
    yields               what one reply holds: "answers", "score", "preference"
    turns                how many calls one planned call can lead to, itself included
    """

    name: str
    title: _StrPromise
    description: _StrPromise
    pairs = False
    needs_checklist = False
    by_dimension = False
    analysis_optional = False
    needs_probabilities = False
    yields: frozenset[str] = frozenset({"answers"})
    turns = 1

    def template_name(self, *, analysis: bool = True) -> str:
        return self.name if analysis or not self.analysis_optional else f"{self.name}_short"

    @abstractmethod
    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        """Unsaved calls about one unit, calls that share a prompt prefix next to each other."""

    @abstractmethod
    def values(self, call: Call, setup: Setup) -> Mapping[str, str]:
        """What fills the placeholders of the prompt, by name."""

    def messages(self, call: Call, setup: Setup) -> list[Message]:
        """The prompt of a planned call."""
        return setup.template.fill(self.values(call, setup))

    def schema(self, call: Call, setup: Setup) -> dict[str, Any] | None:
        """The JSON schema of the reply, for endpoints that take one; None for a reply in words. It is strict: see
        `judging.protocols.schemas`."""
        return None

    def parameters(self, call: Call, setup: Setup) -> dict[str, Any]:
        """What is sent beside the judge's own parameters, or instead of them."""
        schema = self.schema(call, setup) if setup.schema else None
        if schema is None:
            return {}
        named = {"name": self.name, "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    @abstractmethod
    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        """The outcomes of an answered call, from its `reply`, `finish_reason` and `alternatives`.

        Raises faults.CallFailed where the endpoint cannot do what the protocol needs.
        """

    def blank(self, call: Call, state: Verdict.State) -> list[Outcome]:
        """The outcomes of a call that has no reply to read: those that its reply would have, all in this state."""
        asked: Sequence[Question] = ()
        if "answers" in self.yields:
            asked = [call.question] if call.question else questions_of(call)
        outcomes = [Outcome(state, question) for question in asked]
        if self.yields - {"answers"}:
            outcomes.append(Outcome(state, dimension=call.dimension))
        return outcomes

    def follow_up(self, call: Call, setup: Setup) -> Call | None:
        """An unsaved second call that an answered one makes necessary. It is asked next and shares the unit; its
        prompt is up to `messages`, which finds the first call in `call.follows`."""
        return None


def whole_values(call: Call, setup: Setup) -> dict[str, str]:
    """The values that most prompts share: the texts of the call's item and response, and the scale."""
    scale = setup.scale
    return {
        "history": history_text(call.item),
        "instruction": call.item.instruction,
        "response": call.response.text if call.response else "",
        "scale": scale_text(scale.anchored_scores),
        "lowest": str(scale.scale_low),
        "highest": str(scale.scale_high),
    }


def question_by_question(unit: Unit, repeats: int) -> Iterator[Call]:
    """A call for each question of the unit's checklist and each repeat."""
    assert unit.checklist is not None  # noqa: S101 - units of these protocols carry one
    for question in unit.checklist.questions.all():
        for repeat in range(1, repeats + 1):
            yield Call(
                item=unit.item, response=unit.response, checklist=unit.checklist, question=question, repeat=repeat
            )


def whole_checklist(unit: Unit, repeats: int) -> Iterator[Call]:
    """A call about the unit's whole checklist for each repeat."""
    assert unit.checklist is not None  # noqa: S101 - units of these protocols carry one
    for repeat in range(1, repeats + 1):
        yield Call(item=unit.item, response=unit.response, checklist=unit.checklist, repeat=repeat)


def both_orders(unit: Unit, repeats: int) -> Iterator[Call]:
    """A call about a pair for each order and each repeat: those of one order, which share their prompt, together."""
    for order in ORDERS:
        for repeat in range(1, repeats + 1):
            yield Call(
                item=unit.item,
                response=unit.response,
                other=unit.other,
                order=order,
                checklist=unit.checklist,
                repeat=repeat,
            )


def pair_values(call: Call, first: str, second: str) -> dict[str, str]:
    """The values that prompts about pairs share; the two responses under these names, in the order of the call."""
    assert call.response is not None  # noqa: S101
    assert call.other is not None  # noqa: S101 - calls about pairs have both
    shown = (call.response.text, call.other.text) if call.order == "ab" else (call.other.text, call.response.text)
    return {
        "history": history_text(call.item),
        "instruction": call.item.instruction,
        first: shown[0],
        second: shown[1],
    }


def choice_outcome(choice: Verdict.Choice | None) -> Outcome:
    """A preference as it was said, in the order that was shown."""
    return Outcome(Verdict.State.UNPARSED) if choice is None else Outcome(Verdict.State.PREFERENCE, choice=choice)


def questions_of(call: Call) -> list[Question]:
    """The questions that a call asks: of its checklist, those of its sub-dimension where it names one."""
    assert call.checklist is not None  # noqa: S101 - planned with one
    questions = call.checklist.questions.all()
    return [question for question in questions if call.subdimension in ("", question.subdimension)]


def numbered(questions: Sequence[Question]) -> str:
    """The questions for a prompt, numbered from 1, one per line."""
    return "\n".join(f"{number}. {question.text}" for number, question in enumerate(questions, start=1))


def history_text(item: Item) -> str:
    """The conversation before the instruction, one turn per paragraph; "" where there is none."""
    return "\n\n".join(f"{turn['role'].capitalize()}: {turn['content']}" for turn in item.history)


def was_cut_off(call: Call) -> bool:
    return call.finish_reason == "length"


def answer_state(answer: bool | None) -> Verdict.State:
    if answer is None:
        return Verdict.State.UNPARSED
    return Verdict.State.YES if answer else Verdict.State.NO


def answers_to(questions: Sequence[Question], answers: Sequence[str | None]) -> list[Outcome]:
    """An outcome for each question, from "yes", "no", "na" or None for what could not be read."""
    return [
        Outcome(Verdict.State(answer) if answer else Verdict.State.UNPARSED, question)
        for question, answer in zip(questions, answers, strict=True)
    ]


def score_outcome(score: int | None) -> Outcome:
    return Outcome(Verdict.State.UNPARSED) if score is None else Outcome(Verdict.State.SCORE, score=score)


def scale_text(anchored: Sequence[tuple[int, str]]) -> str:
    """The scale for a prompt, one score per line, the highest first."""
    return "\n".join(f"{score}: {anchor}" if anchor else f"{score}" for score, anchor in reversed(anchored))

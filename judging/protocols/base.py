"""What a judging protocol is: what is asked about a unit, and how a reply becomes verdicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from annotate.models import Checklist, Item, Question, Response, Round
from judging.models import Call, Verdict
from judging.prompts import Message, template


@dataclass(frozen=True)
class Unit:
    """What is judged: a response of an item, with the checklist to judge it by where there is one."""

    item: Item
    response: Response
    checklist: Checklist | None = None


@dataclass(frozen=True)
class Outcome:
    """What one call says: an answer to a question, or a score; or that it could not be read, or failed."""

    state: str  # of Verdict.State
    question: Question | None = None
    score: float | None = None


class Protocol(ABC):
    """One way to judge. A protocol is a module of this package and a line in its registry."""

    name: str
    title: str
    description: str
    needs_checklist: bool

    @property
    def prompt_version(self) -> str:
        return template(self.name).version

    @abstractmethod
    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        """Unsaved calls about one unit, calls that share a prompt prefix next to each other."""

    @abstractmethod
    def messages(self, call: Call, round: Round) -> list[Message]:
        """The prompt of a planned call."""

    @abstractmethod
    def read(self, call: Call, round: Round) -> list[Outcome]:
        """The outcomes of an answered call, from its `reply` and `finish_reason`."""

    def blank(self, call: Call, state: Verdict.State) -> list[Outcome]:
        """The outcomes of a call that has no reply to read."""
        return [Outcome(state, call.question)]


def history_text(item: Item) -> str:
    """The conversation before the instruction, one turn per paragraph; "" where there is none."""
    return "\n\n".join(f"{turn['role'].capitalize()}: {turn['content']}" for turn in item.history)


def was_cut_off(call: Call) -> bool:
    return call.finish_reason == "length"


def answer_state(answer: bool | None) -> Verdict.State:
    if answer is None:
        return Verdict.State.UNPARSED
    return Verdict.State.YES if answer else Verdict.State.NO


def scale_text(anchored: Sequence[tuple[int, str]]) -> str:
    """The scale for a prompt, one score per line, the highest first."""
    return "\n".join(f"{score}: {anchor}" if anchor else f"{score}" for score, anchor in reversed(anchored))

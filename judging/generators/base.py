"""What a checklist policy is: what is asked about an item, and how a reply becomes questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError

from annotate.models import Checklist, Item
from annotate.models.checklist import clean_questions
from judging import reading
from judging.models import Call, Judge
from judging.prompts import Message, template

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

MOST_QUESTIONS = 20  # a longer list comes from a model that goes round in circles


class Policy(ABC):
    """One way to write checklists. A policy is a module of this package and a line in its registry."""

    name: str
    title: _StrPromise
    description: _StrPromise
    temperature = 0.7
    top_p = 0.95

    @property
    def prompt_version(self) -> str:
        return template(self.name).version

    def plan(self, item: Item) -> Call:
        """An unsaved call; `repeat` numbers the item's checklists by this policy, so that a second one differs."""
        written = Checklist.objects.filter(item=item, policy=self.name).count()
        return Call(item=item, repeat=min(written + 1, 30_000))

    def parameters(self, judge: Judge, seed: int) -> dict[str, Any]:
        """Sampling is warm and seeded: an attempt after an unreadable reply has another seed, and another reply."""
        return {**judge.parameters, "temperature": self.temperature, "top_p": self.top_p, "seed": seed}

    @abstractmethod
    def messages(self, call: Call) -> list[Message]:
        """The prompt of a planned call."""

    def read(self, call: Call) -> list[str]:
        """The questions of a reply; none where it holds no checklist.

        A list that is not all questions is no checklist: dropping parts of it would hide what was asked for.
        """
        try:
            questions = clean_questions(reading.bracketed(call.reply))
        except ValidationError:
            return []
        usable = len(questions) <= MOST_QUESTIONS and all(reading.is_question(text) for text in questions)
        return questions if usable else []

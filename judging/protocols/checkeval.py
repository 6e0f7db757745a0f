"""CheckEval: the questions of a dimension, those of one sub-dimension in one call (paper 001, section 3.3)."""

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
    answers_to,
    numbered,
    questions_of,
    was_cut_off,
    whole_values,
)


class CheckEval(Protocol):
    name = "checkeval"
    title = _("CheckEval: questions of each dimension")
    description = _(
        "Answers the checklists of the project's dimensions, the questions of one sub-dimension in one call; the score "
        "of a dimension is the share of yes."
    )
    needs_checklist = True
    by_dimension = True

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        assert unit.checklist is not None  # noqa: S101 - units of this protocol carry one
        named = list(dict.fromkeys(question.subdimension for question in unit.checklist.questions.all()))
        # A checklist that is not wholly divided into sub-dimensions is asked as one.
        for subdimension in [""] if "" in named else named:
            for repeat in range(1, repeats + 1):
                yield Call(
                    item=unit.item,
                    response=unit.response,
                    checklist=unit.checklist,
                    dimension=unit.dimension,
                    subdimension=subdimension,
                    repeat=repeat,
                )

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        assert call.dimension is not None  # noqa: S101
        dimension = call.dimension
        quality = ", ".join(filter(None, (dimension.name, call.subdimension)))
        return {
            **whole_values(call, setup),
            "dimension": f"{quality}\n\n{dimension.definition}",
            "checklist": numbered(questions_of(call)),
        }

    def schema(self, call: Call, setup: Setup) -> dict[str, Any]:
        return schemas.properties(answers=schemas.numbered_answers(len(questions_of(call)), "YES", "NO"))

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        questions = questions_of(call)
        texts = [question.text for question in questions]
        return answers_to(questions, reading.numbered(call.reply, texts, cut_off=was_cut_off(call)))

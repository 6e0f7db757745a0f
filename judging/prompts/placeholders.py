"""What fills the placeholders of the prompts, in words for those who write prompts of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judging.prompts import Template, problem_with

MEANINGS: dict[str, str] = {
    "history": "the conversation before the instruction; nothing where there is none",
    "instruction": "the item's instruction",
    "reference": "the item's reference response; nothing where there is none",
    "response": "the response that is judged",
    "response_a": "the response that is shown first; each pair is asked about in both orders",
    "response_b": "the response that is shown second",
    "response_1": "the response that is shown first; each pair is asked about in both orders",
    "response_2": "the response that is shown second",
    "checklist": "the questions of the checklist, numbered, one a line",
    "question": "the one question that this call asks",
    "dimension": "name and definition of the dimension",
    "=count": "how many questions the checklist has",
    "=scale": "the scores of the scale with their anchors, one a line, the highest first",
    "=lowest": "the lowest score of the scale",
    "=highest": "the highest score of the scale",
}


@dataclass(frozen=True)
class Placeholder:
    """`written` as in the text, `{{response}}`; without a `needed` one a text is no prompt of this name."""

    written: str
    meaning: str
    fenced: bool
    needed: bool


def placeholders_of(template: Template) -> Sequence[Placeholder]:
    """Those of a template that Concord brings, in the order of their first use."""
    names = sorted(template.placeholders, key=lambda name: template.source.index(_written(name)))
    return [
        Placeholder(
            written=_written(name),
            meaning=MEANINGS[name],
            fenced=not name.startswith("="),
            needed=bool(problem_with(template.name, template.source.replace(_written(name), "text"))),
        )
        for name in names
    ]


def _written(name: str) -> str:
    return f"{{{{{name}}}}}"

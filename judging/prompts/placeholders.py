"""What fills the placeholders of the prompts, in words for those who write prompts of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from judging.prompts import Template, problem_with

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

MEANINGS = {
    "history": _("the conversation before the instruction; nothing where there is none"),
    "instruction": _("the item's instruction"),
    "reference": _("the item's reference response; nothing where there is none"),
    "response": _("the response that is judged"),
    "response_a": _("the response that is shown first; each pair is asked about in both orders"),
    "response_b": _("the response that is shown second"),
    "response_1": _("the response that is shown first; each pair is asked about in both orders"),
    "response_2": _("the response that is shown second"),
    "checklist": _("the questions of the checklist, numbered, one a line"),
    "question": _("the one question that this call asks"),
    "dimension": _("name and definition of the dimension"),
    "=count": _("how many questions the checklist has"),
    "=scale": _("the scores of the scale with their anchors, one a line, the highest first"),
    "=lowest": _("the lowest score of the scale"),
    "=highest": _("the highest score of the scale"),
}


@dataclass(frozen=True)
class Placeholder:
    """`written` as in the text, `{{response}}`; without a `needed` one a text is no prompt of this name."""

    written: str
    meaning: _StrPromise
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

"""What curators write about dimensions: definition and scale, and the questions grouped by sub-dimension."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.forms.checklists import QuestionsForm
from annotate.forms.projects import AnchorsField
from annotate.models import Checklist, Dimension, Project, Question

LONGEST_SUBDIMENSION = Question._meta.get_field("subdimension").max_length or 0
_HEADING = re.compile(r"[#＃]+(.*)")


class Asked(NamedTuple):
    """A question with the sub-dimension that it belongs to."""

    text: str
    subdimension: str


class DimensionForm(forms.ModelForm[Dimension]):
    """A dimension. The ends of its scale are fixed once responses were scored on it."""

    scale_anchors = AnchorsField(
        label=gettext_lazy("What the scores mean"),
        required=False,
        help_text=gettext_lazy("One score a line, such as “1: hard to follow”. Judges see them."),
    )

    class Meta:
        model = Dimension
        fields = ("name", "definition", "scale_low", "scale_high", "scale_anchors")
        labels = {"name": gettext_lazy("Name"), "definition": gettext_lazy("What it means")}
        help_texts = {
            "name": gettext_lazy("One quality of a response, such as “Coherence”."),
            "definition": gettext_lazy(
                "In one or two sentences: judges, and models that write questions, go by these words."
            ),
        }
        widgets = {"definition": forms.Textarea(attrs={"rows": 4})}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        if self.instance.pk is None:
            self.instance.project = project
            self.initial |= {"scale_low": project.scale_low, "scale_high": project.scale_high}
        if self.instance.is_judged:
            for name in ("scale_low", "scale_high"):
                self.fields[name].disabled = True
                self.fields[name].help_text = _("Responses were scored on it: add a dimension for another scale.")

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        same = Dimension.objects.filter(project=self.project, name=name).exclude(pk=self.instance.pk)
        if same.exists():
            raise ValidationError(_("Another dimension of this project has this name: choose a new one."))
        return name


class DimensionQuestionsForm(QuestionsForm):
    """The questions of a dimension's checklist in lines: “## Logical flow”, then the questions of that part."""

    questions = forms.CharField(
        label=gettext_lazy("Questions"),
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text=gettext_lazy(
            "A line “## Logical flow” begins a sub-dimension; below it, one question a line. "
            "Yes must always mean that the response is good in this respect."
        ),
        error_messages={"required": gettext_lazy("A checklist needs at least one question.")},
    )

    def lines_of(self, checklist: Checklist) -> list[str]:
        return lines_of(Asked(question.text, question.subdimension) for question in checklist.questions.all())

    @property
    def changed(self) -> bool:
        return lines_of(self.cleaned_data["questions"]) != self.stored

    @property
    def texts(self) -> list[str]:
        return [asked.text for asked in self.cleaned_data["questions"]]

    @property
    def subdimensions(self) -> list[str]:
        return [asked.subdimension for asked in self.cleaned_data["questions"]]

    def clean_questions(self) -> list[Asked]:  # type: ignore[override]
        return parse(str(self.cleaned_data["questions"]))


def lines_of(questions: Iterable[Asked]) -> list[str]:
    """The questions as `parse` reads them, with a blank line before every sub-dimension but the first."""
    lines: list[str] = []
    before = ""
    for text, subdimension in questions:
        if subdimension != before:
            lines += [*([""] if lines else []), f"## {subdimension}"]
            before = subdimension
        lines.append(text)
    return lines


def parse(written: str) -> list[Asked]:
    """The questions in order. Raises ValidationError with a sentence for every line that is wrong."""
    asked: list[Asked] = []
    errors: list[str] = []
    headings: dict[str, int] = {}  # the line of each sub-dimension
    seen: dict[str, int] = {}  # the line of each question
    current = ""
    for number, line in enumerate(written.splitlines(), start=1):
        text = " ".join(line.split())
        heading = _HEADING.fullmatch(text)
        if not text:
            continue
        if heading:
            current = heading[1].strip()
            errors += _wrong_heading(number, current, headings)
            headings.setdefault(current, number)
            continue
        if not headings:
            errors.append(
                _("Line %(number)d stands before the first sub-dimension: begin with a line such as “## Logical flow”.")
                % {"number": number}
            )
            break
        errors += _wrong_question(number, text, seen)
        seen.setdefault(text.casefold(), number)
        asked.append(Asked(text, current))
    filled = {question.subdimension for question in asked}
    for name, number in headings.items():
        if name and name not in filled and not errors:
            errors.append(
                _("Line %(number)d: “%(name)s” has no question. Write one below it, or remove the line.")
                % {"number": number, "name": name}
            )
    if errors:
        raise ValidationError(errors)
    if len(asked) > Question.MOST:
        raise ValidationError(
            _("A checklist has at most %(most)d questions; this one has %(number)d.")
            % {"most": Question.MOST, "number": len(asked)}
        )
    return asked


def _wrong_heading(number: int, name: str, headings: dict[str, int]) -> list[str]:
    if not name:
        return [_("Line %(number)d names no sub-dimension: write it as “## Logical flow”.") % {"number": number}]
    if len(name) > LONGEST_SUBDIMENSION:
        return [
            _("Line %(number)d: a sub-dimension has at most %(most)d characters, this one %(length)d. Shorten it.")
            % {"number": number, "most": LONGEST_SUBDIMENSION, "length": len(name)}
        ]
    if name in headings:
        return [
            _("Line %(number)d names “%(name)s” again: put its questions below line %(first)d.")
            % {"number": number, "name": name, "first": headings[name]}
        ]
    return []


def _wrong_question(number: int, text: str, seen: dict[str, int]) -> list[str]:
    if len(text) > Question.LONGEST:
        return [
            _("Line %(number)d: a question has at most %(most)d characters, this one %(length)d. Shorten it.")
            % {"number": number, "most": Question.LONGEST, "length": len(text)}
        ]
    if text.casefold() in seen:
        return [
            _("Line %(number)d asks the same as line %(first)d: remove one of them.")
            % {"number": number, "first": seen[text.casefold()]}
        ]
    return []

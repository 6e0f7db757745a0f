from __future__ import annotations

import hashlib
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.models import Checklist
from annotate.models.checklist import clean_questions


class QuestionsForm(forms.Form):
    """The questions of a checklist, one a line: quick to reword, reorder, add and remove with the keyboard alone.

    `seen` says which questions the editor had before them, so that nobody overwrites what somebody else saved
    meanwhile. `language` is the code of the language that they are written in, "" where it is unknown.
    """

    questions = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 10}),
        label=gettext_lazy("Questions"),
        help_text=gettext_lazy("One question a line. Yes must always mean that a requirement is met."),
        error_messages={"required": gettext_lazy("A checklist needs at least one question.")},
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, checklist: Checklist | None = None, language: str = "", **kwargs: Any) -> None:
        self.stored = [] if checklist is None else self.lines_of(checklist)
        kwargs.setdefault("initial", {"questions": "\n".join(self.stored), "seen": fingerprint(self.stored)})
        super().__init__(*args, **kwargs)
        if not self.stored:
            del self.fields["seen"]
        self.fields["questions"].widget.attrs |= {"rows": max(10, len(self.stored) + 3), "lang": language}

    def lines_of(self, checklist: Checklist) -> list[str]:
        """The stored questions as they stand in the box."""
        return [question.text for question in checklist.questions.all()]

    @property
    def changed(self) -> bool:
        return bool(self.cleaned_data["questions"] != self.stored)

    def clean_questions(self) -> list[str]:
        return clean_questions(str(self.cleaned_data["questions"]).splitlines())

    def clean_seen(self) -> str:
        if self.cleaned_data["seen"] != fingerprint(self.stored):
            # The page that comes back shows the stored questions, so the next save is made in knowledge of them.
            self.data = {"questions": self.data.get("questions", ""), "seen": fingerprint(self.stored)}
            raise forms.ValidationError(
                _(
                    "Somebody else changed these questions meanwhile. Theirs are in the list, yours in the box: "
                    "save again to replace theirs."
                )
            )
        return str(self.cleaned_data["seen"])


def fingerprint(questions: list[str]) -> str:
    return hashlib.sha256("\n".join(questions).encode()).hexdigest()[:16]

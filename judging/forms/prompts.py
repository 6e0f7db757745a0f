"""What curators write about prompts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotate.models import Project
from judging.models import Prompt
from judging.prompts import problem_with

FEWEST_ROWS, MOST_ROWS = 16, 36


class PromptForm(forms.Form):
    """The text of a prompt. `seen` is the version that was in use when the page was loaded, so that nobody puts what
    somebody else saved meanwhile out of use without knowing."""

    source = forms.CharField(
        label=_("Parts and placeholders"),
        max_length=Prompt.LONGEST,
        strip=False,
        widget=forms.Textarea(attrs={"class": "is-code", "spellcheck": "false"}),
        help_text=_("Each part begins with a line [system], [user] or [assistant]. The judge replies to the last one."),
        error_messages={"required": _("A prompt cannot be empty: write one, or go back to the built-in text.")},
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, project: Project, name: str, source: str, seen: str = "") -> None:
        self.name = name
        self.used = Prompt.objects.of(project, name)
        super().__init__(data, initial={"source": source, "seen": seen or self.used.version})
        if self.used.follow_up:
            more = gettext("What follows [follow-up] is said after a reply that decides nothing.")
            self.fields["source"].help_text = f"{self.fields['source'].help_text} {more}"
        self.fields["source"].widget.attrs["rows"] = min(MOST_ROWS, max(FEWEST_ROWS, source.count("\n") + 3))

    def clean_source(self) -> str:
        source = str(self.cleaned_data["source"])
        if problem := problem_with(self.name, source):
            raise ValidationError(problem)
        return source

    def clean_seen(self) -> str:
        seen = str(self.cleaned_data["seen"])
        if seen != self.used.version:
            self.data = {"source": self.data.get("source", ""), "seen": self.used.version}
            raise ValidationError(
                gettext(
                    "Somebody else changed this prompt meanwhile: look at their version below, then save yours or "
                    "leave it."
                )
            )
        return seen

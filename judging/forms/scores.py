"""How the scores of a run are worked out."""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import urlencode

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.agreement import MissingPolicy


class Choice(TypedDict):
    """The arguments of `judging.scores.scores_of`."""

    missing: MissingPolicy
    supervised: bool


class ScoresForm(forms.Form):
    """A choice in the address of the page; one that is not offered is the default."""

    missing = forms.ChoiceField(
        label=_("Answers without a value"),
        required=False,
        choices=[("exclude", _("left out")), ("no", _("counted as no")), ("half", _("counted as half"))],
    )
    supervised = forms.BooleanField(label=_("With RocketEval's supervised score"), required=False)

    @property
    def choice(self) -> Choice:
        chosen = self.cleaned_data if self.is_valid() else {}
        return {"missing": chosen.get("missing") or "exclude", "supervised": bool(chosen.get("supervised"))}

    @property
    def query(self) -> str:
        """The choice as an address has it."""
        choice = self.choice
        return urlencode({"missing": choice["missing"], **({"supervised": "on"} if choice["supervised"] else {})})

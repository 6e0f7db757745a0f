"""A person's own keys on the annotation screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.keys import CHANGEABLE, KEYS, caps

TAKEN = {key.key for key in KEYS if key.fixed}


class KeysForm(forms.Form):
    """One field an action, with the key that does it, or nothing. `stored` is what belongs in `User.keys`."""

    off = forms.BooleanField(
        label=gettext_lazy("Switch the keys off"),
        required=False,
        help_text=gettext_lazy("Only Ctrl+Enter still works. Helps where a screen reader or speech input needs them."),
    )

    def __init__(self, own: dict[str, Any], data: Any = None) -> None:
        initial = {"off": bool(own.get("off"))} | {key.action: own.get(key.action, key.key) for key in CHANGEABLE}
        super().__init__(data, initial=initial)
        for key in CHANGEABLE:
            self.fields[key.action] = forms.CharField(label=key.does, max_length=1, required=False, strip=True)
            self.fields[key.action].widget.attrs |= {"size": 2, "autocapitalize": "off", "autocomplete": "off"}

    def key_fields(self) -> Iterator[BoundField]:
        for key in CHANGEABLE:
            yield self[key.action]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        does: dict[str, Any] = {}
        for key in CHANGEABLE:
            chosen = str(cleaned.get(key.action, "")).lower()
            if not chosen:
                continue
            if chosen.isdecimal() or chosen in TAKEN:
                self.add_error(key.action, _("This key has a fixed use: choose another."))
            elif not chosen.isprintable() or chosen.isspace():
                self.add_error(key.action, _("Choose a letter or a sign that the keyboard types."))
            elif chosen in does:
                taken = {"key": caps(chosen)[0], "does": does[chosen]}
                self.add_error(key.action, _("%(key)s is taken by “%(does)s”: choose another.") % taken)
            does.setdefault(chosen, key.does)
        return cleaned

    @property
    def stored(self) -> dict[str, Any]:
        """What differs from the table of keys."""
        own: dict[str, Any] = {"off": True} if self.cleaned_data["off"] else {}
        for key in CHANGEABLE:
            chosen = self.cleaned_data[key.action].lower()
            if chosen != key.key:
                own[key.action] = chosen
        return own

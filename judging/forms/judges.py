"""What researchers write about judges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotate.models import Project
from judging.models import Judge

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

# What the findings of a test, or the key that is sent, depend on.
TESTED = ("base_url", "model", "key_source", "key", "temperature", "top_p", "max_tokens", "timeout_seconds")
RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0.01, 1),
    "max_tokens": (1, 100_000),
    "timeout_seconds": (1, 3_600),
    "concurrency": (1, 256),
    "requests_per_minute": (1, 1_000_000),
    "tokens_per_minute": (1, 1_000_000_000),
}
NO_LIMIT = {"requests_per_minute", "tokens_per_minute"}
GROUPS: tuple[tuple[_StrPromise, _StrPromise | str, tuple[str, ...]], ...] = (
    (_("Endpoint"), "", ("name", "base_url", "model", "key_source", "key")),
    (_("Sampling"), _("Sent with every call of a protocol."), ("temperature", "top_p", "max_tokens")),
    (
        _("Limits"),
        _("What the endpoint can take. Calls and tokens in a minute are counted over all runs and workers together."),
        ("concurrency", "timeout_seconds", "requests_per_minute", "tokens_per_minute"),
    ),
    (
        _("Prices"),
        _("In US dollars. With 0 everywhere, costs are shown as 0."),
        ("input_price", "cached_input_price", "output_price", "hour_price"),
    ),
)


@dataclass(frozen=True)
class Group:
    """Fields of a form that belong together."""

    title: _StrPromise
    note: _StrPromise | str
    fields: list[forms.BoundField]


def price_field(label: _StrPromise, help_text: _StrPromise | str = "") -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        help_text=help_text,
        min_value=0,
        max_digits=10,
        decimal_places=4,
        initial=0,
        error_messages={
            "min_value": _("A price cannot be negative: write 0 for a model that costs nothing."),
            **dict.fromkeys(("required", "invalid"), _("Write a price as a number, 0 for a model that costs nothing.")),
            **dict.fromkeys(("max_digits", "max_whole_digits"), _("Write a price below 1,000,000 dollars.")),
            "max_decimal_places": _("Write a price with at most four decimal places."),
        },
    )


class JudgeForm(forms.ModelForm[Judge]):
    """A judge with its key, which is written and never shown.

    A stored key stays with the base URL that it was entered for: to send it elsewhere it must be entered again.
    """

    key = forms.CharField(
        label=_("Key of its own"),
        required=False,
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    input_price = price_field(_("A million input tokens"))
    cached_input_price = price_field(_("A million cached input tokens"), _("Input that the endpoint had in its cache."))
    output_price = price_field(_("A million output tokens"))
    hour_price = price_field(
        _("An hour of the model"), _("For a rented GPU: the time of a call is shared by the calls at the same time.")
    )

    class Meta:
        model = Judge
        fields = tuple(name for *_about, names in GROUPS for name in names)
        labels = {"name": _("Name"), "model": _("Model"), "temperature": _("Temperature")}
        help_texts = {
            "name": _("How the judge is called on every page and in exports."),
            "base_url": _(
                "Any OpenAI-compatible endpoint, up to /v1: https://api.openai.com/v1, or http://localhost:11434/v1."
            ),
            "model": _("The name that the endpoint knows the model by."),
            "temperature": _("0 gives the steadiest verdicts. Above 0 repeats differ from each other."),
            "top_p": _("From 0.01 to 1. It is not sent where this is empty."),
            "max_tokens": _("A reply that is cut off here is unreadable: leave room for the reasons."),
            "timeout_seconds": _("A call that takes longer has failed and is tried again."),
            "concurrency": _("By each worker. More is faster, until the endpoint refuses some; they are sent again."),
            "requests_per_minute": _("Leave it empty for no limit."),
            "tokens_per_minute": _("Input and output together. Leave it empty for no limit."),
        }
        error_messages = {"base_url": {"required": _("Write the address of the endpoint, up to /v1.")}}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        for name, (low, high) in RANGES.items():
            sentence = (
                gettext("Write a number from %(low)s to %(high)s, or leave it empty for no limit.")
                if name in NO_LIMIT
                else gettext("Write a number from %(low)s to %(high)s.")
            ) % {"low": low, "high": f"{high:,}"}
            field = self.fields[name]
            field.validators = [MinValueValidator(low, sentence), MaxValueValidator(high, sentence)]
            field.widget.attrs |= {"min": low, "max": high}
            field.error_messages |= dict.fromkeys(("required", "invalid"), sentence)
        judge = self.instance
        # Validation writes into the instance, so what is stored now is noted first.
        self._stored_url = judge.base_url.rstrip("/")
        self._stored_model = judge.model
        self._has_key = bool(judge.encrypted_key)
        self.fields["key"].help_text = (
            gettext("A key is stored, and never shown. Leave this empty to keep it.")
            if self._has_key
            else gettext("Stored encrypted, and never shown again. Only for the third choice above.")
        )

    def groups(self) -> Iterator[Group]:
        """The fields as the page shows them."""
        for title, note, names in GROUPS:
            yield Group(title, note, [self[name] for name in names])

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Judge.objects.filter(project=self.project, name=name).exclude(pk=self.instance.pk).exists():
            raise ValidationError(gettext("Another judge of this project has this name: write a different one."))
        return name

    def clean_model(self) -> str:
        model: str = self.cleaned_data["model"]
        if self.instance.pk and model != self._stored_model and self.instance.runs.exists():
            sentence = gettext("Runs of this judge were made with %(model)s: add another judge for another model.")
            raise ValidationError(sentence % {"model": self._stored_model})
        return model

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValidationError(gettext("A key has no spaces and no special letters: copy it once more."))
        return key

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        source, key = cleaned.get("key_source"), cleaned.get("key")
        if source != Judge.KeySource.STORED:
            if key:
                self.add_error("key", gettext("Choose “A key of its own” above to store this key, or leave it empty."))
        elif not key and "key" in cleaned:
            if not self._has_key:
                self.add_error("key", gettext("Enter the key, or choose another kind of key above."))
            elif "base_url" in cleaned and cleaned["base_url"].rstrip("/") != self._stored_url:
                self.add_error(
                    "key", gettext("The base URL has changed: enter the key again, so that it goes there on purpose.")
                )
        return cleaned

    def save(self, commit: bool = True) -> Judge:
        judge = self.instance
        judge.project = self.project
        if judge.key_source != Judge.KeySource.STORED:
            judge.encrypted_key = ""
        elif self.cleaned_data["key"]:
            judge.store_key(self.cleaned_data["key"])
        if set(self.changed_data) & set(TESTED):
            judge.forget_test()
        return super().save(commit)

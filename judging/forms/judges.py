"""What researchers write about judges."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator

from annotate.models import Project
from judging.models import Judge

# What the findings of a test, or the key that is sent, depend on.
TESTED = ("base_url", "model", "key_source", "key", "temperature", "max_tokens", "timeout_seconds")
RANGES: dict[str, tuple[int, int]] = {
    "temperature": (0, 2),
    "max_tokens": (1, 100_000),
    "timeout_seconds": (1, 3_600),
    "concurrency": (1, 256),
}


def price_field(label: str, help_text: str = "") -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        help_text=help_text,
        min_value=0,
        max_digits=10,
        decimal_places=4,
        initial=0,
        error_messages={"min_value": "A price cannot be negative: write 0 for a model that costs nothing."},
    )


class JudgeForm(forms.ModelForm[Judge]):
    """A judge with its key, which is written and never shown.

    A stored key stays with the base URL that it was entered for: to send it elsewhere it must be entered again.
    """

    key = forms.CharField(
        label="Key of its own",
        required=False,
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    input_price = price_field("Input price", "US dollars for a million tokens. With 0 the cost is shown as 0.")
    cached_input_price = price_field("Cached input price", "For input that the endpoint had in its cache.")
    output_price = price_field("Output price")

    class Meta:
        model = Judge
        fields = (
            "name",
            "base_url",
            "model",
            "key_source",
            "key",
            "temperature",
            "max_tokens",
            "timeout_seconds",
            "concurrency",
            "input_price",
            "cached_input_price",
            "output_price",
        )
        help_texts = {
            "name": "How the judge is called on every page and in exports.",
            "base_url": "Any OpenAI-compatible endpoint, up to /v1: https://api.openai.com/v1, or http://localhost:11434/v1.",
            "model": "The name that the endpoint knows the model by.",
            "temperature": "0 gives the steadiest verdicts. Above 0 repeats differ from each other.",
            "max_tokens": "A reply that is cut off here is unreadable: leave room for the reasons.",
            "timeout_seconds": "A call that takes longer has failed and is tried again.",
            "concurrency": "More is faster, until the endpoint refuses some: they are then sent again later.",
        }
        error_messages = {"base_url": {"required": "Write the address of the endpoint, up to /v1."}}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        for name, (low, high) in RANGES.items():
            sentence = f"Write a number from {low} to {high:,}."
            field = self.fields[name]
            field.validators = [MinValueValidator(low, sentence), MaxValueValidator(high, sentence)]
            field.widget.attrs |= {"min": low, "max": high}
        judge = self.instance
        # Validation writes into the instance, so what is stored now is noted first.
        self._stored_url = judge.base_url.rstrip("/")
        self._stored_model = judge.model
        self._has_key = bool(judge.encrypted_key)
        self.fields["key"].help_text = (
            "A key is stored, and never shown. Leave this empty to keep it."
            if self._has_key
            else "Stored encrypted, and never shown again. Only for the third choice above."
        )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Judge.objects.filter(project=self.project, name=name).exclude(pk=self.instance.pk).exists():
            raise ValidationError("Another judge of this project has this name: write a different one.")
        return name

    def clean_model(self) -> str:
        model: str = self.cleaned_data["model"]
        if self.instance.pk and model != self._stored_model and self.instance.runs.exists():
            raise ValidationError(
                f"Runs of this judge were made with {self._stored_model}: add another judge for another model."
            )
        return model

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValidationError("A key has no spaces and no special letters: copy it once more.")
        return key

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        source, key = cleaned.get("key_source"), cleaned.get("key")
        if source != Judge.KeySource.STORED:
            if key:
                self.add_error("key", "Choose “A key of its own” above to store this key, or leave it empty.")
        elif not key and "key" in cleaned:
            if not self._has_key:
                self.add_error("key", "Enter the key, or choose another kind of key above.")
            elif "base_url" in cleaned and cleaned["base_url"].rstrip("/") != self._stored_url:
                self.add_error(
                    "key", "The base URL has changed: enter the key again, so that it goes there on purpose."
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

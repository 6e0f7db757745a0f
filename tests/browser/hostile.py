"""The filled world with a payload in every text that people or models can write, in rows of every kind."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import IntegrityError, models, transaction

from annotate.models import Checklist, Item, Question, Upload
from tests.browser.filled import FilledWorld
from tests.browser.payloads import payloads

# What the site alone writes, by model and field: everything else is filled, a field that is added later as well.
MACHINE = {
    "annotation.exposure",
    "answer.value",
    "call.cache_key",
    "call.lease_token",
    "call.order",
    "call.parameters",
    "cell.judge",
    "cell.pattern",
    "heartbeat.worker",
    "invitation.digest",
    "item.language",  # a code, checked where it comes in
    "judge.abilities",
    "judge.encrypted_key",
    "loginattempt.key",
    "project.slug",
    "prompt.name",
    "prompt.version",
    "round.comment_for",
    "round.language",
    "run.language",
    "run.method",
    "run.options",
    "run.prompt_version",
    "snapshot.figures",
    "user.email",
    "user.language",
    "user.password",
    "verdict.order",
}
# Words of the site in values of JSON, which stand for an answer or a speaker.
WORDS = {"", "yes", "no", "na", "unsure", "easier", "none", "harder", "user", "assistant", "system"}
BEFORE = {"judge.base_url": "https://judge.invalid/"}
AFTER = {"upload.filename": ".jsonl"}
WHOLE = 3  # rows of a model whose long texts hold all payloads; those of the others hold a few
A_FEW = 300  # characters


class Turns:
    """Hands out the payloads in turns, so that every field gets to every payload that fits."""

    def __init__(self) -> None:
        self.payloads = payloads()
        self._next: dict[str, int] = defaultdict(int)

    def text(self, field: str, longest: int) -> str:
        """Payloads up to this many characters, beginning with the one that the field has not had for longest."""
        taken = ""
        for _ in self.payloads:
            payload = self.payloads[self._next[field] % len(self.payloads)]
            if taken and len(taken) + 2 + len(payload) > longest:
                break
            self._next[field] += 1
            if len(payload) <= longest:
                # A blank line ends what Markdown would let a payload swallow of the next one.
                taken += "\n\n" * bool(taken) + payload
        return taken

    def value(self, field: str, old: Any, longest: int) -> Any:
        """A value of JSON with payloads in the place of its texts."""
        if isinstance(old, str):
            return old if old in WORDS else self.text(field, longest)
        if isinstance(old, list):
            return [self.value(field, one, longest) for one in old]
        if isinstance(old, dict):
            return {key: self.value(field, one, longest) for key, one in old.items()}
        return old


class HostileWorld(FilledWorld):
    def __init__(self, slug: str) -> None:
        super().__init__(slug)
        turns = Turns()
        self._add_items(len(turns.payloads))
        for model in (*apps.get_app_config("annotate").get_models(), *apps.get_app_config("judging").get_models()):
            fill(model, turns)
        Item.objects.filter(pk=self.item.pk).update(metadata={text: text for text in turns.payloads})
        self._choose_file(turns)
        for thing in vars(self).values():
            if isinstance(thing, models.Model):
                thing.refresh_from_db()

    def _add_items(self, number: int) -> None:
        """As many items as payloads, each with a category of its own; with drafts of checklists."""
        made = Item.objects.bulk_create(
            Item(project=self.project, external_id=f"extra-{n}", instruction="-", category="-") for n in range(number)
        )
        drafts = Checklist.objects.bulk_create(Checklist(item=item, version=1) for item in made[: number // 2])
        Question.objects.bulk_create(Question(checklist=draft, position=1, text="-") for draft in drafts)

    def _choose_file(self, turns: Turns) -> None:
        """An import to be previewed whose texts are payloads."""
        rows = [
            {
                "external_id": f"{payload} file",
                "instruction": payload,
                "reference": payload,
                "category": payload[:100],
                "metadata": {payload: payload},
                "responses": [{"system": payload[:100], "text": payload}],
                "checklist": {"questions": [payload]},
            }
            for payload in turns.payloads[::40]
        ]
        Upload.objects.update(content="\n".join(json.dumps(row) for row in rows).encode())


def texts_of(model: type[models.Model]) -> Iterator[tuple[str, Any]]:
    """The fields of a model that people or models can fill, with their full names."""
    for field in model._meta.concrete_fields:
        name = f"{model._meta.model_name}.{field.name}"
        is_text = isinstance(field, models.CharField | models.TextField | models.JSONField)
        if is_text and not field.choices and name not in MACHINE:
            yield name, field


def fill(model: type[models.Model], turns: Turns) -> None:
    fields = dict(texts_of(model))
    for place, row in enumerate(model._default_manager.order_by("pk") if fields else ()):
        values = {}
        for name, field in fields.items():
            before, after = BEFORE.get(name, ""), AFTER.get(name, "")
            longest = field.max_length or (100_000 if place < WHOLE else A_FEW)
            if isinstance(field, models.JSONField):
                values[field.name] = turns.value(name, getattr(row, field.name), min(longest, 1000))
            else:
                # Rows that must differ do so by their numbers as well.
                after = f" {row.pk}{after}"
                values[field.name] = before + turns.text(name, longest - len(before) - len(after)) + after
        same = model._default_manager.filter(pk=row.pk)
        try:
            with transaction.atomic():
                same.update(**values)
        except IntegrityError:  # some texts must be empty in the row's state
            same.update(**{name: value for name, value in values.items() if getattr(row, name)})

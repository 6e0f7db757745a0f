"""What the prompts of a run are made of, read once for all the calls that share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from annotate.models import Checklist, Dimension, Item, Question, Response
from judging.models import Call

MOST_KEPT = 500  # of each kind: calls about the same texts are neighbours, so few are needed at once


class Texts:
    """Items, responses and checklists of the calls that a worker holds."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[int, Any]] = {}

    def attach(self, calls: Sequence[Call]) -> None:
        """Put the related rows on the calls: one query for each kind of row that is not known yet."""
        checklists = Checklist.objects.prefetch_related("questions")
        sources: dict[str, QuerySet[Any]] = {
            "item": Item.objects.all(),
            "response": Response.objects.all(),
            "other": Response.objects.all(),
            "checklist": checklists,
            "question": Question.objects.all(),
            "dimension": Dimension.objects.all(),
        }
        for name, rows in sources.items():
            kept = self._kept.setdefault(name, {})
            wanted = {pk for call in calls if (pk := getattr(call, f"{name}_id")) is not None}
            missing = wanted - kept.keys()
            if missing:
                if len(kept) > MOST_KEPT:
                    kept.clear()
                    missing = wanted
                kept |= rows.in_bulk(missing)
            for call in calls:
                pk = getattr(call, f"{name}_id")
                setattr(call, name, None if pk is None else kept[pk])

"""What people said in a round, in long form: one row per label (see docs/export-format.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotate.models import Annotation, Round

COLUMNS = (
    "round_id",
    "round",
    "kind",
    "arm",
    "task",
    "item",
    "category",
    "language",
    "response_id",
    "system",
    "annotation_id",
    "annotator_id",
    "annotator",
    "simulated",
    "facet",
    "question_id",
    "question_position",
    "question",
    "checklist_id",
    "checklist_version",
    "value",
    "effect",
    "comment",
    "surplus",
    "seconds",
    "submitted_at",
)
CHUNK = 500


def label_rows(round: Round) -> Iterator[dict[str, Any]]:
    """Every submitted label of the round under the names of `COLUMNS`, by task, annotator and question.

    An annotation's score comes before its answers. Labels of surplus annotations are included and marked.
    """
    annotations = (
        Annotation.objects.filter(task__round=round, state=Annotation.State.SUBMITTED)
        .select_related("task__item", "task__response", "task__checklist", "annotator")
        .defer(  # the long texts, which no row carries
            "exposure",
            "task__item__instruction",
            "task__item__history",
            "task__item__reference",
            "task__item__metadata",
            "task__response__text",
        )
        .prefetch_related("answers__question")
        .order_by("task__position", "annotator_id")
    )
    for annotation in annotations.iterator(chunk_size=CHUNK):
        common = _common(round, annotation)
        if annotation.score is not None:
            yield {**common, "facet": "score", "value": annotation.score}
        for answer in sorted(annotation.answers.all(), key=lambda answer: answer.question.position):
            yield {
                **common,
                "facet": "question",
                "question_id": answer.question_id,
                "question_position": answer.question.position,
                "question": answer.question.text,
                "value": answer.value,
            }


def _common(round: Round, annotation: Annotation) -> dict[str, Any]:
    """What all labels of one annotation share; the question columns are empty until a label fills them."""
    task, annotator = annotation.task, annotation.annotator
    return {
        **dict.fromkeys(COLUMNS),
        "round_id": round.pk,
        "round": round.name,
        "kind": round.kind,
        "arm": round.arm,
        "task": task.position,
        "item": task.item.external_id,
        "category": task.item.category,
        "language": task.item.language,
        "response_id": task.response_id,
        "system": task.response.system if task.response else "",
        "annotation_id": annotation.pk,
        "annotator_id": annotator.pk,
        "annotator": annotator.username,
        "simulated": annotator.is_simulated,
        "checklist_id": task.checklist_id,
        "checklist_version": task.checklist.version if task.checklist else None,
        "effect": annotation.effect,
        "comment": annotation.comment,
        "surplus": annotation.surplus,
        "seconds": annotation.active_seconds,
        "submitted_at": annotation.submitted_at.isoformat() if annotation.submitted_at else None,
    }

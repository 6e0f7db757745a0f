"""What people said in a round, in long form: one row per label (see docs/export-format.md)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from django.db.models import Prefetch, QuerySet

from annotate.contents import CHECKLIST, WHOLE, Content, quote_key
from annotate.models import Adjudication, Annotation, Question, Revision, Round, Task

# New columns come last, so that those who count columns are not led astray.
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
    "source",
    "state",
    "withdrawn_because",
    "purpose",
    "shown_in",
    "other_response_id",
    "other_system",
    "left",
    "about",
    "quote",
    "flagged",
    "flag_note",
    "task_quote",
    "checklist_flagged",
    "checklist_flag_note",
    "revisions",
    "exposure",
    "adjudication_id",
    "adjudicator",
    "experiment_id",
    "experiment",
)
CHUNK = 500
TASK = ("task__item", "task__response", "task__other", "task__checklist")
LONG_TEXTS = (  # which no row carries
    "task__item__instruction",
    "task__item__history",
    "task__item__reference",
    "task__item__metadata",
    "task__response__text",
    "task__other__text",
)


def label_rows(round: Round) -> Iterator[dict[str, Any]]:
    """Every label of the round under the names of `COLUMNS`: what annotators submitted, by task, annotator and
    question; of a training set then what is expected; then the decisions of adjudicators.

    A score or a preference comes before the answers. Surplus and withdrawn labels are included and marked.
    """
    for annotation in _read(Annotation.objects.handed_in(round)):
        yield from _rows(round, annotation.task, Content.of(annotation), _by_annotator(annotation))
    for key in _read(Annotation.objects.filter(key_of__round=round)):
        yield from _rows(round, key.task, Content.of(key), {"annotation_id": key.pk, "source": "expected"})
    newest: set[int] = set()
    for decision in _read_decisions(round):
        yield from _rows(round, decision.task, Content.from_json(decision.content), _by_adjudicator(decision, newest))
        newest.add(decision.task_id)


def _read(annotations: QuerySet[Annotation]) -> Iterator[Annotation]:
    return (
        annotations.select_related(*TASK, "annotator", "assignment")
        .defer(*LONG_TEXTS)
        .prefetch_related(
            "answers", "task__checklist__questions", Prefetch("revisions", Revision.objects.only("annotation"))
        )
        .order_by("task__position", "annotator_id")
        .iterator(chunk_size=CHUNK)
    )


def _read_decisions(round: Round) -> Iterator[Adjudication]:
    """Of each task the newest first: it is the one that counts."""
    return (
        Adjudication.objects.filter(task__round=round)
        .select_related(*TASK, "adjudicator")
        .defer(*LONG_TEXTS)
        .prefetch_related("task__checklist__questions")
        .order_by("task__position", "-decided_at", "-pk")
        .iterator(chunk_size=CHUNK)
    )


def _rows(round: Round, task: Task, content: Content, by: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The labels in one content, with all that they share."""
    common = {**dict.fromkeys(COLUMNS), **_of_task(round, task), **_of_content(content), **by}
    for facet, value in (("score", content.score), ("preference", content.preference)):
        if value is not None:
            yield {**common, "facet": facet, "value": value}
    for question in task.checklist.questions.all() if task.checklist else ():
        for about, answers in (("response", content.answers), ("other", content.other_answers)):
            if question.pk in answers:
                yield {**common, **_of_question(question, about, content), "value": answers[question.pk]}
    if content.written:
        yield {**common, "facet": "safe", "value": content.written.safe}
        yield {**common, "facet": "sensible", "value": content.written.sensible}
        yield {**common, "facet": "checklist", "value": list(content.written.questions)}


def _of_task(round: Round, task: Task) -> dict[str, Any]:
    return {
        "round_id": round.pk,
        "round": round.name,
        "kind": round.kind,
        "arm": round.arm,
        "experiment_id": round.experiment_id,
        "experiment": round.experiment.name if round.experiment else "",
        "purpose": round.purpose,
        "task": task.position,
        "item": task.item.external_id,
        "category": task.item.category,
        "language": task.item.language,
        "response_id": task.response_id,
        "system": task.response.system if task.response else "",
        "other_response_id": task.other_id,
        "other_system": task.other.system if task.other else "",
        "left": None if task.swapped is None else "other" if task.swapped else "response",
        "checklist_id": task.checklist_id,
        "checklist_version": task.checklist.version if task.checklist else None,
    }


def _of_content(content: Content) -> dict[str, Any]:
    return {
        "effect": content.effect,
        "comment": content.comment,
        "task_quote": content.quotes.get(WHOLE, ""),
        "checklist_flagged": CHECKLIST in content.flags,
        "checklist_flag_note": content.flags.get(CHECKLIST, ""),
    }


def _of_question(question: Question, about: str, content: Content) -> dict[str, Any]:
    name = str(question.pk)
    return {
        "facet": "question",
        "question_id": question.pk,
        "question_position": question.position,
        "question": question.text,
        "about": about,
        "quote": content.quotes.get(quote_key(question.pk, about == "other"), ""),
        "flagged": name in content.flags,
        "flag_note": content.flags.get(name, ""),
    }


def _by_annotator(annotation: Annotation) -> dict[str, Any]:
    annotator, seat = annotation.annotator, annotation.assignment
    by = {
        "annotation_id": annotation.pk,
        "annotator_id": annotator.pk,
        "annotator": annotator.username,
        "simulated": annotator.is_simulated,
        "surplus": annotation.surplus,
        "seconds": annotation.active_seconds,
        "submitted_at": annotation.submitted_at.isoformat() if annotation.submitted_at else None,
        "source": "annotator",
        "state": annotation.state,
        "withdrawn_because": annotation.withdrawn_because,
        "shown_in": seat.shown_in_id if seat else None,
        "revisions": len(annotation.revisions.all()),
        "exposure": annotation.exposure,
    }
    # Of a checklist writer: the draft that was made of the questions.
    return by | {"checklist_id": annotation.written["checklist"]} if "checklist" in annotation.written else by


def _by_adjudicator(decision: Adjudication, newest: Container[int]) -> dict[str, Any]:
    return {
        "submitted_at": decision.decided_at.isoformat(),
        "source": "adjudicator",
        "state": "superseded" if decision.task_id in newest else "decided",
        "adjudication_id": decision.pk,
        "adjudicator": decision.adjudicator.username,
    }

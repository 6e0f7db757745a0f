"""What a run says, as rows to download: its verdicts in long form (see docs/export-verdicts.md), the scores that follow
from them, and what the questions weigh in these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judging.agreement import MissingPolicy
from judging.models import Run
from judging.pairs import first_shown, preference_of
from judging.scores import Scores, weights_of

VERDICT_COLUMNS = (
    "run",
    "judge",
    "model",
    "protocol",
    "prompt_version",
    "round_id",
    "round",
    "item",
    "category",
    "language",
    "response_id",
    "system",
    "other_id",
    "other_system",
    "checklist_id",
    "checklist_version",
    "question_id",
    "question_position",
    "question",
    "dimension",
    "subdimension",
    "repeat",
    "order",
    "first_shown",
    "state",
    "score",
    "choice",
    "preference",
    "probability",
    "captured",
    "error",
    "reply",
    "finish_reason",
    "call",
    "attempts",
    "from_cache",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "latency_ms",
    "finished_at",
)
SCORE_COLUMNS = (  # and then one for each score
    "run",
    "judge",
    "model",
    "protocol",
    "item",
    "category",
    "language",
    "response_id",
    "system",
    "missing_policy",
)
WEIGHT_COLUMNS = ("run", "item", "checklist_version", "question_id", "question", "weight", "even", "labelled")
CHUNK = 500


def verdict_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Every verdict of the run under the names of `VERDICT_COLUMNS`, in the order in which the calls were planned.

    `score` is empty unless `state` is "score"; `error` says why where it is "error". A call whose verdicts are several
    repeats its reply and its tokens with each of them. `choice` is what was said in the order that was shown, and
    `preference` the same turned back.
    """
    verdicts = (
        run.verdicts.select_related("call__checklist", "question", "dimension", "response__item", "other")
        .defer(  # the long texts, which no row carries
            "call__prompt",
            "call__parameters",
            "response__text",
            "other__text",
            "response__item__instruction",
            "response__item__history",
            "response__item__reference",
            "response__item__metadata",
        )
        .order_by("call__position", "pk")
    )
    common = {
        "run": run.pk,
        "judge": run.judge.name,
        "model": run.judge.model,
        "protocol": run.method,
        "prompt_version": run.prompt_version,
        "round_id": run.round_id,
        "round": run.round.name if run.round else None,
    }
    for verdict in verdicts.iterator(chunk_size=CHUNK):
        call, question, item = verdict.call, verdict.question, verdict.response.item
        yield {
            **common,
            "item": item.external_id,
            "category": item.category,
            "language": item.language,
            "response_id": verdict.response_id,
            "system": verdict.response.system,
            "other_id": verdict.other_id,
            "other_system": verdict.other.system if verdict.other else None,
            "checklist_id": call.checklist_id,
            "checklist_version": call.checklist.version if call.checklist else None,
            "question_id": verdict.question_id,
            "question_position": question.position if question else None,
            "question": question.text if question else None,
            "dimension": verdict.dimension.name if verdict.dimension else None,
            "subdimension": call.subdimension,
            "repeat": verdict.repeat,
            "order": verdict.order,
            "first_shown": first_shown(call),
            "state": verdict.state,
            "score": verdict.score,
            "choice": verdict.choice,
            "preference": preference_of(verdict),
            "probability": verdict.probability,
            "captured": verdict.captured,
            "error": call.error,
            "reply": call.reply,
            "finish_reason": call.finish_reason,
            "call": call.position,
            "attempts": call.attempts,
            "from_cache": call.from_cache,
            "input_tokens": call.input_tokens,
            "cached_tokens": call.cached_tokens,
            "output_tokens": call.output_tokens,
            "latency_ms": call.latency_ms,
            "finished_at": call.finished_at.isoformat() if call.finished_at else None,
        }


def score_columns(scores: Scores) -> list[str]:
    return [*SCORE_COLUMNS, *(column.key for column in scores.columns), "read", "missing"]


def score_rows(run: Run, scores: Scores, missing: MissingPolicy) -> Iterator[dict[str, Any]]:
    """A row for each response under the names of `score_columns`."""
    common = {
        "run": run.pk,
        "judge": run.judge.name,
        "model": run.judge.model,
        "protocol": run.method,
        "missing_policy": missing,
    }
    for row in scores.rows:
        item = row.response.item
        yield {
            **common,
            "item": item.external_id,
            "category": item.category,
            "language": item.language,
            "response_id": row.response.pk,
            "system": row.response.system,
            **row.values,
            "read": row.read,
            "missing": row.missing,
        }


def weight_rows(run: Run, scores: Scores) -> Iterator[dict[str, Any]]:
    """A row for each question under the names of `WEIGHT_COLUMNS`."""
    for one in weights_of(scores, scores.rows):
        assert one.checklist.item is not None  # noqa: S101 - by the filter
        for question, weight in one.questions:
            values = (one.checklist.item.external_id, one.checklist.version, question.pk, question.text)
            yield dict(zip(WEIGHT_COLUMNS, (run.pk, *values, weight, one.even, one.labelled), strict=True))

"""The statements of a move and of settled calls, written out.

A move runs inside a person's submit, and calls are settled hundreds of times a second: for statements as small as these
it takes several times longer to build them with the query builder than to run them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

RAISE_REVISION = "UPDATE judging_ledger SET revision = revision + 1 WHERE round_id = %s"

SERIES = """
SELECT id, kind, question_id, run_id, observed FROM judging_series
WHERE round_id = %s AND (question_id IS NULL OR question_id IN ({questions}))"""

SCORES_OF_TASK = """
SELECT said.score, said.preference, annotator.is_simulated
FROM annotate_annotation said JOIN annotate_user annotator ON annotator.id = said.annotator_id
WHERE said.task_id = %s AND said.state = 'submitted' AND NOT said.surplus AND said.annotator_id <> %s"""

ANSWERS_OF_TASK = """
SELECT answer.question_id, answer.about_other, answer.value, annotator.is_simulated
FROM annotate_annotation said JOIN annotate_user annotator ON annotator.id = said.annotator_id
JOIN annotate_answer answer ON answer.annotation_id = said.id
WHERE said.task_id = %s AND said.state = 'submitted' AND NOT said.surplus AND said.annotator_id <> %s
    AND answer.value <> 'unsure'"""

# Of every judging run of a round about one response, as `Asked` of judging.labels, after run and protocol. What is
# asked about a dimension is no part of the round.
REPLIES = """
SELECT asked.run_id, run.method, asked.id, asked.response_id, asked.question_id, asked.checklist_id,
    asked.subdimension, asked.state, verdict.question_id, verdict.state, verdict.score
FROM judging_call asked JOIN judging_run run ON run.id = asked.run_id
LEFT JOIN judging_verdict verdict ON verdict.call_id = asked.id
WHERE asked.response_id = %s AND asked.other_id IS NULL AND asked.dimension_id IS NULL
    AND run.round_id = %s AND run.kind = 'judging'"""

# Of one run, as `Asked`.
REPLIES_OF_RUN = """
SELECT asked.id, asked.response_id, asked.question_id, asked.checklist_id, asked.subdimension, asked.state,
    verdict.question_id, verdict.state, verdict.score
FROM judging_call asked LEFT JOIN judging_verdict verdict ON verdict.call_id = asked.id
WHERE asked.run_id = %s AND asked.response_id IN ({responses}) AND asked.other_id IS NULL
    AND asked.dimension_id IS NULL"""

QUESTIONS = "SELECT checklist_id, id, subdimension FROM annotate_question WHERE checklist_id IN ({checklists})"

SCORES_ABOUT = """
SELECT task.response_id, said.score, annotator.is_simulated
FROM annotate_task task JOIN annotate_annotation said ON said.task_id = task.id
JOIN annotate_user annotator ON annotator.id = said.annotator_id
WHERE task.round_id = %s AND task.response_id IN ({responses}) AND task.other_id IS NULL
    AND said.state = 'submitted' AND NOT said.surplus"""

ANSWERS_ABOUT = """
SELECT task.response_id, answer.question_id, answer.value, annotator.is_simulated
FROM annotate_task task JOIN annotate_annotation said ON said.task_id = task.id
JOIN annotate_user annotator ON annotator.id = said.annotator_id
JOIN annotate_answer answer ON answer.annotation_id = said.id
WHERE task.round_id = %s AND task.response_id IN ({responses}) AND task.other_id IS NULL
    AND said.state = 'submitted' AND NOT said.surplus AND answer.value <> 'unsure'"""

CELLS = (
    "SELECT series_id, pattern, judge, simulated, units FROM judging_cell WHERE units > 0 AND series_id IN ({series})"
)

# Rows of series, pattern, judge, simulated and a number of units that leave the cell, or come into it.
TAKE_OUT = """
UPDATE judging_cell SET units = units - gone.column5 FROM (VALUES {rows}) AS gone
WHERE series_id = gone.column1 AND pattern = gone.column2 AND judge = gone.column3 AND simulated = gone.column4
    AND units >= gone.column5"""

PUT_IN = """
INSERT INTO judging_cell (series_id, pattern, judge, simulated, units) VALUES {rows}
ON CONFLICT (series_id, pattern, judge, simulated) DO UPDATE SET units = judging_cell.units + excluded.units"""

STORE_OBSERVED = "UPDATE judging_series SET observed = CASE id {cases} END WHERE id IN ({ids})"


STORE_CALL = """
UPDATE judging_call SET state = %s, leased_until = NULL, lease_token = '', finished_at = %s, not_before = %s,
    attempts = %s, refusals = %s, error = %s, cache_key = %s, from_cache = %s, prompt = %s, parameters = %s,
    reply = %s, alternatives = %s, finish_reason = %s, input_tokens = %s, cached_tokens = %s, output_tokens = %s,
    latency_ms = %s, written_id = %s, reserved = %s
WHERE id = %s"""


def run_many(statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """The same statement for each row of parameters, in one exchange with the database where it can."""
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(statement, rows)


def places(values: Iterable[object], place: str = "%s") -> str:
    """Placeholders for the values; one that matches nothing where there are none."""
    return ", ".join(place for _ in values) or "NULL"

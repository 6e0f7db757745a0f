"""Verdicts as downloads: one row each, unread ones included, no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from annotate.models import Checklist, Project, Response, Round, User
from judging.exporting import VERDICT_COLUMNS
from judging.models import Call, Run
from tests import build
from tests.judging.build_runs import call, run_of, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


@pytest.fixture
def checklist(project: Project) -> Checklist:
    return build.checklist(build.item(project, "苔", category="writing"), "Is it short?", "Is it true?")


@pytest.fixture
def run(project: Project, checklist: Checklist) -> Run:
    """A yes, an unreadable reply that looks like a formula, and a failed call."""
    run = run_of(build.round(project, Round.Kind.CHECK_THEN_SCORE, name="Pilot"))
    first, second = checklist.questions.all()
    aster, briar = Response.objects.order_by("pk")
    verdict(run, aster, "yes", question=first)
    verdict(run, aster, "unparsed", question=second)
    verdict(run, briar, "error", question=first)
    run.calls.filter(position=2).update(reply="=HYPERLINK(1)", input_tokens=10, output_tokens=2, latency_ms=150)
    run.calls.filter(position=3).update(state="failed", error="The endpoint answered 500.")
    return run


def address(run: Run, format: str) -> str:
    return f"/projects/garden/runs/{run.pk}/verdicts.{format}"


def body(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


def test_every_verdict_is_a_line_of_json(page: Client, run: Run, checklist: Checklist) -> None:
    answer = page.get(address(run, "jsonl"))

    rows = [json.loads(line) for line in body(answer).splitlines()]
    assert answer.headers["Content-Disposition"] == f'attachment; filename="garden-run-{run.pk}-verdicts.jsonl"'
    assert [list(row) for row in rows] == [list(VERDICT_COLUMNS)] * 3
    assert [row["state"] for row in rows] == ["yes", "unparsed", "error"]
    assert [row["score"] for row in rows] == [None] * 3
    first = rows[0]
    assert (first["item"], first["system"], first["category"], first["round"]) == ("苔", "Aster", "writing", "Pilot")
    assert (first["question"], first["question_position"]) == ("Is it short?", 1)
    assert (first["checklist_id"], first["checklist_version"]) == (checklist.pk, 1)
    assert (first["judge"], first["model"], first["protocol"]) == (run.judge.name, "test-model", "tick")
    assert (rows[1]["reply"], rows[1]["input_tokens"], rows[1]["latency_ms"]) == ("=HYPERLINK(1)", 10, 150)
    assert rows[2]["error"] == "The endpoint answered 500."


def test_the_table_holds_the_same_and_runs_no_formula(page: Client, run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(body(page.get(address(run, "csv"))))))

    assert [row["state"] for row in rows] == ["yes", "unparsed", "error"]
    assert rows[1]["reply"] == "'=HYPERLINK(1)"
    assert rows[0]["score"] == ""
    assert list(rows[0]) == list(VERDICT_COLUMNS)


def test_scores_of_a_round_without_checklists(page: Client, project: Project) -> None:
    build.item(project)
    run = run_of(build.round(project), "direct", repeats=2)
    response = Response.objects.earliest("pk")
    verdict(run, response, "score", score=4, repeat=2)

    [row] = [json.loads(line) for line in body(page.get(address(run, "jsonl"))).splitlines()]

    assert (row["score"], row["repeat"], row["question"], row["checklist_version"]) == (4.0, 2, None, None)


def test_a_large_run_is_read_in_few_queries(page: Client, run: Run, django_assert_max_num_queries: Any) -> None:
    response = Response.objects.earliest("pk")
    for repeat in range(2, 32):
        verdict(run, response, "score", score=3, repeat=repeat)

    with django_assert_max_num_queries(6):
        assert len(body(page.get(address(run, "jsonl"))).splitlines()) == 33


def test_every_column_is_explained() -> None:
    text = (settings.BASE_DIR / "docs" / "export-verdicts.md").read_text(encoding="utf-8")

    assert [column for column in VERDICT_COLUMNS if f"`{column}`" not in text] == []


def test_calls_without_a_verdict_are_no_rows(page: Client, run: Run) -> None:
    call(run, Response.objects.earliest("pk"), state="planned")

    assert Call.objects.count() == 4
    assert len(body(page.get(address(run, "jsonl"))).splitlines()) == 3


def test_other_formats_roles_and_projects_are_refused(client: Client, run: Run, ann: User, bob: User) -> None:
    client.force_login(bob)
    assert client.get(address(run, "xlsx")).status_code == 404
    assert client.get(f"/projects/garden/runs/{run.pk + 1}/verdicts.csv").status_code == 404
    client.force_login(ann)
    assert client.get(address(run, "csv")).status_code == 403

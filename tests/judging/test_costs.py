"""What runs have cost, and what more of them would."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotate.models import Checklist, Project, Question, Response, Round, User
from judging.costs import projection, standings
from judging.models import Call, Run
from tests import build
from tests.judging.build_runs import run_of, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def round(project: Project) -> Round:
    for name in ("tea", "moss"):
        build.checklist(build.item(project, name, systems=("Aster",)), "Is it short?")
    return build.round(project, Round.Kind.CHECK_THEN_SCORE)


@pytest.fixture
def run(round: Round) -> Run:
    """Two calls of a thousand tokens of input each, at 2 dollars a million."""
    run = run_of(round, judge=build.judge(round.project, input_price=Decimal(2)))
    for response in Response.objects.order_by("pk"):
        verdict(run, response, "yes", question=Question.objects.get(checklist__item=response.item))
    run.calls.update(input_tokens=1000)
    return Run.objects.get(pk=run.pk)


def written(checklist: Checklist, **fields: Any) -> Call:
    """The call that wrote a checklist, and cost 0.01 dollars."""
    project = checklist.subject.project
    writer = Run.objects.create(
        project=project,
        judge=build.judge(project, output_price=Decimal(10)),
        kind="generation",
        method="ticking",
        prompt_version="v",
    )
    asked = {"item": checklist.item, "state": "done", "output_tokens": 1000, **fields}
    return Call.objects.create(run=writer, position=2, written=checklist, **asked)


def test_checklists_that_people_wrote_cost_nothing(run: Run) -> None:
    found = projection(run)
    assert (found.fixed, found.each, found.checklists, found.written) == (Decimal(0), Decimal("0.004"), 2, 0)
    assert found.of(100) == Decimal("0.4")


def test_checklists_are_paid_once_and_runs_each_time(run: Run) -> None:
    """An edited version goes back to the one that a run wrote, whose call followed another one."""
    edited = Checklist.objects.get(item__external_id="tea")
    parent = Checklist.write(edited.subject, ["Is it brief?"])
    Checklist.objects.filter(pk=edited.pk).update(parent=parent)
    call = written(parent)
    first = Call.objects.create(run=call.run, position=1, item=call.item, state="done", output_tokens=500)
    Call.objects.filter(pk=call.pk).update(follows=first)
    written(Checklist.write(edited.subject, ["Is it never asked?"]))

    found = projection(run)
    assert (found.fixed, found.checklists, found.written) == (Decimal("0.015"), 2, 1)
    assert found.rows == [(1, Decimal("0.019")), (10, Decimal("0.055")), (100, Decimal("0.415"))]


def test_the_page_of_scores_shows_the_projection(run: Run, client: Client, bob: User) -> None:
    client.force_login(bob)
    page = client.get(f"/projects/garden/runs/{run.pk}/scores/").text
    assert "Cost of more runs" in page
    assert "Checklists and 100 runs" in page
    assert "Checklists and 1 run<" in page


def test_standings_are_those_of_each_run(run: Run, round: Round, django_assert_num_queries: Any) -> None:
    idle = Run.objects.get(pk=run_of(round).pk)
    run.calls.filter(position=1).update(state="failed", error="No answer.")
    runs = list(Run.objects.select_related("judge"))
    with django_assert_num_queries(2):
        found = standings(runs)
    assert {pk: (one.progress, one.cost) for pk, one in found.items()} == {
        one.pk: (one.progress(), one.cost()) for one in (run, idle)
    }


def test_the_list_of_runs_takes_as_many_queries_for_one_as_for_many(
    run: Run, round: Round, client: Client, bob: User, django_assert_num_queries: Any
) -> None:
    client.force_login(bob)
    path = "/api/projects/garden/runs/"
    with CaptureQueriesContext(connection) as one:
        [listed] = client.get(path).json()["results"]
    queries = len(one)
    assert (listed["progress"]["done"], listed["progress"]["total"], listed["cost"]) == (2, 2, "0.0040000000")
    assert client.get(f"{path}{run.pk}/").json() == listed
    for _ in range(4):
        run_of(round)
    with django_assert_num_queries(queries):
        assert len(client.get(path).json()["results"]) == 5

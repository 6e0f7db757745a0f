"""What a run says about each response: answers by sub-dimension, pass rates, scores, and their table."""

from __future__ import annotations

import pytest

from annotate.models import Project, Question
from judging import runs, work
from judging.methods import setup_of
from judging.models import Run
from judging.protocols import PROTOCOLS
from tests import build
from tests.scripted_endpoint import Play, ScriptedEndpoint

pytestmark = pytest.mark.django_db


def worked(run: Run) -> Run:
    work.work(run.pk)
    run.refresh_from_db()
    return run


# --- CheckEval --------------------------------------------------------------------------------------------------------


def test_the_questions_of_a_sub_dimension_are_asked_in_one_call(project: Project) -> None:
    coherence = build.dimension(project, "Coherence", definition="Whether it holds together.")
    build.dimension_checklist(coherence, Flow=["Is it in order?", "Is it whole?"], Topic=["Is it about one thing?"])
    build.dimension(project, "Fluency")  # has no checklist
    build.item(project, systems=("Aster",))
    with ScriptedEndpoint() as endpoint:
        endpoint.play("1. yes\n2. no", "1. YES")
        judge = build.judge(project, endpoint.base_url, concurrency=1)
        run = worked(runs.plan_judging(project, judge, "checkeval", build.round(project)))
        first, second = (request.messages[-1]["content"] for request in endpoint.requests)
    assert "Coherence, Flow\n\nWhether it holds together." in first
    assert "1. Is it in order?\n2. Is it whole?\n" in first
    assert "Is it about one thing?" not in first
    assert "1. Is it about one thing?\n" in second
    assert first[: first.index("Flow")] == second[: second.index("Topic")]  # what the calls share comes first
    found = run.verdicts.values_list("question__text", "state", "dimension").order_by("question__position")
    assert list(found) == [
        ("Is it in order?", "yes", None),
        ("Is it whole?", "no", None),
        ("Is it about one thing?", "yes", None),
    ]


def test_a_call_that_fails_leaves_an_error_for_each_of_its_questions(project: Project) -> None:
    build.dimension_checklist(build.dimension(project), Flow=["Is it in order?", "Is it whole?"], Topic=["Is it one?"])
    build.item(project, systems=("Aster",))
    with ScriptedEndpoint() as endpoint:
        endpoint.play(Play(status=400, raw=b"{}"), "yes")
        judge = build.judge(project, endpoint.base_url, concurrency=1)
        run = worked(runs.plan_judging(project, judge, "checkeval", build.round(project)))
    assert list(run.verdicts.order_by("question__position").values_list("state", flat=True)) == [
        "error",
        "error",
        "yes",
    ]


def test_a_checklist_that_is_not_divided_is_asked_as_one(project: Project) -> None:
    made = build.dimension_checklist(build.dimension(project), Flow=["Is it in order?"], Topic=["Is it one?"])
    Question.objects.filter(checklist=made, subdimension="Topic").update(subdimension="")
    build.item(project, systems=("Aster",))
    run = runs.plan_judging(project, build.judge(project), "checkeval", build.round(project))
    [call] = run.calls.all()
    protocol = PROTOCOLS["checkeval"]
    call.reply = "1. no\n2. yes"
    assert [outcome.state for outcome in protocol.read(call, setup_of(run, protocol))] == ["no", "yes"]
    assert list(protocol.schema(call, setup_of(run, protocol))["properties"]["answers"]["properties"]) == ["1", "2"]

"""Faults of the endpoint, for every protocol: each call ends as a value, as unreadable, or as an error with reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import Q
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.models import Checklist, Project, User
from config.celery import app
from judging import circuit, claims, runs, work
from judging.generators import POLICIES
from judging.methods import method_of
from judging.models import Call, Judge, Run, Verdict
from judging.protocols import PROTOCOLS, Protocol
from judging.protocols.rocketeval import NO_PROBABILITIES
from judging.tasks import work_run
from tests import build
from tests.judging import answering
from tests.judging.working import FakeTime, states, work_to_end
from tests.scripted_endpoint import NO_REPLY, NO_VERDICT, Play, Request, ScriptedEndpoint

ATTEMPTS = 2
IN_WORDS = [name for name, protocol in PROTOCOLS.items() if not protocol.needs_probabilities]
SOUND = "sound"


@pytest.fixture(autouse=True)
def few_attempts(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few attempts, for what takes the judge's time-out; and no pause because of so many faults on purpose."""
    settings.CALL_MAX_ATTEMPTS = ATTEMPTS
    monkeypatch.setattr(claims, "MOST_REFUSALS", 3)
    monkeypatch.setattr(circuit, "FAULTS_IN_A_ROW", 10_000)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as served:
        yield served


@pytest.fixture
def judge(project: Project, endpoint: ScriptedEndpoint) -> Judge:
    return build.judge(project, endpoint.base_url, concurrency=32, timeout_seconds=1)


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest, project: Project) -> Protocol:
    found = PROTOCOLS[request.param]
    answering.dimension(project, found)
    return found


def case_of(text: str) -> str:
    """The name of the fault that a unit is to meet, which stands in its instruction."""
    return text.partition("Case: ")[2].partition(".")[0]


def play(protocol: Protocol, request: Request) -> Play:
    """The fault that the unit names, or a reply that favours."""
    case = case_of(request.prompt)
    if case in NO_REPLY:
        return NO_REPLY[case]
    if case in NO_VERDICT:
        return answering.without_probabilities_of_answers(protocol, NO_VERDICT[case])
    return answering.reply(protocol, request.messages, favourable=True)


def verdicts_from(call: Call) -> list[Verdict]:
    """The verdicts of a planned call and of the one that follows it, if one does."""
    return list(Verdict.objects.filter(Q(call=call) | Q(call__follows=call)).order_by("call__position", "pk"))


def run_of_all_faults(project: Project, judge: Judge, protocol: Protocol) -> Run:
    """One unit for each fault, and sound ones around them."""
    for case in (SOUND, *NO_REPLY, SOUND, *NO_VERDICT, SOUND):
        answering.unit(project, protocol, f"Write a line. Case: {case}.")
    return runs.plan_judging(project, judge, protocol.name)


def test_every_fault_ends_as_what_it_is_and_stops_nothing_else(
    project: Project, judge: Judge, protocol: Protocol, endpoint: ScriptedEndpoint, bob: User, client: Client
) -> None:
    endpoint.play(lambda request: play(protocol, request))
    run = work_to_end(run_of_all_faults(project, judge, protocol))
    assert run.state == Run.State.FINISHED, run.pause_reason
    planned = method_of(run)
    for call in run.calls.select_related("item", "question", "dimension", "checklist").filter(follows=None):
        case = case_of(call.item.instruction)
        verdicts = verdicts_from(call)
        assert len(verdicts) == len(planned.errors(call)), case  # one for each thing asked
        if case in NO_REPLY:
            assert {verdict.state for verdict in verdicts} == {Verdict.State.ERROR}, case
            spent = (0, claims.MOST_REFUSALS) if case.startswith("too many") else (ATTEMPTS, 0)
            assert (call.state, call.attempts, call.refusals) == (Call.State.FAILED, *spent), case
            assert call.error.endswith((".", "?", "”")), case
        elif case in NO_VERDICT:
            assert {verdict.state for verdict in verdicts} == {Verdict.State.UNPARSED}, case
            assert call.reply, case  # kept, so that it can be read again
            assert call.attempts == 1, case
        else:
            assert all(answering.is_as_told(verdict, favourable=True) for verdict in verdicts), case
        assert all((verdict.score is None) == (verdict.state != Verdict.State.SCORE) for verdict in verdicts)
    counts = run.progress()
    failed = run.calls.filter(state=Call.State.FAILED).count()
    unreadable = run.calls.filter(verdicts__state=Verdict.State.UNPARSED).distinct().count()
    assert counts["failed"] == failed > 0
    assert counts["done"] + counts["failed"] == counts["total"]
    assert sum(number for _, number in runs.failures(run)) == failed
    said = f"{counts['done']} judged ({unreadable} of them unreadable), {failed} failed"
    assert runs.summary(run) == said
    client.force_login(bob)
    assert said in client.get(f"/projects/{project.slug}/runs/{run.pk}/").content.decode()


def test_what_failed_can_be_asked_again_and_nothing_else_is(
    project: Project, judge: Judge, protocol: Protocol, endpoint: ScriptedEndpoint
) -> None:
    for case in (SOUND, "bad gateway", "refusal"):
        answering.unit(project, protocol, f"Write a line. Case: {case}.")
    endpoint.play(lambda request: play(protocol, request))
    run = work_to_end(runs.plan_judging(project, judge, protocol.name))
    before, failed = len(endpoint.requests), run.progress()["failed"]
    assert failed
    endpoint.play(lambda request: answering.reply(protocol, request.messages, favourable=True))
    assert runs.retry_failed(run) == failed
    work_to_end(run)
    assert len(endpoint.requests) == before + failed
    assert Verdict.State.ERROR not in states(run)
    assert run.verdicts.filter(state=Verdict.State.UNPARSED).exists()  # the refusal was an answer


def test_the_last_of_two_verdicts_counts(
    project: Project, judge: Judge, protocol: Protocol, endpoint: ScriptedEndpoint
) -> None:
    def changes_its_mind(request: Request) -> Play:
        first, last = (answering.reply(protocol, request.messages, favourable=which) for which in (True, False))
        return replace(last, text=f"{first.text}\n\nWait, I have to look at it again.\n\n{last.text}")

    answering.unit(project, protocol)
    endpoint.play(changes_its_mind)
    run = work_to_end(runs.plan_judging(project, judge, protocol.name))
    assert run.verdicts.exists()
    assert all(answering.is_as_told(verdict, favourable=False) for verdict in run.verdicts.all())
    if not protocol.pairs:
        assert Verdict.State.YES not in states(run)


@pytest.mark.parametrize("protocol", IN_WORDS, indirect=True)
def test_a_reply_cut_off_in_its_verdict_makes_no_value_of_it(
    project: Project, judge: Judge, protocol: Protocol, endpoint: ScriptedEndpoint
) -> None:
    def cut(request: Request) -> Play:
        whole = answering.reply(protocol, request.messages, favourable=True)
        return replace(whole, finish_reason="length")

    answering.unit(project, protocol)
    endpoint.play(cut)
    run = work_to_end(runs.plan_judging(project, judge, protocol.name))
    for call in run.calls.filter(follows=None):
        last = verdicts_from(call)[-1]
        assert last.state == Verdict.State.UNPARSED


@pytest.mark.parametrize("name", [name for name, protocol in PROTOCOLS.items() if protocol.needs_probabilities])
def test_an_endpoint_without_probabilities_pauses_the_run_and_makes_up_nothing(
    name: str, project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    for _ in range(10):
        answering.unit(project, PROTOCOLS[name])
    endpoint.play("Yes")
    run = work_to_end(runs.plan_judging(project, judge, name))
    assert (run.state, run.verdicts.count()) == (Run.State.PAUSED, 0)
    assert NO_PROBABILITIES in run.pause_reason


@pytest.mark.parametrize("policy", POLICIES)
def test_a_checklist_that_could_not_be_had_is_a_failure_with_its_reason(
    policy: str, project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    cases = [*NO_REPLY, *NO_VERDICT]
    items = [build.item(project, systems=(), instruction=f"Write a line. Case: {case}.") for case in cases]
    endpoint.play(lambda request: (NO_REPLY | NO_VERDICT)[case_of(request.messages[-1]["content"])])
    run = work_to_end(runs.plan_generation(project, judge, policy, items))
    assert run.progress()["failed"] == len(cases)
    assert not run.calls.filter(error="").exists()
    assert not Checklist.objects.filter(item__in=items).exists()


@pytest.mark.parametrize("protocol", IN_WORDS, indirect=True)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(
        st.one_of(
            st.text(max_size=20),
            st.sampled_from(
                ["Verdict: ", "Score: ", "Choice: ", "Preference: ", "YES", "no", "n/a", "1. ", "2: ", "\n"]
            ),
            st.sampled_from(
                ['{"verdict": "', '{"1": "yes", "2":', '"}', "```json\n", "[[", "3", "4.5", "99", "はい", "判定："]
            ),
        ),
        max_size=12,
    ).map("".join),
    finish=st.sampled_from(["stop", "length", "content_filter", ""]),
)
def test_no_reply_whatsoever_becomes_more_or_other_verdicts_than_were_asked_for(
    project: Project, judge: Judge, protocol: Protocol, text: str, finish: str
) -> None:
    run = Run.objects.filter(project=project).first()
    if run is None:
        answering.unit(project, protocol)
        run = runs.plan_judging(project, judge, protocol.name)
    method: Any = method_of(run)
    call = run.calls.select_related("item", "response", "other", "question", "dimension", "checklist").first()
    assert call is not None
    call.reply, call.finish_reason = text, finish
    outcomes = method.protocol.read(call, method.setup)
    said = [(one.question, one.dimension, one.swapped) for one in outcomes]
    asked = {(one.question, one.dimension, one.swapped) for one in method.errors(call)}
    assert len(set(said)) == len(said)
    left = {(None, None, False)} if method.protocol.follow_up(call, method.setup) else set()  # to the call that follows
    assert set(said) == asked - left
    scores = call.dimension.scores if call.dimension else project.scores
    for outcome in outcomes:
        assert outcome.state in Verdict.State.values
        assert outcome.score is None or outcome.score in scores
        assert bool(outcome.choice) == (outcome.state == Verdict.State.PREFERENCE)


# --- what stands around the endpoint ----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_answers_are_kept_while_the_database_is_away(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    protocol = PROTOCOLS["direct"]
    for _ in range(5):
        answering.unit(project, protocol)
    endpoint.play(lambda request: answering.reply(protocol, request.messages, favourable=True))
    run = runs.plan_judging(project, judge, protocol.name)
    time = FakeTime()

    def away(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """From the first answer on, until the worker has waited three times."""
        if endpoint.requests and len(time.slept) < 3:
            raise OperationalError("the server closed the connection unexpectedly")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(away):
        work.work(run.pk, time.clock)
    run.refresh_from_db()
    assert len(time.slept) >= 3
    assert "waits for the database" in caplog.text
    assert (run.state, states(run)) == (Run.State.FINISHED, {"score": 5})
    assert len(endpoint.requests) == 5


def test_a_broker_that_is_away_stops_nothing(
    project: Project,
    judge: Judge,
    endpoint: ScriptedEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    with ScriptedEndpoint() as gone:
        address = gone.base_url.replace("http", "redis").replace("v1", "0")
    dead = app.connection_for_write(address)
    ring: Any = work_run.apply_async
    monkeypatch.setattr(work_run, "apply_async", partial(ring, connection=dead))
    protocol = PROTOCOLS["direct"]
    answering.unit(project, protocol)
    endpoint.play(lambda request: answering.reply(protocol, request.messages, favourable=True))
    with django_capture_on_commit_callbacks(execute=True):
        run = runs.plan_judging(project, judge, protocol.name)
        work.sweep()
    assert states(work_to_end(run)) == {"score": 1}

"""Limits of a judge and of a run: never more calls, tokens or money than was allowed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.models import Project
from judging import pacing, runs, spending
from judging.models import Call, Judge, Run, Sending
from tests import build
from tests.judging.working import FakeTime, work_to_end
from tests.scripted_endpoint import Play, Request, ScriptedEndpoint, error

MINUTE = datetime.timedelta(minutes=1)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint("Score: 4") as served:
        yield served


def scored_run(project: Project, judge: Judge, responses: int, **options: object) -> Run:
    for _ in range(responses):
        build.item(project, systems=("Aster",))
    return runs.plan_judging(project, judge, "direct", build.round(project), **options)


def calls_of(judge: Judge, number: int, characters: int = 30) -> list[Call]:
    """Stored calls with a prompt of so many characters and at most ten tokens of reply."""
    run = Run.objects.create(project=judge.project, judge=judge, method="direct", prompt_version="v")
    item = build.item(judge.project)
    made = [
        Call(
            run=run,
            position=place,
            item=item,
            prompt=[{"role": "user", "content": "x" * characters}],
            parameters={"max_tokens": 10},
        )
        for place in range(1, number + 1)
    ]
    return Call.objects.bulk_create(made)


def most_in_a_minute(moments: list[datetime.datetime]) -> int:
    return max(sum(start <= moment < start + MINUTE for moment in moments) for start in moments)


def test_no_minute_sees_more_calls_than_the_judge_may_take(project: Project, endpoint: ScriptedEndpoint) -> None:
    judge = build.judge(project, endpoint.base_url, concurrency=4, requests_per_minute=7)
    run = scored_run(project, judge, responses=20)
    time = FakeTime()
    arrived: list[datetime.datetime] = []

    def play(request: Request) -> str:
        arrived.append(time.moment)
        return "Score: 4"

    endpoint.play(play)
    assert work_to_end(run, time).progress()["done"] == 20
    assert most_in_a_minute(arrived) == 7  # the limit is used, and never passed
    assert arrived[-1] - arrived[0] < 4 * MINUTE


@pytest.mark.django_db
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    limit=st.integers(1, 6),
    tokens=st.integers(20, 200),
    steps=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40), st.integers(0, 300)), min_size=1, max_size=12),
)
def test_the_window_is_kept_for_any_arrival(
    project: Project, limit: int, tokens: int, steps: list[tuple[int, int, int]]
) -> None:
    judge = build.judge(project, requests_per_minute=limit, tokens_per_minute=tokens)
    now = FakeTime().moment
    sent: list[tuple[datetime.datetime, int]] = []
    for number, seconds, characters in steps:
        now += datetime.timedelta(seconds=seconds)
        calls = calls_of(judge, number, characters)
        admitted, again = pacing.admit(judge, calls, now)
        sent += [(now, pacing.tokens_of(call)) for call in calls[:admitted]]
        assert again >= now
        if admitted < number:
            retried, _ = pacing.admit(judge, calls[admitted : admitted + 1], again)
            assert retried == 1  # the moment that was named is the right one
            sent.append((again, pacing.tokens_of(calls[admitted])))
            now = again
    for start, _ in sent:
        window = [used for moment, used in sent if start <= moment < start + MINUTE]
        assert len(window) <= limit
        assert sum(window) <= tokens or len(window) == 1  # one call that is too large for the limit goes alone


def test_what_an_answer_really_used_counts(project: Project, endpoint: ScriptedEndpoint) -> None:
    judge = build.judge(project, endpoint.base_url, concurrency=1, tokens_per_minute=100_000)
    run = scored_run(project, judge, responses=1)
    work_to_end(run)
    call = run.calls.get()
    assert Sending.objects.get().tokens == call.input_tokens + call.output_tokens == 110


def test_a_judge_without_limits_writes_nothing_down(project: Project, endpoint: ScriptedEndpoint) -> None:
    work_to_end(scored_run(project, build.judge(project, endpoint.base_url), responses=3))
    assert not Sending.objects.exists()


def test_the_pause_that_an_endpoint_asks_for_holds_for_all_calls_of_the_judge(
    project: Project, endpoint: ScriptedEndpoint
) -> None:
    judge = build.judge(project, endpoint.base_url, concurrency=1)
    run = scored_run(project, judge, responses=3)
    time = FakeTime()
    arrived: list[datetime.datetime] = []

    def play(request: Request) -> Play | str:
        arrived.append(time.moment)
        return error(429, "Slow down.", Retry_After="9") if len(arrived) == 1 else "Score: 4"

    endpoint.play(play)
    assert work_to_end(run, time).progress()["done"] == 3
    assert min(arrived[1:]) - arrived[0] >= datetime.timedelta(seconds=9)


def test_a_run_never_spends_more_than_its_cap_and_goes_on_when_it_is_raised(
    project: Project, endpoint: ScriptedEndpoint
) -> None:
    judge = build.judge(
        project, endpoint.base_url, concurrency=3, max_tokens=20, input_price=Decimal(100), output_price=Decimal(400)
    )
    cap = Decimal("0.3")
    run = scored_run(project, judge, responses=40, spending_cap=cap)
    work_to_end(run)
    assert run.state == Run.State.PAUSED
    assert "may spend 0.3" in run.pause_reason
    assert "Raise the limit to go on." in run.pause_reason
    assert 0 < run.cost() <= cap
    assert not run.calls.filter(state=Call.State.LEASED).exists()
    asked = len(endpoint.requests)
    assert runs.resume(run)
    work_to_end(run)
    assert len(endpoint.requests) == asked  # nothing more fits under the same cap
    Run.objects.filter(pk=run.pk).update(spending_cap=None)
    run.refresh_from_db()
    assert runs.resume(run)
    assert work_to_end(run).progress()["done"] == 40


def test_a_cap_of_nothing_sends_nothing(project: Project, endpoint: ScriptedEndpoint) -> None:
    judge = build.judge(project, endpoint.base_url, input_price=Decimal(1))
    run = work_to_end(scored_run(project, judge, responses=2, spending_cap=Decimal(0)))
    assert run.state == Run.State.PAUSED
    assert not endpoint.requests


def test_the_most_a_call_can_cost_is_never_less_than_what_it_costs(project: Project) -> None:
    judge = build.judge(
        project, input_price=Decimal(3), cached_input_price=Decimal(1), output_price=Decimal(15), hour_price=Decimal(2)
    )
    [call] = calls_of(judge, 1, characters=600)
    call.input_tokens, call.cached_tokens, call.output_tokens = 600, 100, 10  # a token has a byte at least
    call.latency_ms = judge.timeout_seconds * 1000
    call.state = Call.State.DONE
    call.save()
    assert spending.most_cost(call, judge) >= call.run.cost() > 0

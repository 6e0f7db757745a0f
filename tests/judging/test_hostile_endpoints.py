"""Endpoints that are busy, picky or hostile: calls end, runs pause when told, and nothing is paid for ever."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from annotate.models import Project
from judging import circuit, claims, networks, runs, work
from judging.client import Endpoint, Reply, ask
from judging.faults import CallFailed
from judging.models import Call, Judge, Run
from tests import build
from tests.judging.working import FakeTime, states, work_to_end
from tests.scripted_endpoint import Play, Request, ScriptedEndpoint, error

QUESTION = [{"role": "user", "content": "Is water wet?"}]


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint("Score: 4") as served:
        yield served


def scored_run(project: Project, judge: Judge, responses: int, **options: Any) -> Run:
    for _ in range(responses):
        build.item(project, systems=("Aster",))
    return runs.plan_judging(project, judge, "direct", build.round(project), **options)


def asked(endpoint: ScriptedEndpoint, parameters: dict[str, Any] | None = None) -> Reply:
    async def once() -> Reply:
        async with Endpoint(endpoint.base_url, "model", "none", timeout=5) as opened:
            return await ask(opened, QUESTION, parameters or {"max_tokens": 9})

    return async_to_sync(once)()


def chat(**choice: Any) -> Play:
    message = {"role": "assistant", "content": "Score: 4"}
    body = {"choices": [{"index": 0, "finish_reason": "stop", "message": message, **choice}]}
    return Play(raw=json.dumps(body).encode())


class Crowded:
    """Answers at most `most` calls at a time, the others with 429."""

    def __init__(self, most: int) -> None:
        self.most, self.now, self.refused = most, 0, 0
        self.lock, self.full = threading.Lock(), threading.Event()

    def __call__(self, request: Request) -> Play | str:
        with self.lock:
            if self.now >= self.most:
                self.refused += 1
                self.full.set()
                return error(429, "Too many calls.")
            self.now += 1
        if not self.refused:
            self.full.wait(5)  # until somebody is refused, so that the crowd is a real one
        with self.lock:
            self.now -= 1
        return "Score: 4"


def test_an_endpoint_that_takes_few_calls_at_a_time_answers_all_of_them_in_the_end(
    project: Project, endpoint: ScriptedEndpoint
) -> None:
    crowd = Crowded(2)
    endpoint.play(crowd)
    judge = build.judge(project, endpoint.base_url, concurrency=12, timeout_seconds=10)
    run = work_to_end(scored_run(project, judge, responses=60))
    assert crowd.refused
    assert states(run) == {"score": 60}  # nothing is given up, and the run does not pause


def test_an_endpoint_that_does_nothing_but_ask_for_fewer_calls_pauses_the_run(
    project: Project, endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit, "BUSY_PATIENCE", 2 * circuit.PATIENCE)
    endpoint.play(error(429, "Too many calls."))
    run = scored_run(project, build.judge(project, endpoint.base_url, concurrency=1, timeout_seconds=5), responses=2)
    time = FakeTime()
    started = time.moment
    work_to_end(run, time)
    assert run.state == Run.State.PAUSED
    assert "fewer calls" in run.pause_reason
    assert time.moment - started >= 2 * circuit.PATIENCE
    assert run.progress()["planned"] == 2
    assert {call.attempts for call in run.calls.all()} == {0}


def test_a_call_that_alone_is_refused_for_ever_is_given_up(project: Project, endpoint: ScriptedEndpoint) -> None:
    run = scored_run(project, build.judge(project, endpoint.base_url, concurrency=1), responses=1)
    run.calls.update(refusals=claims.MOST_REFUSALS - 2)
    endpoint.play(error(429, "Too many calls."))
    work_to_end(run)
    assert states(run) == {"error": 1}
    assert len(endpoint.requests) == 2


def test_a_long_wait_that_the_endpoint_asks_for_is_no_time_without_answers(
    project: Project, endpoint: ScriptedEndpoint
) -> None:
    endpoint.play(error(429, "Wait.", Retry_After="300"), error(500, "Oops."), "Score: 4")
    judge = build.judge(project, endpoint.base_url, concurrency=1, timeout_seconds=5)
    assert states(work_to_end(scored_run(project, judge, responses=1))) == {"score": 1}


def test_failures_before_a_time_without_any_worker_do_not_count(project: Project, endpoint: ScriptedEndpoint) -> None:
    judge = build.judge(project, endpoint.base_url, concurrency=1, timeout_seconds=5)
    run = scored_run(project, judge, responses=1)
    time = FakeTime()
    endpoint.play(error(500, "Oops."))
    run.note_failing(time.moment - circuit.PATIENCE * 60)
    endpoint.play(error(500, "Oops."), "Score: 4")
    assert states(work_to_end(run, time)) == {"score": 1}


def test_calls_under_way_are_stored_when_another_one_pauses_the_run(
    project: Project, endpoint: ScriptedEndpoint
) -> None:
    judge = build.judge(project, endpoint.base_url, concurrency=work.MANY_AT_A_TIME, timeout_seconds=20)
    run = scored_run(project, judge, responses=3 * work.MANY_AT_A_TIME)
    paused = threading.Event()
    refused: list[Request] = []

    def play(request: Request) -> Play | str:
        if len(refused) < 8:
            refused.append(request)
            return error(401, "No.")
        paused.wait(1)
        return "Score: 4"

    endpoint.play(play)
    work_to_end(run)
    assert run.state == Run.State.PAUSED
    assert "refused the key" in run.pause_reason
    counts = run.progress()
    assert counts["leased"] == 0
    assert counts["done"] == len(endpoint.requests) - len(refused)  # every answer was kept


def test_a_run_that_was_resumed_is_not_paused_by_what_failed_before() -> None:
    breaker = circuit.Breaker(circuit.PATIENCE)
    failure = CallFailed("No.", endpoint_down=True)
    moment = FakeTime().moment
    said = [breaker.note(failure, moment) for _ in range(circuit.DOWN_IN_A_ROW)]
    assert [bool(reason) for reason in said] == [False] * (circuit.DOWN_IN_A_ROW - 1) + [True]


def test_calls_at_the_same_time_all_learn_the_name_of_a_parameter(project: Project, endpoint: ScriptedEndpoint) -> None:
    def play(request: Request) -> Play | str:
        if "max_tokens" in request.body:
            return error(400, "Unsupported parameter: 'max_tokens'.", param="max_tokens")
        return "Score: 4"

    endpoint.play(play)
    judge = build.judge(project, endpoint.base_url, concurrency=8)
    run = work_to_end(scored_run(project, judge, responses=40))
    assert states(run) == {"score": 40}
    assert {call.parameters.get("max_completion_tokens") for call in run.calls.all()} == {judge.max_tokens}
    before = len(endpoint.requests)
    work_to_end(scored_run(project, judge, responses=3))
    assert len(endpoint.requests) == before + 3  # the next run knows it already


def test_a_number_of_alternatives_that_is_too_large_is_lowered() -> None:
    def play(request: Request) -> Play | str:
        if request.body["top_logprobs"] > 5:
            return error(400, "Invalid value for 'top_logprobs'.", param="top_logprobs")
        return "Yes"

    with ScriptedEndpoint(play) as endpoint:
        parameters = {"logprobs": True, "top_logprobs": 20}
        assert asked(endpoint, parameters).parameters["top_logprobs"] == 5
        assert asked(endpoint, {"logprobs": True, "top_logprobs": 3}).parameters["top_logprobs"] == 3


@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"choices":' * 50_000, b'{"error":' * 100_000])
@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_that_is_nested_without_end_is_a_failure_in_words(raw: bytes, status: int) -> None:
    with ScriptedEndpoint(Play(raw=raw, status=status)) as endpoint, pytest.raises(CallFailed):
        asked(endpoint)


def test_odd_numbers_in_an_answer_count_as_none() -> None:
    entry = {"token": "Yes", "logprob": -0.1, "top_logprobs": [{"token": "Yes", "logprob": 10**400}]}
    with ScriptedEndpoint(chat(logprobs={"content": [entry]})) as endpoint:
        assert asked(endpoint).alternatives == [[]]


def test_an_answer_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "LARGEST_ANSWER", 5_000)
    with ScriptedEndpoint(Play(raw=b" " * 1_000_000)) as endpoint, pytest.raises(CallFailed, match="larger than 5,000"):
        asked(endpoint)


def test_characters_that_no_database_takes_end_no_run(project: Project, endpoint: ScriptedEndpoint) -> None:
    endpoint.play(chat(finish_reason="\ud800\x00stop"))
    judge = build.judge(project, endpoint.base_url)
    run = work_to_end(scored_run(project, judge, responses=2))
    assert states(run) == {"score": 2}
    endpoint.play(error(404, "No model \ud800\x00 here."))
    run = work_to_end(scored_run(project, build.judge(project, endpoint.base_url), responses=9))
    assert run.state == Run.State.PAUSED
    assert "does not know the model" in run.pause_reason


def test_answers_without_usage_figures_count_as_the_most_they_can_cost(
    project: Project, endpoint: ScriptedEndpoint
) -> None:
    endpoint.play(Play("Score: 4", usage=None))
    judge = build.judge(project, endpoint.base_url, concurrency=1, max_tokens=20, input_price=Decimal(100))
    run = work_to_end(scored_run(project, judge, responses=40, spending_cap=Decimal("0.7")))
    assert run.state == Run.State.PAUSED
    held = sum((call.reserved or Decimal(0) for call in run.calls.filter(state=Call.State.DONE)), Decimal(0))
    assert 0 < held <= Decimal("0.7")
    assert len(endpoint.requests) < 10

"""Runs: planned as rows, carried out against a scripted endpoint, steered, resumed, and never inventing a verdict."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from django.utils import timezone

from annotate.models import Project, Round, User
from judging import runs, work
from judging.models import Judge, Run
from tests import build
from tests.scripted_endpoint import ScriptedEndpoint


@dataclass
class FakeTime:
    """A clock that jumps over every sleep, and remembers how long each was."""

    moment: datetime.datetime = field(default_factory=timezone.now)
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime.datetime:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += datetime.timedelta(seconds=seconds)
        await asyncio.sleep(0)

    @property
    def clock(self) -> work.Clock:
        return work.Clock(self.now, self.sleep)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint("It does what is asked.\nVerdict: YES") as served:
        yield served


@pytest.fixture
def judge(project: Project, endpoint: ScriptedEndpoint) -> Judge:
    return build.judge(project, endpoint.base_url, concurrency=2, timeout_seconds=5)


def checked_round(project: Project, items: int = 2) -> Round:
    for _ in range(items):
        build.checklist(build.item(project))
    return build.round(project, Round.Kind.CHECK_THEN_SCORE)


def work_to_end(run: Run, time: FakeTime | None = None) -> Run:
    """Slots of work until the run stands still or is over."""
    time = time or FakeTime()
    for _ in range(50):
        work.work(run.pk, time.clock)
        run.refresh_from_db()
        if run.state != Run.State.RUNNING:
            return run
        time.moment += datetime.timedelta(seconds=30)
    raise AssertionError(f"the run does not end: {run.progress()}")


def states(run: Run) -> dict[str, int]:
    counted: dict[str, int] = {}
    for state in run.verdicts.values_list("state", flat=True):
        counted[state] = counted.get(state, 0) + 1
    return counted


# --- the whole way ----------------------------------------------------------------------------------------------------


def test_tick_run_gives_one_verdict_per_response_and_question(project: Project, judge: Judge, bob: User) -> None:
    round = checked_round(project)
    run = work_to_end(runs.plan_judging(project, judge, "tick", round, user=bob))
    assert run.state == Run.State.FINISHED
    assert run.finished_at is not None
    assert states(run) == {"yes": 8}  # 2 items x 2 responses x 2 questions
    assert runs.summary(run) == "8 judged"
    call = run.calls.first()
    assert call is not None
    assert call.reply == "It does what is asked.\nVerdict: YES"
    assert [message["role"] for message in call.prompt] == ["system", "user"]
    assert call.parameters == {"temperature": 0.0, "max_tokens": 512}
    assert (call.input_tokens, call.cached_tokens, call.output_tokens) == (100, 60, 10)
    assert call.latency_ms is not None
    assert call.attempts == 1

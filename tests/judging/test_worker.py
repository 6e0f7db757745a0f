"""A real Celery worker on a real broker: it is killed in the middle of a run, and another one finishes the run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django.db import connection
from django.utils import timezone

from annotate.models import Project, Round
from config.celery import app
from judging import runs, work
from judging.models import Call, Judge, Run
from judging.tasks import work_run
from tests import build
from tests.scripted_endpoint import Request, ScriptedEndpoint

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 60  # seconds after which a worker that does nothing fails the test

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]


def database_url() -> str:
    """The test database, as a URL for another process."""
    parts = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{parts['NAME']}"
    login = quote(parts["USER"]) + (f":{quote(parts['PASSWORD'])}" if parts["PASSWORD"] else "")
    return f"postgres://{login}@{parts['HOST'] or 'localhost'}:{parts['PORT'] or 5432}/{parts['NAME']}"


def broker_url() -> str:
    """The broker of the environment; of Redis a database of its own, so that no other worker takes our messages."""
    url = os.environ.get("CELERY_BROKER_URL", "filesystem://")
    return urlsplit(url)._replace(path="/15").geturl() if url.startswith("redis") else url


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a worker on the test database. Rings of this process reach it, too."""
    options = {}
    if broker_url().startswith("filesystem"):
        for folder in ("messages", "control"):
            (tmp_path / "broker" / folder).mkdir(parents=True)
        messages = str(tmp_path / "broker" / "messages")
        options = {"data_folder_in": messages, "data_folder_out": messages}
        options["control_folder"] = str(tmp_path / "broker" / "control")
    connected = app.connection_for_write(broker_url(), transport_options=options)
    ring: Any = work_run.apply_async
    monkeypatch.setattr(work_run, "apply_async", partial(ring, connection=connected))
    return {
        **os.environ,
        "CELERY_BROKER_URL": broker_url(),
        "CONCORD_VAR_DIR": str(tmp_path),
        "DATABASE_URL": database_url(),
        "DEBUG": "1",
    }


@contextmanager
def worker(environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a process of its own, killed at the end unless it has ended by then."""
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "solo", "--loglevel", "INFO"]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    with log.open("ab") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=PATIENCE)


class Audience:
    """Plays YES for every request. From request `hold_from` on it holds answers back until `release`, and it notes when
    it began to hold, and when it has answered `total` different prompts."""

    def __init__(self, total: int, hold_from: int) -> None:
        self.total, self.hold_from = total, hold_from
        self.arrived = 0
        self.answered: set[str] = set()
        self.holding, self.release, self.complete = threading.Event(), threading.Event(), threading.Event()
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> str:
        with self._lock:
            self.arrived += 1
            held = self.arrived >= self.hold_from
        if held:
            self.holding.set()
            self.release.wait(PATIENCE)
        with self._lock:
            if not held or self.release.is_set():
                self.answered.add(request.prompt)
            if len(self.answered) == self.total:
                self.complete.set()
        return "Analysis: it does.\nVerdict: YES"


def planned_run(project: Project, judge: Judge, items: int) -> Run:
    for _ in range(items):
        # Names of different length give texts of different length, so that every prompt is asked about one unit alone.
        build.checklist(build.item(project, systems=("Aster", "Clover")))
    return runs.plan_judging(project, judge, "tick", build.round(project, Round.Kind.CHECK_THEN_SCORE))


def states(run: Run) -> dict[str, Any]:
    run.refresh_from_db()
    return {"run": run.state, "verdicts": sorted(run.verdicts.values_list("state", flat=True))}


def test_a_run_survives_the_death_of_its_worker(project: Project, environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    audience = Audience(total=20, hold_from=8)
    with ScriptedEndpoint(audience) as endpoint:
        judge = build.judge(project, endpoint.base_url, concurrency=3, timeout_seconds=PATIENCE)
        run = planned_run(project, judge, items=5)

        with worker(environment, log) as process:
            assert audience.holding.wait(PATIENCE), log.read_text()
            process.kill()
            process.wait(timeout=PATIENCE)
        done = run.calls.filter(state=Call.State.DONE)
        stored_before_the_kill = {call.prompt[-1]["content"] for call in done}
        assert 1 <= len(stored_before_the_kill) < 20
        asked_before_the_kill = endpoint.prompts()
        audience.answered.clear()
        audience.release.set()

        # The leases of the dead worker run out.
        run.calls.filter(state=Call.State.LEASED).update(leased_until=timezone.now())
        audience.total = 20 - len(stored_before_the_kill)
        with worker(environment, log) as process:
            assert audience.complete.wait(PATIENCE), log.read_text()
            process.terminate()  # a warm shutdown: the worker ends its task first
            assert process.wait(timeout=PATIENCE) == 0, log.read_text()

    assert states(run) == {"run": "finished", "verdicts": ["yes"] * 20}
    units = run.verdicts.values_list("response", "question", "repeat")
    assert len(set(units)) == 20
    # Not stored yet were the calls under way, and at most as many that were answered while others were being stored.
    assert sum(asked_before_the_kill.values()) <= len(stored_before_the_kill) + 2 * judge.concurrency
    for prompt, times in endpoint.prompts().items():
        stored = any(prompt.endswith(content) for content in stored_before_the_kill)
        assert times == 1 if stored else times <= 2


def test_a_worker_hears_the_ring_of_a_new_run(project: Project, environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    audience = Audience(total=4, hold_from=10**6)
    with ScriptedEndpoint(audience) as endpoint, worker(environment, log) as process:
        first = planned_run(project, build.judge(project, endpoint.base_url), items=1)
        assert audience.complete.wait(PATIENCE), log.read_text()
        audience.complete.clear()
        audience.total = 8
        other = build.project()
        second = planned_run(other, build.judge(other, endpoint.base_url), items=1)
        assert audience.complete.wait(PATIENCE), log.read_text()
        process.terminate()
        assert process.wait(timeout=PATIENCE) == 0, log.read_text()
    assert states(first) == states(second) == {"run": "finished", "verdicts": ["yes"] * 4}


def test_workers_at_the_same_time_share_a_run(project: Project) -> None:
    faults: list[BaseException] = []

    def work_in_thread(run_id: int) -> None:
        try:
            work.work(run_id)
        except BaseException as error:
            faults.append(error)
        finally:
            connection.close()

    audience = Audience(total=80, hold_from=10**6)
    with ScriptedEndpoint(audience) as endpoint:
        run = planned_run(project, build.judge(project, endpoint.base_url, concurrency=4), items=20)
        threads = [threading.Thread(target=work_in_thread, args=(run.pk,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    assert not faults
    assert states(run) == {"run": "finished", "verdicts": ["yes"] * 80}
    assert set(endpoint.prompts().values()) == {1}

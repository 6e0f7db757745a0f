"""How near the judge engine comes to the endpoint's speed, with real worker processes.

Run it with the project's Python from the repository:

    .venv/bin/python benchmarks/judge_speed.py
    .venv/bin/python benchmarks/judge_speed.py --database postgres://user@127.0.0.1:5432/postgres
    .venv/bin/python benchmarks/judge_speed.py --database postgres://... --workers 1 2

It makes a database of its own with a round that people labelled in part, plans `tick` runs on it, lets Celery workers
(one process each) ask an endpoint that answers every call after 200 ms, and prints the calls a second between the first
and the last answer that was stored. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from annotate.models import Project, Round
    from judging.models import Judge, Run

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

LATENCY = 0.2
QUESTIONS = 5
SYSTEMS = 2
SHARE_OF_IDEAL = 0.9
MOST_MEMORY_MB = 300
TWO_WORKERS = 1.7
PATIENCE = 600  # seconds


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--database", default="", help="URL of a PostgreSQL server; SQLite without it")
    options.add_argument("--calls", type=int, default=5_000)
    options.add_argument("--concurrency", type=int, default=64)
    options.add_argument("--workers", type=int, nargs="+", default=[1], metavar="PROCESSES")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "CONCORD_VAR_DIR": folder, "DEBUG": "false"}
        os.environ |= {"SECRET_KEY": "a benchmark keeps no secrets, this is only long enough", "ALLOWED_HOSTS": "*"}
        os.environ["CELERY_BROKER_URL"] = "filesystem://"
        with own_database(given.database, Path(folder)):
            return measure(given, Path(folder))


@contextmanager
def own_database(server: str, folder: Path) -> Iterator[None]:
    """A new database, removed at the end; its URL is in the environment meanwhile."""
    name = f"concord_benchmark_{os.getpid()}"
    os.environ["DATABASE_URL"] = (
        urlsplit(server)._replace(path=f"/{name}").geturl() if server else f"sqlite:///{folder}/benchmark.sqlite3"
    )
    on_server(server, f'CREATE DATABASE "{name}"')
    try:
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connections

        call_command("migrate", verbosity=0)
        yield
        connections.close_all()
    finally:
        on_server(server, f'DROP DATABASE "{name}" WITH (FORCE)')


def on_server(server: str, statement: str) -> None:
    """Run a statement outside of any database of ours; nothing on SQLite."""
    if server:
        import psycopg

        with psycopg.connect(server, autocommit=True) as connected:
            connected.execute(statement.encode())


def measure(given: argparse.Namespace, folder: Path) -> int:
    from judging import runs
    from judging.models import Call

    port_file = folder / "port"
    endpoint = subprocess.Popen(
        [sys.executable, str(ROOT / "benchmarks/fast_endpoint.py"), str(port_file), "--latency", str(LATENCY)]
    )
    try:
        wait_for(port_file.exists)
        project, judge, round = fill(given.calls, f"http://127.0.0.1:{port_file.read_text()}/v1", given.concurrency)
        ideal = given.concurrency / LATENCY
        kind = urlsplit(os.environ["DATABASE_URL"]).scheme
        print(f"{kind}, {given.calls:,} calls, {LATENCY:g} s each, {given.concurrency} at a time in each worker")
        print("| workers | calls a second | of the ideal | CPU ms a call | memory MB, half way | at the end | twice |")
        print("|---|---|---|---|---|---|---|", flush=True)
        sound, rates = True, {}
        for number, processes in enumerate(given.workers):
            judge.temperature = 0.001 * number  # other parameters: nothing comes from the cache
            judge.save()
            run = runs.plan_judging(project, judge, "tick", round)
            rate, spent, half, full = carry_out(run, processes, given.calls)
            twice = given.calls - run.verdicts.values("response", "question").distinct().count()
            asked_twice = run.calls.filter(attempts__gt=1).count()
            rates[processes] = rate
            print(
                f"| {processes} | {rate:.0f} | {rate / ideal / processes:.1%} | {spent * 1000 / given.calls:.2f} "
                f"| {half:.0f} | {full:.0f} | {twice + asked_twice} |",
                flush=True,
            )
            sound &= full < MOST_MEMORY_MB and not twice and not asked_twice
            sound &= not run.calls.exclude(state=Call.State.DONE).exists()
        if 1 in rates:
            sound &= rates[1] >= SHARE_OF_IDEAL * ideal
        if {1, 2} <= rates.keys():
            print(f"\nTwo workers: {rates[2] / rates[1]:.2f} times the calls of one.")
            sound &= rates[2] >= TWO_WORKERS * rates[1]
    finally:
        endpoint.kill()
    print("All targets reached." if sound else "A target was MISSED.")
    return 0 if sound else 1


def fill(calls: int, base_url: str, concurrency: int) -> tuple[Project, Judge, Round]:
    """A round of check-then-score, labelled by one person for every third response, and a judge."""
    from annotate import assignment, labelling
    from annotate.contents import Content
    from annotate.models import Annotation, Round
    from tests import build

    project = build.project()
    text = "The harbour wakes before the town does, and the gulls are the first to say so. " * 12
    for _ in range(calls // QUESTIONS // SYSTEMS):
        item = build.item(project, systems=tuple(f"System {letter}" for letter in "AB"[:SYSTEMS]))
        item.responses.update(text=text)
        build.checklist(item, *(f"Is point {place} of item {item.pk} met?" for place in range(QUESTIONS)))
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE, overlap=1)
    person = build.member(project, "annotator")
    for _ in range(round.tasks.count() // 3):
        task = assignment.next_task(round, person)
        assert task is not None
        assert task.checklist is not None
        answers = dict.fromkeys(task.checklist.questions.values_list("pk", flat=True), "yes")
        said = Annotation.objects.get(task=task, annotator=person)
        labelling.save(
            task, person, Content(3, answers, "none"), token="x", version=said.version, submit=True, ask=False
        )
    judge = build.judge(project, base_url, concurrency=concurrency, timeout_seconds=30)
    return project, judge, round


def carry_out(run: Run, processes: int, calls: int) -> tuple[float, float, float, float]:
    """Calls a second between the first and the last stored answer, CPU seconds of the workers, and the memory (MB) of
    the largest one half way and at the end."""
    from django.db.models import Max, Min

    command = [sys.executable, "-m", "celery", "-A", "config", "--quiet", "worker", "--pool", "solo"]
    command += ["--loglevel", "WARNING", "--without-gossip", "--without-mingle"]
    workers = [
        subprocess.Popen([*command, "--hostname", f"bench{number}@%h"], cwd=ROOT, start_new_session=True)
        for number in range(processes)
    ]
    try:
        wait_for(lambda: run.calls.filter(state="done").count() >= calls // 2)
        half = max(memory(worker.pid) for worker in workers)
        wait_for(lambda: not run.calls.exclude(state="done").exists())
        full = max(memory(worker.pid) for worker in workers)
        spent = sum(cpu(worker.pid) for worker in workers)
    finally:
        for worker in workers:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
    moments = run.calls.aggregate(first=Min("finished_at"), last=Max("finished_at"))
    return calls / ((moments["last"] - moments["first"]).total_seconds() + LATENCY), spent, half, full


def memory(pid: int) -> float:
    """Resident memory in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu(pid: int) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("The benchmark does not get on: look at the messages of the workers above.")
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())

"""How many labels a server takes in a second, with a thousand tasks in the round and with a hundred thousand.

Run it with the project's Python from the repository, on a PostgreSQL server that may make databases:

    .venv/bin/python benchmarks/annotation_speed.py --database postgres://user@127.0.0.1:5432/postgres
    .venv/bin/python benchmarks/annotation_speed.py --kind check_then_score --database postgres://...

For each size it makes a database of its own with one open round, starts gunicorn (2 processes of 8 threads), and lets
20 annotators submit task after task without a pause, each as a browser does: one request that submits a label and
brings the screen of the next task, on a connection of its own as behind a reverse proxy. It prints the submits a
second and their times, counts the labels of every task in the database, and ends with exit code 1 if a target is
missed.
"""

from __future__ import annotations

import argparse
import html
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from annotate.models import Round

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

SIZES = (1_000, 100_000)
OVERLAP = 3
ANNOTATORS = 20
QUESTIONS = 4
SYSTEMS = 2
RATE = 100  # submits a second
MOST_SECONDS = 0.150  # 95 of 100 take less
SLOWER = 0.8  # of the rate at the first size
WARM_UP = 5  # seconds
TEXT = "A paragraph of a usual length, with some words in it that somebody has to read before judging. " * 8


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--database", required=True, help="URL of a PostgreSQL server")
    options.add_argument("--kind", default="direct_scoring", choices=("direct_scoring", "check_then_score"))
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="TASKS")
    options.add_argument("--seconds", type=float, default=40, help="how long the annotators work, after the warm-up")
    given = options.parse_args()
    print(f"{given.kind}, overlap {OVERLAP}, {ANNOTATORS} annotators, gunicorn 2 x 8 threads, PostgreSQL")
    print("| tasks | submits | a second | median ms | 95th percentile ms | tasks over N | labels twice |")
    print("|---|---|---|---|---|---|---|", flush=True)
    # Each size has a process of its own: settings name one database.
    if len(given.sizes) > 1:
        rates, sound = [], True
        for size in given.sizes:
            command = [sys.executable, __file__, "--database", given.database, "--kind", given.kind]
            command += ["--seconds", str(given.seconds), "--sizes", str(size)]
            told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            row = next((line for line in told.stdout.splitlines() if line.startswith(f"| {size:,} |")), "")
            print(row or told.stdout, flush=True)
            rates.append(float(row.split("|")[3]) if row else 0.0)
            sound &= told.returncode == 0
        ratio = rates[-1] / rates[0] if rates[0] else 0.0
        print(f"\nRate at the last size / at the first: {ratio:.2f}")
        sound &= ratio >= SLOWER
        print("All targets reached." if sound else "A target was MISSED.")
        return 0 if sound else 1
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "CONCORD_VAR_DIR": folder, "DEBUG": "false"}
        os.environ |= {"SECRET_KEY": "a benchmark keeps no secrets, this is only long enough", "ALLOWED_HOSTS": "*"}
        os.environ |= {"CONCORD_HTTPS": "false", "CELERY_BROKER_URL": "memory://"}
        from benchmarks.judge_speed import own_database

        with own_database(given.database, Path(folder)):
            return measure(given.sizes[0], given.kind, given.seconds)


def measure(size: int, kind: str, seconds: float) -> int:
    from django.core.management import call_command
    from django.db import connection

    call_command("collectstatic", interactive=False, verbosity=0)
    round = fill(size, kind)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    connection.close()
    with served() as port:
        people = [Annotator(port, f"person{number}", round) for number in range(ANNOTATORS)]
        for person in people:
            person.log_in()
        took, lasted = work(people, seconds)
    over, twice, wrong = check(round)
    rate, p95 = len(took) / lasted, statistics.quantiles(took, n=20)[-1]
    print(
        f"| {size:,} | {len(took):,} | {rate:.1f} | {statistics.median(took) * 1000:.0f} | {p95 * 1000:.0f} "
        f"| {over} | {twice} |"
    )
    faults = [fault for person in people for fault in person.faults]
    for fault in faults[:5]:
        print(fault)
    sound = rate >= RATE and p95 < MOST_SECONDS
    if not sound:
        print("A target was MISSED.", file=sys.stderr)
    return 0 if sound and not (over or twice or wrong or faults) else 1


def fill(size: int, kind: str) -> Round:
    """An open round with this many tasks, and its annotators, logged in through sessions of their own."""
    from django.utils import timezone

    from annotate.models import Checklist, Item, Membership, Project, Question, Response, Role, Round
    from tests import build

    project = Project.objects.create(slug="bench", name="Benchmark")
    for number in range(ANNOTATORS):
        person = build.user(f"person{number}")
        Membership.objects.create(project=project, user=person, role=Role.ANNOTATOR)
    items = Item.objects.bulk_create(
        (Item(project=project, external_id=f"item {n}", instruction=TEXT[:300]) for n in range(size // SYSTEMS)),
        batch_size=2000,
    )
    Response.objects.bulk_create(
        (Response(item=item, system=f"system {s}", text=TEXT) for item in items for s in range(SYSTEMS)),
        batch_size=2000,
    )
    if kind == Round.Kind.CHECK_THEN_SCORE:
        made = Checklist.objects.bulk_create(
            (Checklist(item=item, version=1, state="approved", approved_at=timezone.now()) for item in items),
            batch_size=2000,
        )
        Question.objects.bulk_create(
            (
                Question(checklist=checklist, position=place, text=f"Is point {place} of the instruction met?")
                for checklist in made
                for place in range(1, QUESTIONS + 1)
            ),
            batch_size=2000,
        )
    round = Round.objects.create(project=project, name="Round", kind=kind, overlap=OVERLAP, guidelines=TEXT)
    round.open()
    return round


@contextmanager
def served() -> Iterator[int]:
    """gunicorn as docs/operations.md starts it; its port."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    gunicorn = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"127.0.0.1:{port}", "--log-level", "error"]
    server = subprocess.Popen([*gunicorn, "--worker-class", "gthread", "--workers", "2", "--threads", "8"], cwd=ROOT)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                asked = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                asked.request("GET", "/healthz")
                if asked.getresponse().status == 200:
                    break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


class Annotator:
    """One browser: its connection, its cookies, the task on its screen."""

    def __init__(self, port: int, username: str, round: Round) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.username = username
        self.start = f"/projects/bench/rounds/{round.pk}/annotate/"
        self.cookies: dict[str, str] = {}
        self.task = ""
        self.screen = ""
        self.took: list[float] = []
        self.faults: list[str] = []

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Status, address of a redirection, and text."""
        # As behind a proxy: every request comes on a connection of its own, to the process that is free.
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookies, "Connection": "close"}
        body = None
        if fields is not None:
            body = urlencode({**fields, "csrfmiddlewaretoken": self.cookies["csrftoken"]})
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        text = reply.read().decode()
        for cookie in reply.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return reply.status, reply.headers.get("Location", ""), text

    def log_in(self) -> None:
        self.ask("GET", "/accounts/login/")
        status, _, _ = self.ask(
            "POST", "/accounts/login/", {"username": self.username, "password": "correct horse", "next": "/"}
        )
        if status != 302:
            raise RuntimeError(f"{self.username} cannot log in: {status}")
        _, self.task, _ = self.ask("GET", self.start)
        _, _, self.screen = self.ask("GET", self.task)

    def step(self) -> bool:
        """Submit the task on the screen, and have the next one; False where there is none."""
        number = len(self.took)
        fields = {"action": "submit", "token": f"{self.username}-{number}", "active_seconds": "5", "comment": ""}
        fields["version"] = re.search(r'name="version" value="(\d+)"', self.screen)[1]  # type: ignore[index]
        questions = list(dict.fromkeys(re.findall(r'name="(answer-\d+)"', self.screen)))
        fields |= {name: "no" if (number + place) % 3 == 0 else "yes" for place, name in enumerate(questions)}
        fields["score"] = str(2 + (number * 7) % 3)
        if questions:
            fields["effect"] = "easier"
        begun = time.perf_counter()
        status, _, text = self.ask("POST", f"{self.task}save/", fields)
        self.took.append(time.perf_counter() - begun)
        if status != 200:
            self.faults.append(f"{self.username}, {self.task}: {status} {html.unescape(text)[:200]}")
            return False
        said = json.loads(text)
        self.task, self.screen = said["next"], said.get("screen", "")
        return bool(self.screen)


def work(people: list[Annotator], seconds: float) -> tuple[list[float], float]:
    """All at once, until the time is over or the tasks are. The seconds of every submit after the warm-up, and how long
    these took in all."""
    begun = time.monotonic()
    ends = begun + WARM_UP + seconds
    counted: list[list[float]] = [[] for _ in people]

    def one(number: int) -> None:
        person = people[number]
        while time.monotonic() < ends and person.step():
            if time.monotonic() >= begun + WARM_UP:
                counted[number].append(person.took[-1])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(people))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [seconds for own in counted for seconds in own], time.monotonic() - begun - WARM_UP


def check(round: Round) -> tuple[int, int, bool]:
    """Tasks with more than N counted labels, labels that one person gave twice, and whether live cells are wrong."""
    from django.db.models import Count

    from annotate.models import Annotation
    from judging import recount

    counted = Annotation.objects.counted(round).order_by()
    over = counted.values("task").annotate(n=Count("pk")).filter(n__gt=OVERLAP).count()
    twice = counted.values("task", "annotator").annotate(n=Count("pk")).filter(n__gt=1).count()
    return over, twice, recount.audit(round) != []


if __name__ == "__main__":
    sys.exit(main())

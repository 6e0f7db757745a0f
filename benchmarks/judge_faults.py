"""What the judge engine loses when its processes are killed, its endpoint fails, and its broker and database go away.

Run it with the project's Python from the repository. It starts web, worker and beat on a database and a broker of its
own, ends them all, prints a table, and ends with exit code 1 if anything was lost, done twice or made up.

    .venv/bin/python benchmarks/judge_faults.py                          # SQLite, broker in a folder
    .venv/bin/python benchmarks/judge_faults.py --database own           # PostgreSQL and Redis, started for this
    .venv/bin/python benchmarks/judge_faults.py --database postgres://user@127.0.0.1:5432/postgres

kills    calls at an endpoint with a latency, while the worker is killed with -9 twenty times and the web server five
         times, at seeded moments. In the end there is one verdict for each call. A call whose verdict was stored before
         a kill is never asked again; one that was under way at a kill may be, once for that kill, because its answer
         died with the worker.
faults   calls at an endpoint that fails for a share of its requests in every way that the tests know. Every call ends
         with the value that the endpoint meant by its last reply, as unreadable, or as an error with a reason; and the
         run's page says the same numbers.
outages  a run during which the broker is away for a minute and the database is started again: it ends by itself. On
         SQLite the broker is a folder; a worker that loses it ends, and is started again as `make demo` does.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from judging.models import Run

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.faulty_endpoint import FAULTS, expected, hash_of

ROOT = Path(__file__).resolve().parents[1]
Found = TypeVar("Found")

TRIALS = ("kills", "faults", "outages")
CALLS = {"kills": 2000, "faults": 10_000, "outages": 2000}
SYSTEMS, QUESTIONS = 2, 10
WORKER_KILLS, WEB_KILLS = 20, 5
LAST_KILL = 0.9  # of the calls: so that there is work left after it
SHARE_OF_FAULTS = 0.3
LATENCY = {"kills": 0.2, "faults": 0.0, "outages": 0.2}  # seconds
CONCURRENCY = {"kills": 16, "faults": 48, "outages": 4}  # so few that calls are left after an outage
TIME_OUT = 4  # seconds, of the judge
OUTAGE = 60.0  # seconds without a broker
STILL = 0.5  # seconds after a kill until nothing of the process can reach endpoint or database any more
LOOK = 0.05  # seconds between two looks at the endpoint
PATIENCE = 1800.0  # seconds after which a trial is given up


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--database", default="", help="URL of PostgreSQL, or `own`; SQLite without it")
    options.add_argument("--trials", nargs="+", choices=TRIALS, default=TRIALS)
    options.add_argument("--share", type=float, default=1.0, help="of the full number of calls and kills")
    options.add_argument("--seed", type=int, default=42)
    given = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stage = Stage(folder, stack, given.database, given.seed, given.share)
        print(f"{stage.database_kind}, {stage.broker_kind}, seed {given.seed}\n")
        print("| trial | calls | verdicts | requests | seconds | |\n|---|---|---|---|---|---|", flush=True)
        results = [TRIAL_OF[name](stage) for name in given.trials]
        sound = all(results)
    print("\nNothing was lost." if sound else "\nSomething was LOST.")
    return 0 if sound else 1


# --- the stage --------------------------------------------------------------------------------------------------------


class Stage:
    """A database, a broker, and the processes of an installation. Everything ends with `stack`."""

    def __init__(self, folder: Path, stack: ExitStack, database: str, seed: int, share: float) -> None:
        self.folder, self.stack, self.seed, self.share = folder, stack, seed, share
        self.cluster = Cluster(folder / "postgresql") if database == "own" else None
        self.redis = Redis() if database == "own" else None
        if self.cluster and self.redis:
            stack.callback(self.cluster.stop)
            self.cluster.make()
            stack.callback(self.redis.stop)
            self.redis.start()
            url, broker = self.cluster.url, self.redis.url
        elif database:
            url, broker = self._database_at(database), "filesystem://"
        else:
            url, broker = f"sqlite:///{folder}/concord.sqlite3", "filesystem://"
        self.database_kind, self.broker_kind = urlsplit(url).scheme, urlsplit(broker).scheme
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "benchmarks.hurried",
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": url,
            "CELERY_BROKER_URL": broker,
            "CONCORD_VAR_DIR": str(folder),
            "CONCORD_CALL_LEASE_SECONDS": "5",
            "CONCORD_HTTPS": "false",
            "ALLOWED_HOSTS": "127.0.0.1",
            "SECRET_KEY": "a benchmark keeps no secrets, this is only long enough",
            "DEBUG": "false",
        }
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        call_command("collectstatic", verbosity=0, interactive=False)
        self.port = free_port()

    def _database_at(self, server: str) -> str:
        """A new database on a server, dropped in the end."""
        import psycopg

        name = f"judge_faults_{os.getpid()}"

        def say(statement: str) -> None:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(statement.encode())

        say(f"CREATE DATABASE {name}")
        self.stack.callback(say, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        return urlsplit(server)._replace(path=f"/{name}").geturl()

    @contextmanager
    def running(self, *names: str, again: bool = False) -> Iterator[dict[str, Process]]:
        """These processes, from now on: "web", "worker", "beat". With `again` they are started again when they end."""
        from judging.management.commands import demo

        python = sys.executable
        celery = [python, "-m", "celery", "-A", "config", "--quiet"]
        web = ["--bind", f"127.0.0.1:{self.port}", "--worker-class", "gthread", "--threads", "8"]
        commands = {
            "web": [python, "-m", "gunicorn", "config.wsgi", "--log-level", "error", *web],
            "worker": [*celery, "worker", "--concurrency", "2", "--without-gossip", "--without-mingle"],
            "beat": [*celery, "beat", "--loglevel", "ERROR"],
        }
        if again:
            commands = {name: ["sh", "-c", demo.again(shlex.join(command))] for name, command in commands.items()}
        started = {name: Process(commands[name], self.folder / f"{name}.log") for name in names}
        try:
            yield started
        finally:
            for process in started.values():
                process.kill()

    def planned(self, trial: str, base_url: str) -> Run:
        """A run with the calls of a trial, each with a prompt of its own. It rings for a worker."""
        from annotate.models import Checklist, Item, Membership, Project, Response, Role, User
        from judging import runs
        from judging.models import Judge

        project = Project.objects.create(slug=trial, name=trial.title())
        person = User.objects.create(username=f"reader of {trial}", password="!")
        Membership.objects.create(project=project, user=person, role=Role.RESEARCHER)
        for number in range(1, self.calls(trial) // (SYSTEMS * QUESTIONS) + 1):
            item = Item.objects.create(project=project, external_id=f"item {number}", instruction=f"Write {number}.")
            Response.objects.bulk_create(
                Response(item=item, system=f"system {place}", text=f"Text {place} of {number}. " * 20)
                for place in range(SYSTEMS)
            )
            questions = [f"Is point {place} of {number} met?" for place in range(QUESTIONS)]
            Checklist.write(item, questions).approve(None)
        judge = Judge.objects.create(
            project=project,
            name="Judge",
            base_url=base_url,
            model="scripted",
            timeout_seconds=TIME_OUT,
            concurrency=CONCURRENCY[trial],
        )
        return runs.plan_judging(project, judge, "tick")

    def calls(self, trial: str) -> int:
        return round(CALLS[trial] * self.share)

    def page(self, run: Run, show: str = "all") -> str:
        """The run's page, asked of the web server until it answers."""
        from django.conf import settings
        from django.test import Client

        client = Client()
        client.force_login(run.project.memberships.get().user)
        cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
        address = f"http://127.0.0.1:{self.port}/projects/{run.project.slug}/runs/{run.pk}/?show={show}"
        request = urllib.request.Request(address, headers={"Cookie": cookie})

        def answered() -> str:
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    return str(response.read().decode())
            except OSError:
                return ""

        return wait_for(answered, "the web server answers")


class Process:
    """A process and all that it starts, in a session of its own."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.command, self.log = command, log
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as output:
            self._popen = subprocess.Popen(self.command, cwd=ROOT, stdout=output, stderr=output, start_new_session=True)

    def lives(self) -> bool:
        return self._popen.poll() is None

    def kill(self) -> None:
        """With -9, and everything that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()


class Endpoint:
    """The faulty endpoint, in its process."""

    def __init__(self, latency: float, faults: float, seed: int) -> None:
        command = [sys.executable, str(ROOT / "benchmarks" / "faulty_endpoint.py"), "--latency", str(latency)]
        command += ["--faults", str(faults), "--seed", str(seed)]
        self._popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.base_url = self._line().strip()

    def _line(self) -> str:
        assert self._popen.stdout is not None
        return self._popen.stdout.readline()

    def _asked(self, question: str) -> Any:
        to: IO[str] | None = self._popen.stdin
        assert to is not None
        to.write(f"{question}\n")
        to.flush()
        return json.loads(self._line())

    def count(self) -> int:
        """How many requests came."""
        return int(self._asked("count"))

    def reach(self, number: float, unless: Callable[[], bool] = lambda: False) -> bool:
        """Wait until so many requests came, and return True; or until `unless`, and return False."""
        wait_for(lambda: self.count() >= number or unless(), f"{number:.0f} requests")
        return self.count() >= number

    def played(self) -> dict[str, list[tuple[str, float | None]]]:
        """What was played to each prompt, by its hash: of each request the name and when it was answered, if it was."""
        return {prompt: [(name, at) for name, at in entries] for prompt, entries in self._asked("log").items()}

    def stop(self) -> None:
        self._popen.kill()
        self._popen.wait()


class Cluster:
    """PostgreSQL in a folder and on a port of its own; of another user where this one is root, as it requires."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.port = free_port()
        self.url = f"postgres://concord@127.0.0.1:{self.port}/postgres"
        self.programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.as_user: list[str] = []
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
            folder.parent.chmod(0o755)
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def make(self) -> None:
        self._run("initdb", "-U", "concord", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._run("pg_ctl", "-w", "-l", str(self.data.parent / "log"), "-o", options, "start")

    def restart(self) -> None:
        self._run("pg_ctl", "-w", "-m", "fast", "-l", str(self.data.parent / "log"), "restart")

    def stop(self) -> None:
        if self.data.exists():
            self._run("pg_ctl", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self.as_user, str(self.programs / program), "-D", str(self.data), *arguments]
        # To a file: the server would hold a pipe open.
        with (self.data.parent.parent / "postgresql.log").open("ab") as output:
            subprocess.run(command, stdout=output, stderr=output, cwd="/", check=True)


class Redis:
    """A Redis server on a port of its own, which keeps nothing."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._popen = subprocess.Popen(command, stdout=subprocess.DEVNULL)

        def answers() -> bool:
            with socket.socket() as tried:
                return tried.connect_ex(("127.0.0.1", self.port)) == 0

        wait_for(answers, "Redis answers")

    def stop(self) -> None:
        if self._popen is not None:
            self._popen.kill()
            self._popen.wait()


# --- what is found out ------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """One row of the table, and what is wrong."""

    trial: str
    started: float = field(default_factory=time.monotonic)
    wrong: list[str] = field(default_factory=list)

    def check(self, holds: bool, sentence: str) -> None:
        if not holds:
            self.wrong.append(sentence)

    def close(self, run: Run, requests: int, note: str) -> bool:
        """Print the row. Returns whether all is well."""
        seconds = time.monotonic() - self.started
        counts = run.progress()
        self.check(run.state == "finished", f"the run is {run.state}: {run.pause_reason}")
        self.check(counts["done"] + counts["failed"] == counts["total"], f"calls that never ended: {counts}")
        units = list(run.verdicts.values_list("response", "question", "repeat"))
        self.check(len(units) == counts["total"], f"{len(units):,} verdicts for {counts['total']:,} calls")
        self.check(len(set(units)) == len(units), "a verdict is there twice")
        row = (self.trial, f"{counts['total']:,}", f"{len(units):,}", f"{requests:,}", f"{seconds:.0f}", note)
        print("| " + " | ".join(row) + " |", flush=True)
        for sentence in self.wrong:
            print(f"  {self.trial}: {sentence}", flush=True)
        return not self.wrong


@dataclass(frozen=True)
class Snapshot:
    """How things stood right after a kill: calls with a stored verdict, calls under way, those of them that had got an
    answer when their worker died, and how often each prompt had been asked."""

    stored: set[int]
    under_way: set[int]
    heard: set[int]
    asked: dict[str, int]


def kills(stage: Stage) -> bool:
    """Exactly one verdict for each call, and no call asked again whose verdict had been stored."""
    report = Report("kills")
    chance = random.Random(stage.seed)
    endpoint = Endpoint(LATENCY["kills"], 0.0, stage.seed)
    stage.stack.callback(endpoint.stop)
    run = stage.planned("kills", endpoint.base_url)
    total = stage.calls("kills")
    moments = range(1, int(total * LAST_KILL))
    marks = [(mark, "worker") for mark in chance.sample(moments, max(1, round(WORKER_KILLS * stage.share)))]
    marks += [(mark, "web") for mark in chance.sample(moments, max(1, round(WEB_KILLS * stage.share)))]
    prompts = prompts_of(run)
    snapshots: list[Snapshot] = []
    killed: Counter[str] = Counter()
    with stage.running("web", "worker", "beat") as processes:
        seen = 0
        for mark, name in sorted(marks):
            # So that a worker is in the middle of its work.
            if not endpoint.reach(max(mark, seen + 1), unless=lambda: is_over(run)):
                break
            if name == "web":
                stage.page(run)  # it serves, until now
            killed_at = time.time()
            processes[name].kill()
            if name == "worker":
                time.sleep(STILL)
                snapshots.append(snapshot(run, endpoint, prompts, killed_at))
                seen = endpoint.count()
            killed[name] += 1
            processes[name].start()
        wait_for_end(run)
        page = stage.page(run)
    asked = {prompt: len(played) for prompt, played in endpoint.played().items()}
    paid_twice = [pk for kill in snapshots for pk in kill.stored if asked[prompts[pk]] > kill.asked[prompts[pk]]]
    report.check(not paid_twice, f"{len(paid_twice)} calls were asked again after their verdict was stored")
    attempts = dict(run.calls.values_list("pk", "attempts"))
    allowed = Counter(pk for kill in snapshots for pk in kill.under_way)
    repeats = {pk: asked[prompt] - 1 for pk, prompt in prompts.items()}
    unexplained = [pk for pk, more in repeats.items() if more > allowed[pk] + attempts[pk] - 1]
    report.check(not unexplained, f"{len(unexplained)} calls were asked again without a kill while they were under way")
    wrong = sum(state != expected("sound", prompts[pk]) for pk, state in run.verdicts.values_list("call", "state"))
    report.check(not wrong, f"{wrong} verdicts are not what the endpoint said")
    report.check(f"{total:,} judged" in page, "the run's page says something else")
    report.check(killed.total() == len(marks), f"the run was over after {killed.total()} of {len(marks)} kills")
    again, heard = sum(repeats.values()), sum(len(kill.heard) for kill in snapshots)
    note = (
        f"{killed['worker']} workers and {killed['web']} web servers killed; {again} calls under way were asked again, "
    )
    note += f"{heard} of them answered and not stored yet"
    return report.close(run, sum(asked.values()), note)


def snapshot(run: Run, endpoint: Endpoint, prompts: dict[int, str], killed_at: float) -> Snapshot:
    from judging.models import Call

    states = dict(run.calls.values_list("pk", "state"))
    under_way = {pk for pk, state in states.items() if state == Call.State.LEASED}
    played = endpoint.played()
    answers = {pk: [at for _, at in played.get(prompts[pk], [])] for pk in under_way}
    return Snapshot(
        stored={pk for pk, state in states.items() if state == Call.State.DONE},
        under_way=under_way,
        heard={pk for pk, moments in answers.items() if moments and (moments[-1] or killed_at) < killed_at},
        asked={prompt: len(entries) for prompt, entries in played.items()},
    )


def faults(stage: Stage) -> bool:
    """Every call ends as what the endpoint played last, and the page counts them so."""
    report = Report("faults")
    endpoint = Endpoint(LATENCY["faults"], SHARE_OF_FAULTS, stage.seed)
    stage.stack.callback(endpoint.stop)
    run = stage.planned("faults", endpoint.base_url)
    prompts = prompts_of(run)
    with stage.running("web", "worker", "beat"):
        wait_for_end(run)
        page, unreadable, failed = (stage.page(run, show) for show in ("all", "unreadable", "failed"))
    played = endpoint.played()
    last = {pk: expected(played[prompt][-1][0], prompt) for pk, prompt in prompts.items()}
    invented = [pk for pk, state in run.verdicts.values_list("call", "state") if state != last[pk]]
    report.check(not invented, f"{len(invented)} verdicts are not what the endpoint said last")
    silent = run.calls.filter(state="failed", error="").count()
    report.check(not silent, f"{silent} calls failed without a reason")
    ends = Counter(last.values())
    for name in ("unparsed", "error"):
        report.check(ends[name] > 0 or stage.share < 1, f"no call ended as {name}: the trial shows nothing")
    # The page, read as a person would.
    judged = run.progress()["total"] - ends["error"]
    said = f"{judged:,} judged" + (f" ({ends['unparsed']:,} of them unreadable)" if ends["unparsed"] else "")
    said += f", {ends['error']:,} failed" if ends["error"] else ""
    report.check(said in page, f"the run's page does not say “{said}”")
    by_reason = [int(found.replace(",", "")) for found in re.findall(r'<span class="num">([\d,]+) ×</span>', page)]
    report.check(sum(by_reason) == ends["error"], f"the reasons on the page add up to {sum(by_reason)}")
    for name, shown in (("unparsed", unreadable), ("error", failed)):
        rows = shown.count('<th class="num" scope="row">')
        report.check(rows == min(ends[name], 50), f"the page lists {rows} of {ends[name]} {name} calls")
    kinds = Counter(name for entries in played.values() for name, _ in entries)
    missing = set(FAULTS) - kinds.keys()
    report.check(not missing or stage.share < 1, f"never played: {sorted(missing)}")
    requests = sum(kinds.values())
    note = f"{(requests - kinds['sound']) / requests:.0%} of the requests got one of {len(FAULTS)} faults; "
    note += f"{ends['yes'] + ends['no']:,} values, {ends['unparsed']:,} unparsed, {ends['error']:,} errors"
    return report.close(run, requests, note)


def outages(stage: Stage) -> bool:
    """A run goes on by itself when the broker, and then the database, come back."""
    report = Report("outages")
    endpoint = Endpoint(LATENCY["outages"], 0.0, stage.seed)
    stage.stack.callback(endpoint.stop)
    run = stage.planned("outages", endpoint.base_url)
    prompts, total = prompts_of(run), stage.calls("outages")
    notes = []
    # Without a server behind it, a broker that goes away ends the worker, which its supervisor starts again.
    with stage.running("worker", "beat", again=stage.redis is None) as processes:
        endpoint.reach(total * 0.1)
        with broker_away(stage):
            time.sleep(OUTAGE)
        report.check(endpoint.count() < total, "no call was left after the outage: the trial shows nothing")
        notes.append(f"broker away for {OUTAGE:.0f} s, next request {seconds_to_next(endpoint, total):.0f} s later")
        if stage.cluster is not None:
            endpoint.reach(total * 0.75)
            stage.cluster.restart()
            notes.append(f"database restarted, next request {seconds_to_next(endpoint, total):.0f} s later")
        wait_for_end(run)
        for name, process in processes.items():
            report.check(process.lives(), f"the {name} process ended, see its log")
    asked = {prompt: len(played) for prompt, played in endpoint.played().items()}
    repeats = sum(asked.values()) - len(prompts)
    report.check(repeats == 0, f"{repeats} answers were lost and asked for again")
    return report.close(run, sum(asked.values()), "; ".join(notes))


def seconds_to_next(endpoint: Endpoint, total: int) -> float:
    """How long the next request takes to come; 0 where all have come already."""
    started, before = time.monotonic(), endpoint.count()
    if before >= total:
        return 0.0
    endpoint.reach(before + 1)
    return time.monotonic() - started


@contextmanager
def broker_away(stage: Stage) -> Iterator[None]:
    if stage.redis is not None:
        stage.redis.stop()
        yield
        stage.redis.start()
        return
    folder = stage.folder / "broker"
    away = folder.rename(folder.with_name("broker away"))
    folder.touch()  # a file, so that nobody begins a new folder
    yield
    folder.unlink()
    away.rename(folder)


TRIAL_OF: dict[str, Callable[[Stage], bool]] = {"kills": kills, "faults": faults, "outages": outages}


def prompts_of(run: Run) -> dict[int, str]:
    """The hash of the prompt of every call, by id; no two of them are the same."""
    from judging.methods import method_of
    from judging.models import Call

    method = method_of(run)
    calls = Call.objects.filter(run=run).select_related("item", "response", "question", "checklist")
    prompts = {call.pk: hash_of(method.messages(call)) for call in calls}
    assert len(set(prompts.values())) == len(prompts), "two calls have the same prompt"
    return prompts


def wait_for_end(run: Run) -> None:
    wait_for(lambda: is_over(run), "the end of the run", every=1.0)


def is_over(run: Run) -> bool:
    """Whether the run is over, or stands still for good. A database that is away says nothing."""
    from django.db import Error, connection

    try:
        run.refresh_from_db()
    except Error:
        connection.close()
        return False
    return run.state != "running"


def wait_for(look: Callable[[], Found], what: str, every: float = LOOK) -> Found:
    """What `look` finds once it finds anything. Raises TimeoutError after PATIENCE."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE:.0f} seconds for {what}")
        time.sleep(every)
    return found


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())

"""What live agreement costs when a round holds ten thousand annotations, and when it holds a million.

Run it with the project's Python from the repository, on SQLite or on a PostgreSQL server that may make databases:

    .venv/bin/python benchmarks/live_agreement.py
    .venv/bin/python benchmarks/live_agreement.py --database postgres://user@127.0.0.1:5432/postgres

It makes a database of its own, fills it by SQL, measures, prints one table, removes the database, and ends with exit
code 1 if a target is missed. Every annotation counts: a score, and in the round with checklists ten answers too.
"""

from __future__ import annotations

import argparse
import datetime
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from annotate.models import Task

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

SIZES = (10_000, 1_000_000)
OVERLAP = 3
SYSTEMS = 2
QUESTIONS = 10
MEASURED = 200
WARM_UP = 20
SUBMIT_TARGET_MS = 5.0
PANEL_TARGET_MS = 50.0
GROWTH = 1.5  # how much slower a submit among a million may be, which noise alone can reach


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--database", default="", help="URL of PostgreSQL; SQLite in a temporary folder without it")
    options.add_argument("--sizes", type=int, nargs=2, default=SIZES, metavar="ANNOTATIONS")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "CONCORD_VAR_DIR": folder, "DEBUG": "false"}
        os.environ |= {"SECRET_KEY": "a benchmark keeps no secrets, this is only long enough", "ALLOWED_HOSTS": "*"}
        os.environ["DATABASE_URL"] = given.database or f"sqlite:///{folder}/benchmark.sqlite3"
        import django

        django.setup()
        from django.test.runner import DiscoverRunner

        runner = DiscoverRunner(verbosity=0, interactive=False)
        databases = runner.setup_databases()
        try:
            return measure(tuple(given.sizes), urlsplit(os.environ["DATABASE_URL"]).scheme)
        finally:
            runner.teardown_databases(databases)


def measure(sizes: tuple[int, ...], database: str) -> int:
    from django.core.management import call_command

    print(f"{database}, {MEASURED} submits and requests each, milliseconds: median (95th percentile)")
    head = ("round", "annotations", "submit in all", "its agreement work", "panel request", "304")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    sound = True
    for kind, with_answers in (("scores", False), ("scores and 10 answers", True)):
        medians = []
        for size in sizes:
            annotations = size // (QUESTIONS + 1) if with_answers and size > 500_000 else size
            bench = Bench(annotations, with_answers=with_answers)
            call_command("audit_agreement", str(bench.round.pk), stdout=io.StringIO())
            submits, works = bench.submits()
            panels, unchanged = bench.panels()
            call_command("audit_agreement", str(bench.round.pk), stdout=io.StringIO())
            cells = (kind, f"{annotations:,}", *(shown(times) for times in (submits, works, panels, unchanged)))
            print("| " + " | ".join(cells) + " |", flush=True)
            medians.append(statistics.median(works))
            sound &= medians[-1] < SUBMIT_TARGET_MS and statistics.median(panels) < PANEL_TARGET_MS
        ratio = medians[-1] / medians[0]
        sound &= ratio < GROWTH
        print(f"\n{kind}: agreement work at the larger size / at the smaller: {ratio:.2f}\n")
    print("All targets reached." if sound else "A target was MISSED.")
    return 0 if sound else 1


def shown(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} ({statistics.quantiles(times, n=20)[-1]:.2f})"


class Bench:
    """An open round with this many counted annotations, one run of a judge on it, and tasks left to submit."""

    def __init__(self, annotations: int, *, with_answers: bool) -> None:
        from annotate.models import Item, Membership, Project, Response, Role, Round, User
        from judging import recount
        from tests import build

        number = Project.objects.count()
        self.project = Project.objects.create(slug=f"bench-{number}", name="Benchmark")
        self.people = [
            User.objects.create(username=f"person {number} {place}", password="!") for place in range(OVERLAP)
        ]
        self.reader = User.objects.create(username=f"reader {number}", password="!")
        for person in self.people:
            Membership.objects.create(project=self.project, user=person, role=Role.ANNOTATOR)
        Membership.objects.create(project=self.project, user=self.reader, role=Role.RESEARCHER)
        spare = MEASURED + WARM_UP
        items = (annotations // OVERLAP + spare) // SYSTEMS + 1
        Item.objects.bulk_create(
            (Item(project=self.project, external_id=f"item {n}", instruction="Write.") for n in range(items)),
            batch_size=2000,
        )
        pks = list(Item.objects.filter(project=self.project).values_list("pk", flat=True))
        Response.objects.bulk_create(
            (Response(item_id=pk, system=f"system {s}", text="Words.") for pk in pks for s in range(SYSTEMS)),
            batch_size=2000,
        )
        if with_answers:
            self._checklists(pks)
        kind = Round.Kind.CHECK_THEN_SCORE if with_answers else Round.Kind.DIRECT_SCORING
        self.round = Round.objects.create(project=self.project, name="Round", kind=kind, overlap=OVERLAP)
        self.round.open()
        self._label(annotations)
        recount.rebuild(self.round)
        self._judge(build.judge(self.project), "tick" if with_answers else "direct")
        self._settle()

    def _checklists(self, items: list[int]) -> None:
        from django.utils import timezone

        from annotate.models import Checklist, Question

        made = Checklist.objects.bulk_create(
            (Checklist(item_id=pk, version=1, state="approved", approved_at=timezone.now()) for pk in items),
            batch_size=2000,
        )
        Question.objects.bulk_create(
            (
                Question(checklist=checklist, position=place, text=f"Is point {place} met?")
                for checklist in made
                for place in range(1, QUESTIONS + 1)
            ),
            batch_size=2000,
        )

    def _label(self, annotations: int) -> None:
        """Fill the first tasks by SQL: seats submitted, annotations with scores, and answers."""
        from django.db import connection

        filled = annotations // OVERLAP
        score = "1 + (tasks.id * 7 + seats.seat * (tasks.id % 3)) % 5"
        answer = "CASE WHEN (questions.id + said.annotator_id * (questions.id % 4)) % 3 = 0 THEN 'no' ELSE 'yes' END"
        first = self.people[0].pk
        statements = [
            f"""UPDATE annotate_assignment SET state = 'submitted', annotator_id = {first} - 1 + seat
                WHERE task_id IN (SELECT id FROM annotate_task WHERE round_id = {self.round.pk}
                                  AND position <= {filled})""",
            f"""INSERT INTO annotate_annotation (task_id, annotator_id, assignment_id, state, surplus, score, effect,
                    comment, quotes, flags, written, version, last_token, exposure, active_seconds, started_at,
                    saved_at, submitted_at, withdrawn_because)
                SELECT tasks.id, seats.annotator_id, seats.id, 'submitted', {self.no()}, {score}, '', '', '{{}}',
                    '{{}}', '{{}}', 1, '', '{{}}', 60, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, ''
                FROM annotate_task tasks JOIN annotate_assignment seats ON seats.task_id = tasks.id
                WHERE tasks.round_id = {self.round.pk} AND seats.state = 'submitted'""",
            f"""INSERT INTO annotate_answer (annotation_id, question_id, about_other, value)
                SELECT said.id, questions.id, {self.no()}, {answer}
                FROM annotate_task tasks JOIN annotate_annotation said ON said.task_id = tasks.id
                JOIN annotate_question questions ON questions.checklist_id = tasks.checklist_id
                WHERE tasks.round_id = {self.round.pk}""",
        ]
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("ANALYZE")

    @staticmethod
    def no() -> str:
        from django.db import connection

        return "0" if connection.vendor == "sqlite" else "false"

    def _judge(self, judge: object, protocol: str) -> None:
        from unittest import mock

        from judging import runs

        with mock.patch("judging.tasks.work_run.apply_async"):
            self.run = runs.plan_judging(self.project, judge, protocol, self.round)  # type: ignore[arg-type]

    def _settle(self) -> None:
        """Two thirds of the calls get a verdict, by SQL."""
        from django.db import connection

        from judging import recount

        state = "CASE WHEN question_id IS NULL THEN 'score' WHEN id % 4 = 0 THEN 'no' ELSE 'yes' END"
        with connection.cursor() as cursor:
            cursor.execute(
                f"""INSERT INTO judging_verdict (run_id, call_id, response_id, "order", choice, question_id, repeat,
                        state, score, created_at)
                    SELECT run_id, id, response_id, '', '', question_id, repeat, {state},
                        CASE WHEN question_id IS NULL THEN 1 + id % 5 END, CURRENT_TIMESTAMP
                    FROM judging_call WHERE run_id = {self.run.pk} AND id % 3 > 0"""
            )
            cursor.execute(f"UPDATE judging_call SET state = 'done' WHERE run_id = {self.run.pk} AND id % 3 > 0")
            cursor.execute("ANALYZE")
        recount.rebuild_run(self.run)

    def left(self) -> list[Task]:
        """Tasks that nobody has labelled, with everything that a submit reads loaded as a page loads it."""
        tasks = self.round.tasks.order_by("-position").select_related("round", "item", "response", "checklist")
        return list(tasks.prefetch_related("checklist__questions")[: MEASURED + WARM_UP])

    def submits(self) -> tuple[list[float], list[float]]:
        """Milliseconds of whole submits through the door of the screen, and of the agreement work in each."""
        from django.utils import timezone

        from annotate import labelling
        from annotate.contents import Content
        from annotate.models import Annotation
        from annotate.signals import labels_changed
        from judging import moves

        works: list[float] = []

        def timed(**signal: object) -> None:
            works.append(milliseconds(lambda: moves.on_labels_changed(**signal)))  # type: ignore[arg-type]

        labels_changed.disconnect(sender=Annotation, dispatch_uid="live agreement")
        labels_changed.connect(timed, sender=Annotation)
        totals = []
        try:
            for number, task in enumerate(self.left(), start=1):
                person = self.people[number % OVERLAP]
                seat = task.assignments.filter(state="free")[:1].get()
                lease = timezone.now() + datetime.timedelta(hours=1)
                task.assignments.filter(pk=seat.pk).update(state="leased", annotator=person, leased_until=lease)
                Annotation.objects.create(task=task, annotator=person)
                questions = task.checklist.questions.values_list("pk", flat=True) if task.checklist else ()
                answers = {pk: "no" if (pk + number) % 3 == 0 else "yes" for pk in questions}
                content = Content(1 + number % 5, answers, "none" if answers else "")

                def submit() -> None:
                    labelling.save(task, person, content, token=f"{number}", version=0, submit=True, ask=False)  # noqa: B023

                totals.append(milliseconds(submit))
        finally:
            labels_changed.disconnect(timed, sender=Annotation)
            moves.connect()
        return totals[WARM_UP:], works[WARM_UP:]

    def panels(self) -> tuple[list[float], list[float]]:
        """Milliseconds of the panel's request with new figures, and of one that is answered by 304."""
        from django.test import Client

        client = Client(headers={"HX-Request": "true"})
        client.force_login(self.reader)
        address = f"/projects/{self.project.slug}/rounds/{self.round.pk}/agreement/"
        tag = ""

        def full() -> None:
            nonlocal tag
            answer = client.get(address, secure=True)
            assert answer.status_code == 200, answer.status_code
            tag = answer.headers["ETag"]

        def known() -> None:
            assert client.get(address, secure=True, headers={"If-None-Match": tag}).status_code == 304

        answered = [milliseconds(full) for _ in range(MEASURED + WARM_UP)]
        return answered[WARM_UP:], [milliseconds(known) for _ in range(MEASURED)]


def milliseconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    sys.exit(main())

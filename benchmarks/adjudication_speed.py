"""How long a page of the adjudication list takes in a round of a hundred thousand tasks on which people disagree.

Run it with the project's Python from the repository:

    .venv/bin/python benchmarks/adjudication_speed.py
    .venv/bin/python benchmarks/adjudication_speed.py --database postgres://user@127.0.0.1:5432/postgres

It makes a database of its own with one round that three people have labelled, decides one task of a hundred, and asks
for the first page of the list, one in the middle and the last, as a browser would but without the network. It also
times what keeps the list right: the statement that every submission runs. Exit code 1 if a page takes too long, or a
size that is kept is wrong.
"""

from __future__ import annotations

import argparse
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
    from annotate.models import Round

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

TRIES = 7
MOST_MS = 500
BATCH = 5000


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--database", default="", help="URL of a PostgreSQL server; SQLite without it")
    options.add_argument("--kind", default="direct_scoring", choices=("direct_scoring", "check_then_score"))
    options.add_argument("--tasks", type=int, default=100_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "CONCORD_VAR_DIR": folder, "DEBUG": "false"}
        os.environ |= {"SECRET_KEY": "a benchmark keeps no secrets, this is only long enough", "ALLOWED_HOSTS": "*"}
        os.environ |= {"CONCORD_HTTPS": "false", "CELERY_BROKER_URL": "memory://"}
        from benchmarks.judge_speed import own_database

        with own_database(given.database, Path(folder)):
            return measure(given.tasks, given.kind)


def measure(tasks: int, kind: str) -> int:
    from django.core.management import call_command
    from django.db import connection, transaction
    from django.test import Client
    from django.urls import reverse

    from annotate import adjudication, prepared
    from benchmarks.annotation_speed import fill
    from tests import build

    call_command("collectstatic", interactive=False, verbosity=0)
    round = fill(tasks, kind)
    label(round)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    adjudication.keep_sizes(round)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    client = Client()
    client.force_login(build.member(round.project, "researcher"))
    found = adjudication.disagreements(round, "undecided", 1)
    last = found.page.paginator.num_pages
    listing = reverse("adjudication", args=[round.project.slug, round.pk])
    kind_of = urlsplit(os.environ["DATABASE_URL"]).scheme
    print(f"{kind_of}, {kind}, {tasks:,} tasks, {found.undecided:,} undecided, {found.decided:,} decided")
    print("| what | ms |")
    print("|---|---|")

    def page(address: str) -> Callable[[], object]:
        def ask() -> None:
            assert client.get(address).status_code == 200

        return ask

    sound = True
    for what, ask in {
        "first page": page(listing),
        f"page {last // 2:,}": page(f"{listing}?page={last // 2}"),
        f"page {last:,}, the last": page(f"{listing}?page={last}"),
        "first page of the decided": page(f"{listing}?show=decided"),
        "the next undecided task": page_after(round),
    }.items():
        ms = timed(ask)
        sound &= ms < MOST_MS
        print(f"| {what} | {ms:.0f} |", flush=True)
    task = found.tasks[0]
    with transaction.atomic():  # as in a submission, which is committed once
        took = timed(lambda: prepared.together(adjudication.keep_size(task)))
        print(f"| keeping the size, in each submission | {took:.2f} |")
    wrong = adjudication.wrong_sizes(round)
    print(f"\nWrong sizes: {wrong}")
    print("All targets reached." if sound and not wrong else "A target was MISSED.")
    return 0 if sound and not wrong else 1


def page_after(round: Round) -> Callable[[], object]:
    """Finding the neighbour of a task in the middle of the list."""
    from annotate import adjudication

    listed = adjudication.listed(round, "undecided")
    middle = listed[listed.count() // 2]

    def find() -> None:
        assert adjudication.neighbour(middle, "next")

    return find


def timed(ask: Callable[[], object]) -> float:
    """The median of some tries after a first one, in milliseconds."""
    took = []
    for _ in range(TRIES + 1):
        begun = time.perf_counter()
        ask()
        took.append((time.perf_counter() - begun) * 1000)
    return statistics.median(took[1:])


def label(round: Round) -> None:
    """Submit every seat of the round; of ten tasks people agree on one. Decide one task of a hundred."""
    from django.utils import timezone

    from annotate.contents import Content
    from annotate.models import Adjudication, Annotation, Answer, Assignment, Question, Task, User

    people = list(User.objects.order_by("pk"))
    now = timezone.now()
    for seat in range(1, round.overlap + 1):
        Assignment.objects.filter(task__round=round, seat=seat).update(state="submitted", annotator=people[seat])
    seats = Assignment.objects.filter(task__round=round).values_list("pk", "task", "task__position", "seat")
    made = Annotation.objects.bulk_create(
        (
            Annotation(
                task_id=task,
                annotator=people[seat],
                assignment_id=pk,
                state="submitted",
                submitted_at=now,
                score=1 + (position * seat * (position % 10 > 0)) % 5,
                version=1,
            )
            for pk, task, position, seat in seats.iterator()
        ),
        batch_size=BATCH,
    )
    asked: dict[int, list[int]] = {}
    for checklist, question in Question.objects.values_list("checklist", "pk"):
        asked.setdefault(checklist, []).append(question)
    checklists = dict(Task.objects.filter(round=round, checklist__isnull=False).values_list("pk", "checklist"))
    Answer.objects.bulk_create(
        (
            Answer(annotation=one, question_id=question, value="yes" if (question + (one.score or 0)) % 3 else "no")
            for one in made
            for question in asked.get(checklists.get(one.task_id, 0), [])
        ),
        batch_size=BATCH,
    )
    decided = Task.objects.filter(round=round, position__in=range(1, round.size, 100))
    decision = Content(3).as_json()
    Adjudication.objects.bulk_create(
        Adjudication(task=task, adjudicator=people[0], content=decision) for task in decided
    )
    Task.objects.filter(pk__in=decided.values("pk")).update(decided=True)


if __name__ == "__main__":
    sys.exit(main())

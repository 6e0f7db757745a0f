"""The first screen of a task is light: its page and all files that the page names come to at most 60 kB, compressed.

The page of a task that is in hand takes at most ten queries, with every cache empty. Start, which hands the task out
and leads there, comes before it.
"""

from __future__ import annotations

import gzip
import re

import pytest
from django.contrib.staticfiles import finders
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate import assignment
from annotate.models import Project, Round, Task, User
from tests import build

MOST_BYTES = 60_000
MOST_QUERIES = 10  # of the page
MOST_FROM_START = 23  # of Start and the page, for somebody who comes to the round for the first time


@pytest.fixture
def task(project: Project, ann: User) -> Task:
    """Two long responses that share little, ten questions, and some tasks behind the annotator."""
    for number in range(4):
        item = build.item(project, instruction=" ".join(f"want-{number}-{n}" for n in range(300)))
        for response in item.responses.all():
            response.text = " ".join(f"word-{response.pk}-{n * 7919 % 9973}" for n in range(700))
            response.save()
        build.checklist(item, *(f"Is requirement {n * 7919 % 9973} of the instruction met?" for n in range(10)))
    round = build.round(project, Round.Kind.PAIRWISE_CHECKLIST, overlap=1, guidelines="Read. " * 300)
    found = assignment.next_task(round, ann)
    assert found is not None
    return found


def files_of(html: str) -> set[str]:
    """The static files that the page names, with the modules that they import."""
    names = set(re.findall(r'(?:src|href)="/static/([^"]+)"', html))
    waiting = {name for name in names if name.endswith(".js")}
    while waiting:
        name = waiting.pop()
        found = finders.find(name)
        assert isinstance(found, str), name
        with open(found, encoding="utf-8") as file:
            imported = re.findall(r'from "\./([^"]+)"', file.read())
        new = {f"{name.rpartition('/')[0]}/{each}" for each in imported} - names
        names |= new
        waiting |= new
    return names


def asked(queries: CaptureQueriesContext) -> list[str]:
    """Without the savepoints of a test, which are transactions elsewhere."""
    texts = [str(query["sql"]) for query in queries]
    return [text for text in texts if not text.startswith(("SAVEPOINT", "RELEASE SAVEPOINT"))]


def test_the_way_from_start_to_the_first_screen_is_short(client: Client, task: Task, abe: User) -> None:
    client.force_login(abe)
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        screen = client.get(reverse("annotate", args=["garden", task.round_id]), follow=True)
    assert screen.status_code == 200
    assert len(screen.redirect_chain) == 1
    assert len(asked(queries)) <= MOST_FROM_START, asked(queries)


def test_the_first_screen_is_light(client: Client, task: Task, ann: User) -> None:
    client.force_login(ann)
    address = reverse("task", args=["garden", task.pk])
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        page = client.get(address).content
    assert len(asked(queries)) <= MOST_QUERIES, asked(queries)
    names = files_of(page.decode())
    assert {"css/concord.css", "js/annotate.js", "js/annotate/saving.js"} <= names
    size = len(gzip.compress(page))
    for name in names:
        found = finders.find(name)
        assert isinstance(found, str)
        with open(found, "rb") as file:
            size += len(gzip.compress(file.read()))
    assert size < MOST_BYTES

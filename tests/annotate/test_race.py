"""Sixty annotators at once on twenty tasks of three seats, through the pages: invariant 1."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections
from django.db.models import Count
from django.test import Client
from django.urls import resolve, reverse

from annotate import assignment, labelling
from annotate.contents import Content
from annotate.models import Annotation, Assignment, Project, Role, Round, User
from tests import build

PEOPLE, TASKS, OVERLAP = 60, 20, 3


@pytest.fixture
def round(project: Project) -> Round:
    for _ in range(TASKS):
        build.item(project, systems=("Aster",))
    return build.round(project, overlap=OVERLAP)


@pytest.mark.django_db(transaction=True)
def test_every_seat_is_filled_once_and_whoever_gets_none_is_told_so(project: Project, round: Round) -> None:
    clients = [logged_in(build.member(project, Role.ANNOTATOR, f"person{number}")) for number in range(PEOPLE)]
    together = Barrier(PEOPLE)

    def label(number: int) -> tuple[int, str]:
        """Go on until the pages say that nothing is left: how many tasks were submitted, and the last page."""
        together.wait()
        return label_all(project, round, clients[number], by_script=number % 2 == 0)

    with ThreadPoolExecutor(PEOPLE) as pool:
        ends = list(pool.map(label, range(PEOPLE)))

    assert Annotation.objects.counted(round).count() == TASKS * OVERLAP == sum(done for done, _ in ends)
    assert not Annotation.objects.filter(surplus=True).exists()
    per_task = Annotation.objects.counted(round).order_by().values("task").annotate(n=Count("annotator", distinct=True))
    assert [row["n"] for row in per_task] == [OVERLAP] * TASKS
    assert set(Assignment.objects.values_list("state", flat=True)) == {"submitted"}
    friendly = "Everything is taken at the moment|You have done everything in this round|Nothing is left to label"
    for _, page in ends:
        assert re.search(friendly, page), page


def logged_in(person: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person)
    return client


def label_all(project: Project, round: Round, client: Client, *, by_script: bool) -> tuple[int, str]:
    done = 0
    while True:
        reply = client.get(reverse("annotate", args=[project.slug, round.pk]))
        connections.close_all()
        if reply.status_code == 503:  # a friendly page too: its database is busy
            assert "The server is busy" in reply.content.decode()
            continue
        if reply.status_code == 200:
            return done, reply.content.decode()
        task = resolve(reply.headers["Location"]).kwargs["pk"]
        fields = {"score": "3", "version": "0", "token": "once", "action": "submit"}
        reply = client.post(reverse("task_save" if by_script else "task", args=[project.slug, task]), fields)
        connections.close_all()
        assert reply.status_code in (200 if by_script else 302, 503)
        done += reply.status_code != 503


@pytest.mark.django_db(transaction=True)
def test_two_tabs_that_lost_their_seats_both_submit(project: Project, round: Round) -> None:
    """Each takes a seat of its task again within its submission, and both count themselves in the same row."""
    person = build.member(project, Role.ANNOTATOR)
    assignment.participation(round, person)
    tasks = list(round.tasks.all())
    Annotation.objects.bulk_create(Annotation(task=task, annotator=person) for task in tasks)
    together = Barrier(2, timeout=60)  # seconds, for a tab that fails

    def submit(tab: int) -> list[bool]:
        said = []
        for task in tasks[tab::2]:
            together.wait()
            said.append(labelling.save(task, person, Content(score=3), token="t", version=0, submit=True).surplus)
        connections.close_all()
        return said

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(submit, range(2))) == [[False] * (TASKS // 2)] * 2
    assert assignment.participation(round, person).submitted == TASKS

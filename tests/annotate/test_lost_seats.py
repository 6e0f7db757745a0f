"""Who works on after the seat was lost: told at once, nothing blocked, and given a seat again where one is free."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate import assignment, supervision
from annotate.models import Annotation, Assignment, Participation, Project, Task, User
from tests import build

TOLD = 'id="lost">This task is no longer held for you'
NOT_TOLD = 'id="lost" hidden>This task is no longer held for you'


@pytest.fixture
def task(project: Project, ann: User, client: Client) -> Task:
    build.item(project, systems=("Aster",))
    found = assignment.next_task(build.round(project, overlap=1), ann)
    assert found is not None
    client.force_login(ann)
    return found


def expire(task: Task) -> None:
    Assignment.objects.filter(task=task).update(leased_until=timezone.now() - datetime.timedelta(minutes=1))


def save(client: Client, task: Task, version: int = 0, **fields: Any) -> Any:
    sent = {"action": "save", "version": version, "token": f"t.{version}", "comment": "a thought", **fields}
    return client.post(reverse("task_save", args=["garden", task.pk]), sent).json()


def page(client: Client, task: Task) -> str:
    return client.get(reverse("task", args=["garden", task.pk])).content.decode()


def test_who_holds_the_task_is_told_nothing(client: Client, task: Task) -> None:
    assert save(client, task)["held"] is True
    assert NOT_TOLD in page(client, task)


def test_whose_seat_was_taken_is_told_and_keeps_what_they_write(client: Client, task: Task, abe: User) -> None:
    expire(task)
    assert assignment.next_task(task.round, abe) == task
    assert save(client, task)["held"] is False
    assert TOLD in page(client, task)
    assert "a thought" in page(client, task)
    refused = client.post(reverse("task", args=["garden", task.pk]), {"action": "submit", "version": 1})
    assert (refused.status_code, TOLD in refused.content.decode()) == (400, True)
    assert Assignment.objects.get(task=task).annotator == abe
    assert assignment.skip(task, abe, "")
    assert save(client, task, 1)["held"] is True
    assert Assignment.objects.get(task=task, state="leased").annotator == Annotation.objects.get(version=2).annotator


def test_a_reload_takes_a_free_seat_again(client: Client, task: Task, ann: User, bob: User) -> None:
    supervision.release(task.round, bob, annotator=ann)
    assert NOT_TOLD in page(client, task)
    assert Assignment.objects.get(task=task).annotator == ann


def test_who_skipped_the_task_in_another_tab_gets_it_back_by_no_save(client: Client, task: Task, ann: User) -> None:
    assert assignment.skip(task, ann, "")
    assert save(client, task)["held"] is False
    assert Assignment.objects.get(task=task, state="free")


def test_who_writes_a_key_takes_part_in_nothing(client: Client, project: Project, bob: User) -> None:
    build.item(project, systems=("Aster",))
    task = build.round(project, purpose="training").tasks.get()
    client.force_login(bob)
    address = reverse("training_key_save", args=["garden", task.round_id, task.position])
    assert client.post(address, {"action": "save", "version": 0, "token": "t.1", "score": 3}).json()["version"] == 1
    assert not Participation.objects.filter(annotator=bob).exists()

"""A save is stored and its answer lost: the next one of the same writer is no conflict, and one of any other is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate import assignment, labelling
from annotate.contents import Content
from annotate.labelling import StaleSave
from annotate.models import Annotation, Project, Task, User
from tests import build

Post = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def task(project: Project, ann: User) -> Task:
    build.item(project, systems=("Aster",))
    found = assignment.next_task(build.round(project, overlap=1), ann)
    assert found is not None
    return found


@pytest.fixture
def post(client: Client, task: Task, ann: User) -> Post:
    """`post("ann.1", "text")` is a save that never heard of another one; returns the status and the answer."""
    client.force_login(ann)
    address = reverse("task_save", args=["garden", task.pk])

    def posted(token: str, comment: str, action: str = "save", **fields: Any) -> tuple[int, dict[str, Any]]:
        sent = {"score": 3, "version": 0, "action": action, "token": token, "comment": comment, **fields}
        reply = client.post(address, sent)
        return reply.status_code, reply.json()

    return posted


def comment(task: Task) -> str:
    return Annotation.objects.get(task=task).comment


def test_a_later_text_of_the_same_writer_is_stored(post: Post, task: Task) -> None:
    post("ann.1", "one")
    assert post("ann.9", "nine")[0] == 200
    assert post("ann.10", "ten")[1]["version"] == 3
    assert comment(task) == "ten"


def test_an_earlier_text_that_arrives_later_is_not(post: Post, task: Task) -> None:
    post("ann.2", "two")
    assert post("ann.1", "one")[0] == 409
    assert comment(task) == "two"


@pytest.mark.parametrize("token", ["other.2", "ann", "2", "", "ann.", "ann.x", ".2", "xann.2"])
def test_another_writer_is_told_of_the_conflict(post: Post, task: Task, token: str) -> None:
    post("ann.1", "one")
    assert post(token, "two")[0] == 409
    assert comment(task) == "one"


@pytest.mark.parametrize("first", ["", "x", ".1"])
def test_a_form_without_the_script_is_told_of_the_conflict(post: Post, task: Task, first: str) -> None:
    post(first, "one")
    assert post("", "two")[0] == 409
    assert post(".2", "two")[0] == 409
    assert comment(task) == "one"


def test_a_submission_after_a_lost_save_is_taken(post: Post, task: Task) -> None:
    post("ann.1", "one")
    assert "next" in post("ann.1", "one", "submit")[1]
    assert Annotation.objects.counted(task.round).get().comment == "one"


def test_a_submission_after_a_lost_one_corrects_it(post: Post, task: Task) -> None:
    post("ann.1", "one", "submit")
    assert post("other.2", "two", "submit")[0] == 410
    assert "next" in post("ann.2", "two", "submit", score=5)[1]
    stored = Annotation.objects.counted(task.round).get()
    assert (stored.comment, stored.score, stored.revisions.get().content["score"]) == ("two", 5, 3)


def test_a_correction_after_a_lost_one_is_taken(post: Post, task: Task) -> None:
    post("ann.1", "one", "submit")
    post("ann.2", "two", "correct", version=1)
    assert post("other.3", "three", "correct", version=1)[0] == 409
    assert "next" in post("ann.3", "three", "correct", version=1)[1]
    assert comment(task) == "three"


def test_a_key_after_a_lost_one_is_taken(project: Project, bob: User) -> None:
    build.item(project, systems=("Aster",))
    task = build.round(project, purpose="training").tasks.select_related("round").get()
    Annotation.objects.create(task=task, annotator=bob)
    labelling.write_key(task, bob, Content(score=3), token="ann.1", version=0)
    with pytest.raises(StaleSave):
        labelling.write_key(task, bob, Content(score=4), token="other.2", version=0)
    assert labelling.write_key(task, bob, Content(score=5), token="ann.2", version=0).score == 5

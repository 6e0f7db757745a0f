"""The annotation screen over HTTP: what it shows, saves, refuses and never tells."""

from __future__ import annotations

import datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate import assignment
from annotate.models import Annotation, Assignment, Project, Round, Task, User
from tests import build

SECRETS = ("Zinnia-7B", "Yarrow-70B")


@pytest.fixture
def checked(project: Project, ann: User) -> Task:
    item = build.item(project, systems=SECRETS[:1], instruction="Name *one* tree.", language="en")
    build.checklist(item, "Is it a tree?", "Is it one?")
    task = assignment.next_task(build.round(project, "check_then_score", overlap=1), ann)
    assert task is not None
    return task


@pytest.fixture
def at(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


def address(task: Task, name: str = "task") -> str:
    return reverse(name, args=[task.round.project.slug, task.pk])


def filled(task: Task, **fields: object) -> dict[str, object]:
    assert task.checklist is not None
    answers = {f"answer-{question.pk}": "yes" for question in task.checklist.questions.all()}
    return {"version": 0, "token": "t1", "score": 4, "effect": "easier", **answers, **fields}


def test_start_leads_to_a_task_and_submit_to_the_next(at: Client, project: Project, ann: User) -> None:
    for _ in range(2):
        build.item(project, systems=("Aster",))
    round = build.round(project, overlap=1)
    start = reverse("annotate", args=[project.slug, round.pk])
    first = at.get(start)
    assert first.status_code == 302
    reply = at.post(first["Location"], {"version": 0, "token": "a", "score": 3, "action": "submit"}, follow=True)
    assert reply.redirect_chain[-1][0] != first["Location"]
    assert "1 submitted, 1 left for you" in reply.content.decode()
    second = reply.redirect_chain[-1][0]
    done = at.post(second, {"version": 0, "token": "b", "score": 3}, follow=True)
    assert "You have done everything in this round" in done.content.decode()
    assert Annotation.objects.counted(round).count() == 2


def test_a_draft_is_there_again_after_a_reload(at: Client, checked: Task) -> None:
    reply = at.post(address(checked, "task_save"), filled(checked, comment="so <far>"))
    assert reply.json()["version"] == 1
    page = at.get(address(checked)).content.decode()
    assert "so &lt;far&gt;" in page
    assert page.count(" checked") == 4


def test_saving_from_an_older_version_answers_409_with_what_is_stored(at: Client, checked: Task) -> None:
    at.post(address(checked, "task_save"), filled(checked, comment="first"))
    reply = at.post(address(checked, "task_save"), filled(checked, comment="second", token="t2"))
    assert reply.status_code == 409
    assert reply.json()["stored"]["comment"] == "first"
    assert reply.json()["version"] == 1


def test_submitting_an_older_version_shows_both_and_loses_neither(at: Client, checked: Task) -> None:
    at.post(address(checked, "task_save"), filled(checked, comment="from the other tab"))
    reply = at.post(address(checked), filled(checked, comment="from this tab", token="t2"))
    page = reply.content.decode()
    assert reply.status_code == 409
    assert "from the other tab" in page
    assert "from this tab" in page
    assert 'name="version" value="1"' in page
    assert Annotation.objects.get(task=checked).state == "draft"


def test_the_script_submits_and_is_told_where_to_go(at: Client, checked: Task) -> None:
    reply = at.post(address(checked, "task_save"), filled(checked, action="submit"))
    assert reply.json()["next"] == reverse("annotate", args=["garden", checked.round_id])
    again = at.post(address(checked, "task_save"), filled(checked, action="submit", token="other"))
    assert again.status_code == 410
    assert again.json()["next"]


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"score": 9}, 400, "whole number from 1 to 5"),
        ({"answer-999999": "yes"}, 400, "not on this checklist"),
        ({"effect": "great"}, 400, "easier, no effect or harder"),
        ({"comment": "x" * 20_000}, 400, "shorten it to 10,000"),
        ({"version": "x"}, 409, "another tab"),
        ({"score": "", "action": "submit"}, 400, "Still to answer: the score"),
    ],
)
def test_bad_input_is_a_sentence_and_stores_nothing(
    at: Client, checked: Task, fields: dict[str, object], status: int, sentence: str
) -> None:
    reply = at.post(address(checked, "task_save"), filled(checked, **fields))
    assert reply.status_code == status
    assert sentence in reply.json()["error"]
    assert Annotation.objects.get(task=checked).version == 0


def test_a_refused_form_keeps_what_was_written(at: Client, checked: Task) -> None:
    reply = at.post(address(checked), filled(checked, score="", comment="long thought"))
    assert reply.status_code == 400
    page = reply.content.decode()
    assert "Still to answer: the score." in page
    assert "long thought" in page


def test_a_task_of_somebody_else_is_not_shown(client: Client, checked: Task, abe: User) -> None:
    client.force_login(abe)
    assert client.get(address(checked)).status_code == 302
    assert client.post(address(checked, "task_save"), filled(checked)).status_code == 403
    assert not Annotation.objects.filter(annotator=abe).exists()


def test_skipping_leads_on_and_remembers_why(at: Client, checked: Task) -> None:
    reply = at.post(address(checked), {"action": "skip", "reason": "too long"}, follow=True)
    assert "somebody else will get that task" in reply.content.decode()
    assert Assignment.objects.get(task=checked, state="skipped").reason == "too long"


def test_when_everything_is_taken_the_page_says_when_to_come_back(client: Client, checked: Task, abe: User) -> None:
    until = timezone.now() + datetime.timedelta(minutes=30)
    Assignment.objects.filter(task=checked).update(leased_until=until)
    client.force_login(abe)
    page = client.get(reverse("annotate", args=["garden", checked.round_id])).content.decode()
    assert f"after {until:%H:%M} (UTC)" in page


def test_a_late_submission_is_said_to_be_surplus(at: Client, checked: Task, abe: User) -> None:
    Assignment.objects.filter(task=checked).update(leased_until=timezone.now() - datetime.timedelta(minutes=1))
    assert assignment.next_task(checked.round, abe) == checked
    reply = at.post(address(checked), filled(checked), follow=True)
    assert "Kept, but not counted" in reply.content.decode()


def test_hostile_texts_are_shown_and_never_run(at: Client, project: Project, ann: User) -> None:
    attack = "<script>alert(1)</script><img src=http://evil.example/x.png onerror=alert(2)>[a](javascript:alert(3))"
    item = build.item(project, systems=("Aster",), instruction=attack)
    item.responses.update(text=attack)
    build.checklist(item, "Is <script>alert(4)</script> here?")
    task = assignment.next_task(build.round(project, "check_then_score"), ann)
    assert task is not None
    page = at.get(address(task)).content.decode()
    # "alert(" stands in the page as text; no tag or attribute of the attack does.
    assert "<script>alert" not in page
    assert "<img" not in page
    assert 'href="javascript' not in page


def test_nothing_an_annotator_gets_names_a_system_or_another_label(client: Client, project: Project) -> None:
    """Invariant 3, byte by byte: bodies, headers and addresses of everything on the annotator's way."""
    alone = build.member(project, "annotator", "alone")
    other = build.member(project, "annotator", "Other-Person")
    item = build.item(project, systems=SECRETS, instruction="Name one tree.", metadata={"model": "Metadata-Secret"})
    build.checklist(item)
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE, overlap=2)
    for task in round.tasks.all():
        said = build.submitted(task, other, 2)
        Annotation.objects.filter(pk=said.pk).update(comment="Comment-Secret")
    client.force_login(alone)
    seen = []
    for path in (reverse("home"), reverse("project", args=["garden"])):
        seen.append(client.get(path))
    for _ in range(2):
        shown = client.get(reverse("annotate", args=["garden", round.pk]), follow=True)
        where = shown.redirect_chain[-1][0]
        task = Task.objects.get(pk=int(where.rstrip("/").split("/")[-1]))
        seen += [shown, client.post(address(task, "task_save"), filled(task))]
        seen += [client.post(address(task, "task_save"), filled(task, token="x", comment="late"))]
        seen += [client.post(where, filled(task, version=1, token="y"), follow=True)]
    for reply in seen:
        hops = [url for url, _ in getattr(reply, "redirect_chain", [])]
        everything = reply.content.decode() + str(reply.headers) + " ".join(hops)
        for forbidden in (*SECRETS, "Other-Person", "Comment-Secret", "Metadata-Secret"):
            assert forbidden not in everything
    assert len(seen) == 10

"""Whatever is sent to the annotation screen: a sentence and a 4xx, nothing stored, and nothing lost."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate import assignment
from annotate.models import Annotation, Answer, Assignment, Project, Round, Task, User
from tests import build

KINDS = {"one": Round.Kind.CHECK_THEN_SCORE, "pair": Round.Kind.PAIRWISE_CHECKLIST}


@pytest.fixture
def at(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


@pytest.fixture
def give(project: Project, ann: User) -> Callable[[str], Task]:
    """A task of each kind with two questions, in Ann's hands with a draft that was saved before."""

    def given(kind: str) -> Task:
        item = build.item(project, systems=("Aster", "Briar")[: 1 + (kind == "pair")])
        build.checklist(item, "Is it short?", "Is it true?")
        build.checklist(build.item(project), "A question of another checklist")
        round = build.round(project, KINDS[kind], overlap=2, category=item.category, sample_size=1)
        task = assignment.next_task(round, ann)
        assert task is not None
        return Task.objects.with_texts().get(pk=task.pk)

    return given


def fields(task: Task, **more: Any) -> dict[str, Any]:
    """A complete form."""
    assert task.checklist is not None
    ends = ("-left", "-right") if task.other_id else ("",)
    answers = {f"answer-{q.pk}{end}": "yes" for q in task.checklist.questions.all() for end in ends}
    whole = {"preference": 2} if task.other_id else {"score": 4, "effect": "none"}
    return {"version": 1, "token": "new", **answers, **whole, **more}


def where(task: Task, name: str) -> str:
    return reverse(name, args=["garden", task.pk])


def stored(task: Task) -> tuple[Any, ...]:
    """Everything that is kept of the task, seats included."""
    annotation = Annotation.objects.filter(task=task).values().first()
    return annotation, list(Answer.objects.values()), list(Assignment.objects.filter(task=task).values())


def saved(at: Client, task: Task) -> None:
    """A draft that must survive whatever comes next."""
    reply = at.post(where(task, "task_save"), fields(task, version=0, token="old", comment="written before"))
    assert reply.status_code == 200


ONE: dict[str, tuple[dict[str, Any], str]] = {
    "a score above the scale": ({"score": 6}, "whole number from 1 to 5"),
    "a score below the scale": ({"score": 0}, "whole number from 1 to 5"),
    "half a score": ({"score": "3.5"}, "whole number from 1 to 5"),
    "a score in other digits": ({"score": "４"}, "whole number from 1 to 5"),
    "a score without end": ({"score": "9" * 5000}, "whole number from 1 to 5"),
    "a word for a score": ({"score": "good"}, "whole number from 1 to 5"),
    "an unknown answer": ({"answer-own": "maybe"}, "must be one of: yes, no"),
    "an answer that this round does not offer": ({"answer-own": "na"}, "must be one of: yes, no"),
    "an answer to a question of another checklist": ({"answer-foreign": "yes"}, "not on this checklist"),
    "an answer to a question that is nowhere": ({"answer-987654": "yes"}, "not on this checklist"),
    "an answer to no number": ({"answer-x": "yes"}, "not on this checklist"),
    "an answer about a side that is not there": ({"answer-own-left": "yes"}, "not on this checklist"),
    "an unknown effect": ({"effect": "great"}, "easier, no effect or harder"),
    "a preference in a round of scores": ({"preference": 3}, "does not ask for everything"),
    "a written checklist in a round of scores": ({"safe": "yes"}, "does not ask for everything"),
    "a comment of a megabyte": ({"comment": "x" * 1_000_000}, "shorten it to 10,000"),
    "a passage that is too long": ({"quote-own": "x" * 2_001}, "shorten it to 2,000"),
    "a note that is too long": ({"note-checklist": "x" * 501}, "shorten it to 500"),
    "a comment with NUL": ({"comment": "a\x00b"}, "control characters"),
    "a comment with an escape": ({"comment": "a\x1b[31mb"}, "control characters"),
    "a passage with a bell": ({"quote-whole": "a\x07"}, "control characters"),
    "a comment with a control sequence of eight bits": ({"comment": "a\x9b31mb"}, "control characters"),
    "a note with a line end of mainframes": ({"note-checklist": "a\x85b"}, "control characters"),
    "a time that is no number": ({"active_seconds": "long"}, "whole number of seconds"),
    "a time before it began": ({"active_seconds": -1}, "whole number of seconds"),
}
PAIR: dict[str, tuple[dict[str, Any], str]] = {
    "a preference of 0": ({"preference": 0}, "whole number from 1 to 5"),
    "a preference of 6": ({"preference": 6}, "whole number from 1 to 5"),
    "a letter for a preference": ({"preference": "x"}, "whole number from 1 to 5"),
    "a score in a round of pairs": ({"score": 3}, "does not ask for everything"),
    "an answer about neither side": ({"answer-own": "yes"}, "not on this checklist"),
    "an unknown answer about a side": ({"answer-own-left": "1"}, "must be one of"),
}
BAD = [pytest.param("one", *case, id=name) for name, case in ONE.items()]
BAD += [pytest.param("pair", *case, id=name) for name, case in PAIR.items()]


def spelled(task: Task, bad: dict[str, Any]) -> dict[str, Any]:
    """The case with the numbers of real questions in the names of its fields."""
    assert task.checklist is not None
    own = task.checklist.questions.first()
    foreign = build.checklist(build.item(task.round.project), "Another one?").questions.get()
    assert own is not None
    return {name.replace("own", str(own.pk)).replace("foreign", str(foreign.pk)): value for name, value in bad.items()}


@pytest.mark.parametrize(("kind", "bad", "sentence"), BAD)
def test_a_value_that_cannot_be_is_a_sentence_and_changes_nothing(
    at: Client, give: Callable[[str], Task], kind: str, bad: dict[str, Any], sentence: str
) -> None:
    """Saved, submitted and corrected, by the script and by the form; the form comes back with what was sent."""
    task = give(kind)
    saved(at, task)
    before = stored(task)
    sent = fields(task, **spelled(task, bad))
    for action in ("save", "submit"):
        reply = at.post(where(task, "task_save"), {**sent, "action": action})
        assert (reply.status_code, sentence in reply.json()["error"]) == (400, True), reply.content
    sent.setdefault("comment", "written just now")
    page = at.post(where(task, "task"), {**sent, "action": "submit"})
    body = html.unescape(page.content.decode())
    assert page.status_code == 400
    assert sentence in body
    assert sent["comment"].replace("\x00", "\ufffd") in body or "\x00" in sent["comment"]
    assert stored(task) == before


def test_duplicate_fields_are_one_value_and_wrong_types_none(at: Client, give: Callable[[str], Task]) -> None:
    task = give("one")
    at.post(where(task, "task_save"), fields(task, version=0, score=[1, 2]))
    assert Annotation.objects.get(task=task).score == 2
    before = stored(task)
    for body in (b"[1, 2]", b'{"score": 3}', b"\xff\xfe"):
        reply = at.post(where(task, "task_save"), body, content_type="application/json")
        assert 400 <= reply.status_code < 500
        assert reply.json()["error"]
    assert stored(task) == before


def test_a_submission_with_something_missing_says_what(at: Client, give: Callable[[str], Task]) -> None:
    task = give("one")
    saved(at, task)
    before = stored(task)
    assert task.checklist is not None
    first = task.checklist.questions.first()
    assert first is not None
    for gap, sentence in ((f"answer-{first.pk}", "question 1"), ("score", "the score"), ("effect", "helped")):
        sent = fields(task, action="submit", comment="kept on the screen")
        del sent[gap]
        reply = at.post(where(task, "task_save"), sent)
        assert (reply.status_code, sentence in reply.json()["error"]) == (400, True)
        page = at.post(where(task, "task"), sent)
        assert page.status_code == 400
        assert "kept on the screen" in page.content.decode()
    assert stored(task) == before


@pytest.mark.parametrize("version", ["", "x", "-1", "1.0", "9" * 40, "２"])
def test_a_version_that_is_no_number_is_never_the_stored_one(
    at: Client, give: Callable[[str], Task], version: str
) -> None:
    task = give("one")
    saved(at, task)
    before = stored(task)
    for name in ("task_save", "task"):
        reply = at.post(where(task, name), fields(task, version=version, comment="from here"))
        assert reply.status_code == 409
        assert "written before" in reply.content.decode()
        assert stored(task) == before


def test_without_a_seat_nothing_is_taken(client: Client, give: Callable[[str], Task], abe: User) -> None:
    task = give("one")
    client.force_login(abe)
    before = stored(task)
    for action in ("save", "submit", "correct"):
        reply = client.post(where(task, "task_save"), fields(task, version=0, action=action))
        assert (reply.status_code, "not given to you" in reply.json()["error"]) == (403, True)
    assert client.post(where(task, "task"), fields(task, version=0)).status_code == 302
    assert stored(task) == before


def test_a_seat_that_was_lost_meanwhile_loses_nothing(at: Client, give: Callable[[str], Task], abe: User) -> None:
    task = give("one")
    saved(at, task)
    Assignment.objects.filter(task=task).update(state="free", annotator=None, leased_until=None)
    for person in (abe, build.member(task.round.project, "annotator")):
        build.submitted(task, person, 2)
    reply = at.post(where(task, "task_save"), fields(task, action="submit"))
    assert reply.status_code == 200
    kept = Annotation.objects.get(task=task, annotator__username="ann")
    assert (kept.state, kept.surplus, kept.score) == ("submitted", True, 4)
    assert Annotation.objects.counted().filter(task=task).count() == 2


def test_a_replayed_token_stores_once_and_other_content_never_replaces_it(
    at: Client, give: Callable[[str], Task]
) -> None:
    task = give("one")
    saved(at, task)
    draft = fields(task, token="same", comment="once")
    versions = [at.post(where(task, "task_save"), draft).json()["version"] for _ in range(3)]
    assert versions == [2, 2, 2]
    other = at.post(where(task, "task_save"), {**draft, "comment": "something else"})
    assert other.json()["version"] == 2
    assert Annotation.objects.get(task=task).comment == "once"
    assert at.post(where(task, "task_save"), {**draft, "token": "next", "comment": "else"}).status_code == 409
    submit = fields(task, version=2, token="sent", action="submit")
    assert at.post(where(task, "task_save"), submit).status_code == 200
    before = stored(task)
    assert at.post(where(task, "task_save"), submit).status_code == 200
    assert at.post(where(task, "task_save"), {**submit, "token": "late", "score": 1}).status_code == 410
    assert at.post(where(task, "task_save"), {**submit, "score": 1}).status_code == 200  # the same click, once more
    assert stored(task) == before


def test_a_bad_correction_leaves_the_submitted_label_as_it_was(at: Client, give: Callable[[str], Task]) -> None:
    task = give("one")
    at.post(where(task, "task_save"), fields(task, version=0, action="submit"))
    before = stored(task)
    for bad, status in (({"score": 9}, 400), ({"score": ""}, 400), ({"version": 0}, 409), ({"comment": "\x00"}, 400)):
        for name in ("task_save", "task"):
            reply = at.post(where(task, name), fields(task, token="c", action="correct") | bad)
            assert reply.status_code == status, (bad, name)
            assert stored(task) == before


def test_a_body_of_30_megabytes_is_refused(at: Client, give: Callable[[str], Task]) -> None:
    task = give("one")
    saved(at, task)
    before = stored(task)
    body = "comment=" + "x" * 30_000_000
    for name in ("task_save", "task"):
        reply = at.post(where(task, name), body, content_type="application/x-www-form-urlencoded")
        assert 400 <= reply.status_code < 500
    assert stored(task) == before


def test_too_many_fields_are_refused(at: Client, give: Callable[[str], Task]) -> None:
    task = give("one")
    saved(at, task)
    before = stored(task)
    reply = at.post(where(task, "task_save"), {f"answer-{number}": "yes" for number in range(3000)})
    assert reply.status_code == 400
    assert stored(task) == before


def test_what_was_stored_comes_back_in_the_form(at: Client, give: Callable[[str], Task]) -> None:
    """The other half of "nothing lost": a reload after all of it shows the draft."""
    task = give("pair")
    saved(at, task)
    at.post(where(task, "task_save"), fields(task, preference=9))
    page = at.get(where(task, "task"))
    content = page.context["said"]
    assert content["comment"] == "written before"
    assert content["preference"] == "2"

"""Invariant 3, byte by byte: nothing that an annotator gets names a system or tells what somebody else said.

The project is full of distinctive strings. Every reply on an annotator's way is searched for them: body, headers,
cookies with the messages inside, and every step of a redirect. What each annotator had seen is on record.
"""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate import adjudication, assignment, labelling, training
from annotate.contents import Content, Written, fields_of
from annotate.kinds import Kind
from annotate.models import Annotation, Assignment, Item, Project, Response, Role, Round, Task, User
from judging.models import Call, Verdict
from tests import build
from tests.test_access import World, urls

SYSTEMS = ("Zinnia-7B", "Yarrow-70B")
OTHERS = ("Comment-Of-Another", "Quote-Of-Another", "Note-Of-Another", "Question-Of-Another")
FORBIDDEN = (
    *OTHERS,
    "Another-Annotator",
    "Decision-Comment",
    "Withdrawal-Reason",
    "Key-Comment",
    "Metadata-Value",
    "Judge-Name",
    "Judge-Model",
    "Verdict-Reply",
    "98765432",  # what the ids of responses begin with: in the order of import they tell systems apart
    "α",
)


class Reader:
    """A client that searches every reply, also those on the way of a redirect."""

    def __init__(self, person: User, allowed: tuple[str, ...] = ()) -> None:
        self.client = Client()
        self.client.force_login(person)
        self.forbidden = [text for text in (*SYSTEMS, *FORBIDDEN) if text not in allowed]
        self.replies = 0

    def get(self, path: str, status: int = 200) -> Any:
        return self._follow(self.client.get(path), path, status)

    def post(self, path: str, data: Any = None, status: int = 200) -> Any:
        return self._follow(self.client.post(path, data or {}), path, status)

    def _follow(self, reply: Any, path: str, status: int) -> Any:
        while True:
            self._search(reply, path)
            if reply.status_code not in (301, 302):
                assert reply.status_code == status, (path, reply.status_code)
                return reply
            path = reply["Location"]
            reply = self.client.get(path)

    def _search(self, reply: Any, path: str) -> None:
        leaked = [text for text in self.forbidden if text.lower() in everything(reply).lower()]
        assert not leaked, f"{path} ({reply.status_code}) tells {leaked}"
        self.replies += 1


def everything(reply: Any) -> str:
    """Body, status line, headers and cookies of a reply, messages in cookies readable."""
    body = reply.getvalue() if reply.streaming else reply.content
    cookies = [morsel.OutputString() for morsel in reply.cookies.values()]
    if "messages" in reply.cookies:
        found = CookieStorage(HttpRequest())._decode(  # type: ignore[attr-defined]  # it has no public reader
            reply.cookies["messages"].value
        )
        cookies += [str(message) for message in found or []]
    return "\n".join([body.decode(), reply.reason_phrase, str(dict(reply.headers)), *cookies])


def conceal(project: Project) -> None:
    """Rename what `build` made, so that whatever leaks can be found."""
    Item.objects.filter(project=project).update(metadata={"model": "Metadata-Value"})
    for number, response in enumerate(Response.objects.filter(item__project=project).order_by("pk")):
        response.system = SYSTEMS[number % 2]
        response.save()


def item(project: Project, number: int) -> Item:
    """An item with two responses whose ids are as telling as an import makes them."""
    made = build.item(project, systems=(), instruction=f"Name tree {number}.", metadata={"model": "Metadata-Value"})
    for side, system in enumerate(SYSTEMS):
        pk = 9876543200 + 2 * number + side
        Response.objects.create(pk=pk, item=made, system=system, text=f"A tree {number}{side}")
    build.checklist(made, "Is it a tree?", "Is it one?")
    return made


def said(task: Task, comment: str, **fields: Any) -> Content:
    """Something complete about a task, with passages and notes."""
    parts = task.round.shape.parts
    questions = list(task.checklist.questions.all()) if task.checklist and task.round.uses_checklist else []
    answers = {question.pk: "yes" for question in questions}
    own = "-Of-Another" if comment in OTHERS else "-of-mine"
    content: dict[str, Any] = {
        "comment": comment,
        "answers": answers,
        "other_answers": answers if task.other_id else {},
        "quotes": {"whole": f"Quote{own}"} | {str(question): f"Quote{own}" for question in answers},
        "flags": {str(question): f"Note{own}" for question in answers},
        "score": 4 if "score" in parts else None,
        "effect": "none" if "effect" in parts else "",
        "preference": 5 if "preference" in parts else None,
        "written": Written("yes", "yes", (f"Question{own}",)) if "writing" in parts else None,
    }
    return Content(**{**content, **fields})


def form(task: Task, **fields: Any) -> dict[str, Any]:
    """The same as the screen's form sends it."""
    return {"version": 0, "token": "t", **fields_of(task, said(task, "my own")), **fields}


def where(name: str, pk: int) -> str:
    return reverse(name, args=["garden", pk])


@pytest.fixture
def others(project: Project) -> list[User]:
    return [build.member(project, Role.ANNOTATOR, f"Another-Annotator-{number}") for number in range(2)]


def opened(project: Project, kind: str, others: list[User], bob: User, **fields: Any) -> Round:
    """A round in which others have labelled everything, one label was withdrawn, and one unit is decided."""
    round = build.round(project, kind, overlap=4, **fields)
    for task in Task.objects.filter(round=round).select_related("round", "checklist"):
        for other in others:
            build.said(task, other, said(task, "Comment-Of-Another"))
        adjudication.decide(task, bob, said(task, "Decision-Comment"))
    labelling.withdraw(Annotation.objects.filter(task__round=round).earliest("pk"), "Withdrawal-Reason")
    return round


@pytest.mark.parametrize("kind", Kind.values)
def test_nothing_on_the_way_through_a_round_tells(
    project: Project, ann: User, bob: User, others: list[User], kind: str
) -> None:
    for number in range(3):
        item(project, number)
    round = opened(project, kind, others, bob)
    reader, start = Reader(ann), where("annotate", round.pk)
    for path in (reverse("home"), where("my_labels", round.pk), reverse("project", args=["garden"])):
        reader.get(path)
    seen = []
    while "You have done everything" not in (page := reader.get(start)).content.decode():
        task = page.context["task"]
        seen.append(task.pk)
        show, save = where("task", task.pk), where("task_save", task.pk)
        if len(seen) == 3:
            reader.post(show, {"action": "skip", "reason": "for a reason"})
            continue
        reader.post(save, form(task, comment="first"))
        reader.post(save, form(task, comment="second", token="u"), status=409)
        reader.post(show, form(task, comment="second", token="u"), status=409)
        reader.post(save, form(task, version=1, **{"answer-999": "yes"}), status=400)
        reader.post(show, form(task, version=1, comment="x" * 20_000), status=400)
        reader.post(save, {"version": 1, "action": "submit"}, status=400)
        reader.post(show, form(task, version=1, token="v", action="save"))
        if len(seen) == 1:
            reader.post(show, form(task, version=2, token="w"))
        else:
            reader.post(save, form(task, version=2, token="w", action="submit"))
        reader.post(save, form(task, version=3, token="x"), status=410)
        reader.get(show)
        reader.post(save, form(task, version=3, token="y", action="correct", comment="better"))
    assert len(seen) >= 3
    reader.get(where("my_labels", round.pk))
    for task in round.tasks.all():
        reader.get(
            where("revealed", task.pk), status=403 if task.pk in seen[:2] else 404 if task.pk not in seen else 403
        )
    round.close()
    for path in (start, where("my_labels", round.pk), where("task", seen[0])):
        reader.get(path)
    assert reader.replies > 40


def test_no_address_of_the_site_tells(project: Project) -> None:
    """Whatever the site has, opened and sent to by an annotator, who is refused most of it."""
    project.delete()
    world = World("garden")
    annotator = world.people["annotator"]
    other = build.member(world.project, Role.ANNOTATOR, "Another-Annotator")
    build.said(world.revealed, other, Content(score=2, comment="Comment-Of-Another"))
    build.said(world.round.tasks.reverse()[0], other, Content(score=1, comment="Comment-Of-Another"))
    conceal(world.project)
    world.judge.name, world.judge.model = "Judge-Name", "Judge-Model"
    world.judge.save()
    call = Call.objects.filter(run=world.run).earliest("pk")
    assert call.response is not None
    Call.objects.filter(pk=call.pk).update(state=Call.State.DONE, reply="Verdict-Reply")
    Verdict.objects.create(run=world.run, call=call, response=call.response, state="score", score=2)
    reader, table, leaks = Reader(annotator), world.arguments(), set()
    for url in urls():
        if url.name in {"logout", "login"}:  # they end the session, and know nothing of a project
            continue
        path = reverse(url.name, kwargs=table[url.name]())
        for method in (reader.client.get, reader.client.post):
            reply = method(path)
            reader.client.force_login(annotator)
            found = everything(reply).lower()
            leaks |= {(url.name, text) for text in (*SYSTEMS, *FORBIDDEN) if text.lower() in found}
    system = world.revealed.shown[0].system
    assert leaks == {("revealed", system), ("revealed", "Comment-Of-Another")}


def test_practice_and_gold_units_tell_nothing_before_they_are_answered(
    project: Project, ann: User, bob: User, others: list[User]
) -> None:
    for number in range(2):
        item(project, number)
    practice = build.round(project, purpose=Round.Purpose.TRAINING, sample_size=1)
    for task in Task.objects.filter(round=practice).select_related("round"):
        Annotation.objects.create(task=task, annotator=bob)
        labelling.write_key(task, bob, said(task, "Key-Comment"), token="k", version=0)
    round = build.round(project, qualification=practice, pass_mark=1)
    reader = Reader(ann)
    for _ in range(2):
        page = reader.get(where("annotate", round.pk))
        task = page.context["task"]
        assert task.round_id == practice.pk
        reader.post(where("task_save", task.pk), form(task, comment="draft"))
        Reader(ann, allowed=("Key-Comment",)).post(where("task", task.pk), form(task, version=1, token="s"))
        feedback = Annotation.objects.get(task=task, annotator=ann).comparisons.get()
        Reader(ann, allowed=("Key-Comment",)).post(
            where("practice", round.pk), {"action": "next", "comparison": feedback.pk}
        )
    assert training.practice_of(round, ann).passed
    assert reader.get(where("annotate", round.pk))


@pytest.mark.parametrize("kind", Kind.values)
def test_exactly_the_revealed_page_tells_once_the_rule_allows(
    project: Project, ann: User, bob: User, others: list[User], kind: str
) -> None:
    item(project, 1)
    round = opened(project, kind, others, bob, reveal=Round.Reveal.CLOSED)
    task = Task.objects.filter(round=round).select_related("round", "checklist").first()
    assert task is not None
    build.said(task, ann, said(task, "my own"))
    reader = Reader(ann)
    reader.get(where("revealed", task.pk), status=403)
    round.close()
    page = Reader(ann, allowed=(*SYSTEMS, *OTHERS)).get(where("revealed", task.pk)).content.decode()
    shown = {response.system for response in task.shown}
    assert {system for system in SYSTEMS if system in page} == shown
    assert "Comment-Of-Another" in page
    for path in (where("my_labels", round.pk), where("annotate", round.pk), reverse("project", args=["garden"])):
        reader.get(path)


class TestExposure:
    def test_what_the_screen_showed_is_on_record(self, project: Project, ann: User) -> None:
        made = item(project, 1)
        Item.objects.filter(pk=made.pk).update(reference="A birch.")
        made.checklists.get().edit(["Is it a tree?", "Is it big?"], None).approve(None)
        for round in (
            build.round(project, Kind.PAIRWISE_CHECKLIST, show_reference=True),
            build.round(project, Kind.DIRECT_SCORING),
        ):
            task = assignment.next_task(round, ann)
            assert task is not None
            client = Client(headers={"accept-language": "ja"})
            client.force_login(ann)
            client.post(where("task_save", task.pk), form(task))
            shown = Annotation.objects.get(task=task).exposure
            paired = round.kind == Kind.PAIRWISE_CHECKLIST
            assert shown == {
                "step": 1,
                "screen": f"{round.kind}/{labelling.SCREEN_VERSION}",
                "language": "ja",
                "checklist": task.checklist_id,
                "checklist_version": 2 if paired else None,
                "position": task.position,
                "left": task.shown[0].pk if paired else None,
                "reference": paired,
            }

    def test_the_left_side_is_the_one_that_stood_there(self, project: Project, ann: User) -> None:
        for number in range(4):
            item(project, number)
        round = build.round(project, Kind.PREFERENCE)
        lefts = set()
        for task in round.tasks.all():
            left = build.said(task, ann, Content(preference=1)).exposure["left"]
            assert left == (task.other_id if task.swapped else task.response_id)
            lefts.add(task.swapped)
        assert lefts == {True, False}

    def test_what_was_asked_about_is_on_record(self, project: Project, ann: User) -> None:
        item(project, 1)
        task = assignment.next_task(build.round(project, Kind.CHECK_THEN_SCORE), ann)
        assert task is not None
        client = Client()
        client.force_login(ann)
        before = timezone.now()
        reply = client.post(where("task_save", task.pk), form(task, score=1, action="submit"))
        assert "If you meant it" in reply.json()["ask"]
        stored = Annotation.objects.get(task=task)
        assert stored.state == "draft"
        assert datetime.datetime.fromisoformat(stored.exposure["asked"]["at"]) >= before
        client.post(where("task_save", task.pk), form(task, score=1, action="submit", version=1, token="u"))
        stored.refresh_from_db()
        assert (stored.state, stored.score) == ("submitted", 1)
        assert "asked" in stored.exposure

    def test_seats_of_gold_units_and_the_reveal_stand_beside_it(self, project: Project, ann: User) -> None:
        item(project, 1)
        round = build.round(project, Kind.PREFERENCE, reveal=Round.Reveal.SUBMITTED)
        task = round.tasks.get()
        build.said(task, ann, Content(preference=1))
        Client().get(where("revealed", task.pk))  # a stranger's look is none of the author's
        assert "revealed" not in Annotation.objects.get(task=task).exposure
        Reader(ann, allowed=SYSTEMS).get(where("revealed", task.pk))
        (look,) = Annotation.objects.get(task=task).exposure["revealed"]
        assert (look["what"], look["labels"], look["version"]) == (["systems", "labels"], 0, 1)
        assert Annotation.objects.get(task=task).exposure["left"]
        assert Assignment.objects.get(task=task, annotator=ann).shown_in is None

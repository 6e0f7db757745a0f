"""The annotation screen over HTTP: what it shows, saves, refuses and never tells."""

from __future__ import annotations

import datetime
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from annotate import assignment, labelling, supervision
from annotate.models import Annotation, Assignment, Project, Round, Task, User
from annotate.screen import pace_of
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
    assert "1 of 2 submitted" in reply.content.decode()
    second = reply.redirect_chain[-1][0]
    done = at.post(second, {"version": 0, "token": "b", "score": 3}, follow=True)
    assert "You have done everything in this round" in done.content.decode()
    assert Annotation.objects.counted(round).count() == 2


def test_who_comes_too_late_is_not_told_that_they_did_everything(at: Client, project: Project) -> None:
    build.item(project, systems=("Aster",))
    round = build.round(project, overlap=1)
    build.submitted(round.tasks.get(), build.member(project, "annotator"), 3)
    page = at.get(reverse("annotate", args=["garden", round.pk])).content.decode()
    assert "Nothing is left to label" in page
    assert "You submitted" not in page


def test_a_save_that_repeats_a_submission_is_told_that_it_was_submitted(at: Client, checked: Task) -> None:
    sent = filled(checked, token="once")
    at.post(address(checked, "task_save"), sent | {"action": "submit"})
    again = at.post(address(checked, "task_save"), sent | {"action": "save"}).json()
    assert "next" in again
    assert "saved_at" not in again
    page = at.post(address(checked), sent | {"action": "save"}, follow=True).content.decode()
    assert "Submitted." in page
    assert "Saved as a draft." not in page


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
    both = reply.json()["comparison"]
    assert "first" in both
    assert "second" in both
    assert reply.json()["version"] == 1
    assert not reply.json()["same"]
    again = at.post(address(checked, "task_save"), filled(checked, comment="first", token="t3"))
    assert again.json()["same"]


def test_submitting_an_older_version_shows_both_and_loses_neither(at: Client, checked: Task) -> None:
    at.post(address(checked, "task_save"), filled(checked, comment="from the other tab"))
    reply = at.post(address(checked), filled(checked, comment="from this tab", token="t2"))
    page = reply.content.decode()
    assert reply.status_code == 409
    assert "from the other tab" in page
    assert "from this tab" in page
    assert 'name="version" value="1"' in page
    assert Annotation.objects.get(task=checked).state == "draft"


def test_both_texts_are_compared_in_full(at: Client, project: Project, ann: User) -> None:
    build.checklist(build.item(project), "Is it short?")
    task = assignment.next_task(build.round(project, "pairwise_checklist"), ann)
    assert task is not None
    assert task.checklist is not None
    question = task.checklist.questions.get().pk
    there = {f"answer-{question}-left": "yes", f"answer-{question}-right": "no", "preference": 1, "comment": "there"}
    at.post(address(task, "task_save"), {"version": 0, "token": "a", **there})
    here = there | {f"answer-{question}-left": "no", f"quote-{question}-right": "a passage", f"note-{question}": "odd"}
    reply = at.post(address(task, "task_save"), {"version": 0, "token": "b", **here})
    rows = re.findall(
        r"<tr( class=.is-different.)?>\s*<th class=.wrap.[^>]*>(.*?)</th>\s*<td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>",
        reply.json()["comparison"],
        re.DOTALL,
    )
    texts = [[" ".join(strip_tags(cell.replace("<", " <")).split()) for cell in cells] for _differs, *cells in rows]
    assert [(*cells, bool(differs)) for (differs, *_cells), cells in zip(rows, texts, strict=True)] == [
        ("1. Is it short? (A) (differs)", "No Reported as wrong here: odd", "Yes", True),
        ("1. Is it short? (B) (differs)", "No a passage", "No", True),
        ("Preference", "A is much better", "A is much better", False),
        ("Comment", "there", "there", False),
    ]


def test_the_next_screen_comes_with_the_answer_to_a_submission(at: Client, project: Project, ann: User) -> None:
    for name in ("larch", "elm"):
        build.item(project, name, systems=("Aster",))
    first = assignment.next_task(build.round(project, order="fixed"), ann)
    assert first is not None
    reply = at.post(address(first, "task_save"), {"action": "submit", "version": 0, "token": "a", "score": 3}).json()
    second = Task.objects.exclude(pk=first.pk).get()
    assert reply["next"] == address(second)
    assert reply["said"] == "Submitted."
    assert "Write about elm" in reply["screen"]
    assert "<html" not in reply["screen"]
    assert "1 of 2 submitted" in reply["screen"]
    replayed = at.post(address(first, "task_save"), {"action": "submit", "version": 0, "token": "a", "score": 3}).json()
    assert replayed["next"] == reply["next"]


def test_a_submitted_task_opens_for_correction(at: Client, project: Project, ann: User) -> None:
    for name in ("larch", "elm"):
        build.item(project, name, systems=("Aster",))
    round = build.round(project, order="fixed")
    first = assignment.next_task(round, ann)
    assert first is not None
    build.submitted(first, ann, 3)
    shown = at.get(reverse("annotate", args=[project.slug, round.pk]), follow=True).content.decode()
    assert f'id="back" href="{address(first)}"' in shown
    page = at.get(address(first)).content.decode()
    assert "Save the correction" in page
    assert 'value="3" data-digit="3" checked' in page
    reply = at.post(address(first), {"action": "correct", "version": 1, "token": "c", "score": 5}, follow=True)
    assert "Corrected." in reply.content.decode()
    assert Annotation.objects.get(task=first).score == 5


def test_a_score_against_the_pass_rate_is_asked_about_once(at: Client, checked: Task) -> None:
    low = filled(checked, score=1, action="submit")
    asked = at.post(address(checked, "task_save"), low).json()
    assert "yes to 2 of 2 questions and gave the score 1" in asked["ask"]
    page = at.post(address(checked), low | {"version": asked["version"], "token": "t1"}).content.decode()
    assert "submit once more" in page
    assert at.post(address(checked, "task_save"), low | {"version": asked["version"], "token": "t2"}).json()["next"]
    assert Annotation.objects.counted(checked.round).get().score == 1


def test_what_is_said_out_of_order_is_refused_and_stays_on_the_screen(at: Client, checked: Task) -> None:
    reply = at.post(address(checked), {"version": 0, "token": "a", "score": 4, "action": "save", "comment": "early"})
    page = reply.content.decode()
    assert reply.status_code == 400
    assert "first question 1, question 2" in page
    assert 'value="4" data-digit="4" checked' in page
    assert "early" in page


@pytest.mark.parametrize("kind", Round.Kind.values)
def test_every_kind_asks_for_its_parts(at: Client, project: Project, ann: User, kind: str) -> None:
    build.checklist(build.item(project, reference="A larch."))
    round = build.round(project, kind, show_reference=True, guidelines="Take your *time*.", comment_for=["no", "tie"])
    task = assignment.next_task(round, ann)
    assert task is not None
    page = at.get(address(task)).content.decode()
    shown = set(re.findall(r'data-part="(\w+)"', page))
    assert shown == set(round.shape.parts)
    assert page.count('class="compare-side"') == (2 if round.shape.unit == "pair" else 0)
    assert "A larch." in page
    assert "<em>time</em>" in page
    assert ("an answer is no" in page) == ("questions" in round.shape.parts)
    assert ("near-identical" in page) == ("preference" in round.shape.parts)


def test_a_long_instruction_is_folded(at: Client, project: Project, ann: User) -> None:
    build.item(project, systems=("Aster",), instruction="Name a tree. " * 200)
    task = assignment.next_task(build.round(project), ann)
    assert task is not None
    assert "Show all" in at.get(address(task)).content.decode()


def test_pace_is_the_median_of_the_own_tasks() -> None:
    assert pace_of([10, 500]) == ""
    assert pace_of([10, 48, 5000]) == "about 48 seconds each"
    assert pace_of([100, 170, 290]) == "about 3 minutes each"


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
    assert f"at {until:%H:%M} (UTC) at the earliest" in page


def test_a_late_submission_is_said_to_be_surplus(at: Client, checked: Task, abe: User) -> None:
    Assignment.objects.filter(task=checked).update(leased_until=timezone.now() - datetime.timedelta(minutes=1))
    assert assignment.next_task(checked.round, abe) == checked
    reply = at.post(address(checked), filled(checked), follow=True)
    assert "Kept, but not counted: others had taken this task" in reply.content.decode()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("closed", "the round was closed"),
        ("paused", "you are paused"),
        ("removed", "you no longer take part"),
    ],
)
def test_a_surplus_submission_says_why_it_is_one(
    at: Client, checked: Task, ann: User, bob: User, change: str, why: str
) -> None:
    if change == "closed":
        checked.round.close()
    elif change == "paused":
        supervision.pause(checked.round, ann, bob)
        supervision.release(checked.round, bob, annotator=ann)
    else:
        supervision.remove(checked.round, ann, "kept", bob)
    page = at.post(address(checked), filled(checked), follow=True).content.decode()
    assert f"Kept, but not counted: {why}" in page


def test_the_next_screen_says_that_a_late_submission_is_surplus(
    at: Client, project: Project, ann: User, abe: User
) -> None:
    for name in ("larch", "elm"):
        build.item(project, name, systems=("Aster",))
    round = build.round(project, overlap=1)
    task = assignment.next_task(round, ann)
    assert task is not None
    Assignment.objects.filter(task=task).update(leased_until=timezone.now() - datetime.timedelta(minutes=1))
    assert assignment.next_task(round, abe) == task
    reply = at.post(address(task, "task_save"), {"action": "submit", "version": 0, "token": "a", "score": 3}).json()
    assert "Kept, but not counted" in reply["screen"]


def test_the_numbers_of_tasks_tell_neither_systems_nor_rounds(project: Project) -> None:
    """Responses of one system come at regular places of an import, and a gold set is opened before its round."""
    for _ in range(6):
        build.item(project, systems=SECRETS)
    earlier, later = (list(build.round(project).tasks.order_by("pk")) for _ in range(2))
    for tasks in (earlier, later):
        assert [task.response_id for task in tasks] != sorted(task.response_id or 0 for task in tasks)
        assert [task.position for task in tasks] != list(range(1, 13))
    assert max(task.pk for task in earlier) > min(task.pk for task in later)


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


def test_a_form_of_somebody_who_is_logged_out_is_not_stored_as_anothers(at: Client, checked: Task, abe: User) -> None:
    theirs = filled(checked, action="submit", annotator=abe.pk)
    reply = at.post(address(checked, "task_save"), theirs)
    assert (reply.status_code, "Somebody else wrote this" in reply.json()["error"]) == (403, True)
    assert Annotation.objects.get(task=checked).state == "draft"


def test_control_characters_in_a_reason_or_token_are_dropped(at: Client, checked: Task) -> None:
    at.post(address(checked, "task_save"), filled(checked, token="a\0b"))
    assert Annotation.objects.get(task=checked).last_token == "ab"
    at.post(address(checked, "task"), {"action": "skip", "reason": "too\0 long\x1b"})
    assert Assignment.objects.get(task=checked, state="skipped").reason == "too long"


@pytest.mark.parametrize("number", [2**63, 10**30])
def test_a_number_that_no_task_can_have_is_no_task(at: Client, checked: Task, number: int) -> None:
    slug = checked.round.project.slug
    assert at.get(reverse("task", args=[slug, number])).status_code == 404
    assert at.post(reverse("task_save", args=[slug, number]), {"action": "save"}).status_code == 404


def test_whose_annotation_was_deleted_meanwhile_begins_anew(at: Client, checked: Task, ann: User) -> None:
    Annotation.objects.filter(task=checked, annotator=ann).delete()
    page = at.get(reverse("annotate", args=[checked.round.project.slug, checked.round.pk]), follow=True)
    assert page.status_code == 200
    assert Annotation.objects.get(task=checked, annotator=ann).state == "draft"


def test_a_save_that_repeats_a_withdrawn_submission_is_refused(at: Client, checked: Task, ann: User) -> None:
    sent = filled(checked, token="once")
    at.post(address(checked, "task_save"), sent | {"action": "submit"})
    labelling.withdraw(Annotation.objects.get(task=checked, annotator=ann), "test")
    for action in ("save", "submit"):
        assert at.post(address(checked, "task_save"), sent | {"action": action}).status_code == 410


def test_a_second_tab_without_the_script_keeps_what_it_sent(at: Client, checked: Task) -> None:
    at.post(address(checked), filled(checked, token=""))
    reply = at.post(address(checked), filled(checked, token="", score=2, comment="a long thought", action="submit"))
    page = reply.content.decode()
    assert reply.status_code == 410
    assert "You have submitted this task already" in page
    assert "a long thought" in page
    assert reverse("annotate", args=["garden", checked.round_id]) in page
    assert Annotation.objects.get(task=checked).score == 4
    # The form is a correction now, from the present version.
    kept = filled(checked, token="", score=2, comment="a long thought", action="correct", version=1)
    assert 'name="version" value="1"' in page
    assert "Corrected." in at.post(address(checked), kept, follow=True).content.decode()
    assert Annotation.objects.get(task=checked).score == 2


def test_the_same_form_sent_twice_without_the_script_leads_on(at: Client, checked: Task) -> None:
    for _ in range(2):
        reply = at.post(address(checked), filled(checked, token=""))
        assert reply.status_code == 302


def test_what_comes_when_nothing_can_be_changed_any_more_is_shown_to_be_copied(at: Client, checked: Task) -> None:
    at.post(address(checked), filled(checked))
    checked.round.close()
    late = filled(checked, token="", version=1, score=2, comment="a long thought", action="correct")
    reply = at.post(address(checked), late)
    page = reply.content.decode()
    assert reply.status_code == 410
    assert "The round is closed" in page
    assert "a long thought" in page
    assert "copy what you need" in page
    assert 'id="submit"' not in page
    assert "Go on to the next task" in page


def test_a_form_of_somebody_who_is_logged_out_is_shown_without_the_script_too(
    at: Client, checked: Task, abe: User
) -> None:
    reply = at.post(address(checked), filled(checked, annotator=abe.pk, comment="a long thought"))
    page = reply.content.decode()
    assert reply.status_code == 403
    assert "Somebody else wrote this" in page
    assert "a long thought" in page
    assert 'id="submit"' not in page


def test_who_skipped_the_task_in_another_tab_is_told_why_it_does_not_count(at: Client, checked: Task) -> None:
    at.post(address(checked), {"action": "skip"})
    page = at.post(address(checked), filled(checked), follow=True).content.decode()
    assert "Kept, but not counted: you had skipped this task" in page

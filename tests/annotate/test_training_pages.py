"""The pages of training sets: keys from researchers, practice with feedback, gold units that nothing gives away."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from annotate import assignment, gold, training
from annotate.models import (
    Annotation,
    Assignment,
    Comparison,
    Grant,
    Intervention,
    Participation,
    Project,
    Round,
    Task,
    User,
)
from tests import build
from tests.annotate.test_training import TRAINING, attempt, training_set, walk, work


def at(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def answer(client: Client, task: Task, score: int, **more: object) -> object:
    version = Annotation.objects.get(task=task, annotator__pk=client.session["_auth_user_id"]).version
    form = {"version": version, "token": f"{task.pk}-{version}", "score": score, "action": "submit", **more}
    return client.post(reverse("task", args=[task.round.project.slug, task.pk]), form, follow=True)


def held(user: User) -> Task:
    return Assignment.objects.get(annotator=user, state="leased").task


# -- the researcher --------------------------------------------------------------------------------------------------


def test_nobody_is_removed_from_a_training_set_and_nothing_withdrawn(project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 4)
    attempt(work(project, qualification=practice), ann, 4)
    page, said = at(bob), Annotation.objects.get(annotator=ann)
    for name, args in (("round_seats", []), ("round_annotator", [ann.pk]), ("round_remove", [ann.pk])):
        here = reverse(name, args=[project.slug, practice.pk, *args])
        assert (page.get(here).status_code, page.post(here, {"labels": "deleted"}).status_code) == (404, 404)
        assert here not in page.get(reverse("round", args=[project.slug, practice.pk])).content.decode()
    label = reverse("round_label", args=[project.slug, said.pk])
    assert "Withdraw this label" not in page.get(label).content.decode()
    refused = page.post(label, {"reason": "odd"}, follow=True).content.decode()
    assert "they stay" in refused
    said.refresh_from_db()
    assert said.state == "submitted"


def test_tasks_of_one_item_are_told_apart_by_how_their_responses_begin(project: Project, bob: User) -> None:
    item = build.item(project, instruction="Explain `grep`.")
    item.responses.filter(system="Aster").update(text="**It** finds lines.")
    item.responses.filter(system="Briar").update(text="It `prints`.")
    practice = build.round(project, purpose=TRAINING)
    text = at(bob).get(reverse("training_set", args=[project.slug, practice.pk])).content.decode()
    assert text.count("Explain grep.") == 2
    assert "It finds lines." in text
    assert "It prints." in text
    assert "Aster" not in text  # who writes what is expected is as blind as annotators


def test_keys_are_written_one_after_the_other_on_the_annotators_screen(project: Project, bob: User) -> None:
    for _ in range(2):
        build.item(project, systems=("Aster",))
    practice = build.round(project, purpose=TRAINING)
    first, second = (reverse("training_key", args=[project.slug, practice.pk, n]) for n in (1, 2))
    page = at(bob)
    assert "Feedback for the annotator" in page.get(first).content.decode()
    form = {"token": "a", "version": 0, "comment": "Because."}
    refused = page.post(first, form)
    assert refused.status_code == 400
    assert not practice.tasks.exclude(key=None).exists()
    reply = page.post(first, form | {"score": 4})
    assert reply["Location"] == second
    page.get(second)
    draft = page.post(f"{second}save/", {"token": "b", "version": 0, "score": 2, "action": "save"})
    assert draft.json()["version"] == 1
    assert not practice.tasks.filter(position=2).exclude(key=None).exists()
    done = page.post(f"{second}save/", {"token": "b", "version": 1, "score": 2, "action": "submit"})
    listed = reverse("training_set", args=[project.slug, practice.pk])
    assert done.json() == {"next": listed}
    assert page.get(listed).content.decode().count("written") == 2
    stale = page.post(f"{first}save/", {"token": "c", "version": 0, "score": 1, "action": "correct"})
    assert stale.status_code == 409
    assert "4" in stale.json()["comparison"]


def test_a_key_that_is_there_is_no_draft_and_one_is_written_without_a_look_at_its_page(
    project: Project, alice: User, bob: User
) -> None:
    build.item(project, systems=("Aster",))
    practice = build.round(project, purpose=TRAINING)
    here = reverse("training_key", args=[project.slug, practice.pk, 1])
    form = {"token": "a", "version": 0, "score": 4, "action": "submit"}
    assert at(alice).post(f"{here}save/", form).status_code == 200
    for person in (bob, alice):
        reply = at(person).post(f"{here}save/", form | {"version": 1, "action": "save"})
        assert (reply.status_code, reply.json()["next"]) == (410, here)
        assert "written already" in reply.json()["error"]
        assert at(person).post(here, form | {"action": "save"})["Location"] == here
    assert practice.tasks.get().key == Annotation.objects.get()


def test_a_researcher_passes_somebody_by_hand_and_the_record_shows_it(project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 5)
    round = work(project, 1, qualification=practice)
    listed = reverse("training_set", args=[project.slug, practice.pk])
    form = {"action": "pass", "annotator": ann.pk, "reason": "a <b>colleague</b>"}
    page = at(bob).post(listed, form, follow=True).content.decode()
    assert "a &lt;b&gt;colleague&lt;/b&gt;" in page
    assert round.admits(ann)
    outsider = build.user()
    at(bob).post(listed, form | {"annotator": outsider.pk})
    assert not round.admits(outsider)


@pytest.mark.parametrize(("state", "says"), [("paused", "You are paused"), ("removed", "You no longer take part")])
def test_who_was_stopped_in_a_training_set_is_told_so_and_let_in_again(
    project: Project, bob: User, ann: User, state: str, says: str
) -> None:
    practice = training_set(project, bob, 5)
    round = work(project, 1, qualification=practice)
    Participation.objects.create(round=practice, annotator=ann, state=state)
    way = reverse("practice", args=[project.slug, round.pk])
    assert says in at(ann).get(way).content.decode()
    assert not Assignment.objects.filter(annotator=ann).exists()
    listed, researcher = reverse("training_set", args=[project.slug, practice.pk]), at(bob)
    assert "Let in again" in researcher.get(listed).content.decode()
    assert researcher.post(listed, {"action": "resume", "annotator": "0"}).status_code == 302
    page = researcher.post(listed, {"action": "resume", "annotator": ann.pk}, follow=True).content.decode()
    assert "Let in again" not in page
    assert Intervention.objects.get(round=practice, action="resumed").annotator == ann
    assert (
        "works in the round already"
        in researcher.post(listed, {"action": "resume", "annotator": ann.pk}, follow=True).content.decode()
    )
    assert "Practice 1 of 1" in at(ann).get(way, follow=True).content.decode()


# -- practice --------------------------------------------------------------------------------------------------------


def test_the_round_says_who_is_in_its_qualification_and_leads_there(
    project: Project, bob: User, ann: User, abe: User
) -> None:
    practice = training_set(project, bob, 5, 5)
    page, its = at(bob), reverse("training_set", args=[project.slug, practice.pk])
    here = page.get(reverse("round", args=[project.slug, practice.pk])).content.decode()
    assert "Annotators come here by themselves" in here
    assert "find the round on their start page" not in here
    round = work(project, qualification=practice, attempts=1)
    here = reverse("round", args=[project.slug, round.pk])
    text = page.get(here).content.decode()
    assert "Nobody has labelled a task yet." in text
    assert "0 practising, 0 passed, 0 without an attempt left" in text
    attempt(round, ann, 1)
    attempt(round, abe, 5)
    training.practice_of(round, build.member(project, "annotator"))
    text = page.get(here).content.decode()
    assert "1 practising, 1 passed, 1 without an attempt left" in text
    assert f'href="{its}#people"' in text
    training.grant(practice, ann, Grant.What.ATTEMPT, bob)
    assert "2 practising, 1 passed, 0 without" in page.get(here).content.decode()
    training.grant(practice, ann, Grant.What.PASS, bob)
    assert "1 practising, 2 passed, 0 without" in page.get(here).content.decode()


def test_practice_goes_from_task_to_feedback_to_the_round(project: Project, bob: User, ann: User, abe: User) -> None:
    practice = training_set(project, bob, 5, 4)
    round = work(project, 1, qualification=practice, pass_mark=50)
    start, way = (reverse(name, args=[project.slug, round.pk]) for name in ("annotate", "practice"))
    page = at(ann)
    screen = page.get(start, follow=True).content.decode()
    assert "Practice 1 of 2" in screen
    first = held(ann)
    wanted = 5 if first.key.score == 5 else 4  # type: ignore[union-attr]
    feedback = answer(page, first, 1).content.decode()  # type: ignore[attr-defined]
    assert "Some answers differ" in feedback
    assert f"This is a {wanted}." in feedback
    assert (
        page.get(start, follow=True).content.decode().count("Some answers differ") == 1
    )  # until the annotator goes on
    compared = Comparison.objects.get()
    at(abe).post(way, {"action": "next", "comparison": compared.pk})
    compared.refresh_from_db()
    assert compared.seen_at is None  # it is nobody else's to go on from
    assert "Practice 2 of 2" in page.post(way, {"comparison": compared.pk}, follow=True).content.decode()
    again = page.get(reverse("task", args=[project.slug, first.pk]), follow=True).content.decode()
    assert "Practice 2 of 2" in again  # what was compared cannot be opened to correct it
    assert "All as expected" in answer(page, held(ann), 5).content.decode()  # type: ignore[attr-defined]
    passed = page.post(way, {"comparison": Comparison.objects.last().pk}, follow=True)  # type: ignore[union-attr]
    assert "50 %" in passed.content.decode()
    assert page.get(start)["Location"] == reverse("task", args=[project.slug, held(ann).pk])
    assert held(ann).round == round


def test_no_address_leads_around_the_practice(project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 5)
    round = work(project, 1, qualification=practice)
    task = round.tasks.get()
    page = at(ann)
    address = reverse("task", args=[project.slug, task.pk])
    landed = page.get(address, follow=True)
    assert "Practice 1 of 1" in landed.content.decode()
    assert page.post(f"{address}save/", {"version": 0, "score": 3, "action": "submit"}).status_code == 403
    assert not Annotation.objects.filter(task=task).exists()
    assert not task.assignments.exclude(state="free").exists()


def test_the_script_is_sent_from_a_practice_task_to_its_feedback(project: Project, bob: User, ann: User) -> None:
    round = work(project, 1, qualification=training_set(project, bob, 5, 5))
    page = at(ann)
    page.get(reverse("practice", args=[project.slug, round.pk]))
    save = reverse("task_save", args=[project.slug, held(ann).pk])
    reply = page.post(save, {"version": 0, "token": "a", "score": 5, "action": "submit"}).json()
    assert set(reply) == {"next"}
    assert "All as expected" in page.get(reply["next"], follow=True).content.decode()


def test_a_failed_practice_says_what_to_do(project: Project, bob: User, ann: User) -> None:
    round = work(project, 1, qualification=training_set(project, bob, 5), attempts=2)
    way = reverse("practice", args=[project.slug, round.pk])
    page = at(ann)
    for left in ("You have one more attempt", "Ask the researcher of the project"):
        page.post(way, {"action": "again"})
        page.get(way)
        answer(page, held(ann), 1)
        shown = page.post(way, {"comparison": Comparison.objects.last().pk}, follow=True)  # type: ignore[union-attr]
        assert left in shown.content.decode()
    page.post(way, {"action": "again"})
    assert not Assignment.objects.filter(annotator=ann, state="leased").exists()


# -- gold units ------------------------------------------------------------------------------------------------------


def test_nothing_on_the_page_of_a_gold_unit_gives_it_away(
    project: Project, bob: User, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gold, "_number", lambda *given: 0)  # from the second step on, while there are any
    monkeypatch.setattr(gold, "_among", gold._among.__wrapped__)  # that remembers nothing
    units = training_set(project, bob, 5, 5, name="Set of secrets", guidelines="Secret guidelines")
    round = work(project, 3, gold=units, gold_percent=50, name="Spring", guidelines="Open guidelines")
    page = at(ann)
    seen_gold = 0
    landed = page.get(reverse("annotate", args=[project.slug, round.pk]), follow=True)
    for done in range(round.size + 2):
        if not Assignment.objects.filter(annotator=ann, state="leased").exists():
            break
        task, shown = held(ann), landed.content.decode()
        seen_gold += task.round == units
        assert "Spring" in shown
        assert "Open guidelines" in shown
        assert f"{done} of {round.size + 2} submitted" in " ".join(shown.split())
        for secret in ("Set of secrets", "ecret", "This is a 5", "Practice", "xpected", f"rounds/{units.pk}/"):
            assert secret not in shown
        landed = answer(page, task, 2)  # type: ignore[assignment]
        back = page.get(reverse("task", args=[project.slug, task.pk]))
        assert back.status_code == 200  # and can be corrected like any other
        landed = page.get(reverse("annotate", args=[project.slug, round.pk]), follow=True)
    assert seen_gold
    assert Annotation.objects.counted(round).count() == 3


# -- races -----------------------------------------------------------------------------------------------------------


def test_the_sheet_tells_gold_units_from_tasks_and_overviews_count_no_training(
    project: Project, bob: User, ann: User
) -> None:
    units = training_set(project, bob, 5, 5, 5, 5)
    mixed = work(project, 12, gold=units, gold_percent=50)
    done = walk(mixed, ann)
    page = at(bob)
    sheet = page.get(reverse("round_annotator", args=[project.slug, mixed.pk, ann.pk])).content.decode()
    golden = len(done) - 12
    assert golden
    assert f'12</dd><dd class="figure-count">and {golden} gold unit' in sheet
    removal = page.get(reverse("round_remove", args=[project.slug, mixed.pk, ann.pk])).content.decode()
    assert f'Gold units submitted</dt><dd class="num">{golden}</dd>' in removal
    for name in ("project", "rounds"):
        listed = page.get(reverse(name, args=[project.slug])).content.decode()
        assert "12 / 12" in listed
        assert f"{golden} / {golden}" not in listed
        assert ">Open<" in listed
        assert "(training set)" in listed


@pytest.mark.django_db(transaction=True)
def test_many_take_one_training_task_at_once(project: Project, bob: User) -> None:
    practice = training_set(project, bob, 5)
    task = practice.tasks.get()
    people = [build.user() for _ in range(6)] * 2  # everybody in two tabs

    def take(person: User) -> None:
        try:
            assignment.give(task, person, practice)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take, people))
    assert sorted(task.assignments.values_list("seat", flat=True)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.django_db(transaction=True)
def test_two_tabs_get_one_gold_unit_for_one_step(project: Project, bob: User, ann: User) -> None:
    round = work(project, 4, gold=training_set(project, bob, 5, 5, 5), gold_percent=50)
    assignment.participation(round, ann)
    steps = 0
    while Participation.objects.get(round=round, annotator=ann).submitted < 4:

        def following(_tab: int) -> Task | None:
            try:
                return assignment.next_task(Round.objects.get(pk=round.pk), ann)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(2) as pool:
            tabs = list(pool.map(following, range(2)))
        assert tabs[0] == tabs[1]
        assert tabs[0] is not None
        assert Assignment.objects.filter(annotator=ann, state="leased").count() == 1
        answer(at(ann), tabs[0], 3)
        Assignment.objects.filter(annotator=ann, state="leased").exists()
        steps += 1
    assert steps == 4

"""What researchers do behind a round: seats, people, labels, arms, reports; and what they read about an annotator."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from annotate import assignment, labelling, reveal, supervision
from annotate.contents import Content
from annotate.models import (
    Annotation,
    Assignment,
    Experiment,
    Intervention,
    Participation,
    Project,
    Removal,
    Revision,
    Round,
    Task,
    User,
)
from annotate.models.participation import workers_of
from annotate.reported import reports_of
from annotate.sheets import sheet_of
from annotate.supervision import NotDone
from judging.recount import audit
from tests import build

FREE, LEASED, SUBMITTED, SKIPPED = Assignment.State.values


@pytest.fixture
def round(project: Project) -> Round:
    build.item(project)
    return build.round(project, overlap=2)


@pytest.fixture
def at(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def seats(round: Round, user: User | None = None) -> list[str]:
    found = Assignment.objects.filter(task__round=round)
    return list((found.filter(annotator=user) if user else found).values_list("state", flat=True))


def taken(round: Round, user: User) -> Assignment:
    task = assignment.next_task(round, user)
    assert task is not None
    return Assignment.objects.select_related("task__round__project", "annotator").get(task=task, annotator=user)


def counted(round: Round) -> int:
    return Annotation.objects.counted(round).count()


def page(client: Client, name: str, *args: object, **query: str) -> str:
    return client.get(reverse(name, args=["garden", *args]), query).content.decode()


# -- seats -----------------------------------------------------------------------------------------------------------


def test_released_seats_are_free_and_what_was_written_stays(round: Round, ann: User, bob: User) -> None:
    seat = taken(round, ann)
    labelling.save(seat.task, ann, Content(score=3), token="t", version=0)
    assert supervision.release(round, bob, annotator=ann) == 1
    assert seats(round, ann) == []
    assert Annotation.objects.get(annotator=ann).score == 3
    note = Intervention.objects.get()
    assert (note.action, note.seats, note.annotator, note.by) == ("released", 1, ann, bob)


def test_only_expired_seats_are_released_together(round: Round, ann: User, abe: User, bob: User) -> None:
    late = taken(round, ann)
    taken(round, abe)
    Assignment.objects.filter(pk=late.pk).update(leased_until=timezone.now() - datetime.timedelta(minutes=1))
    assert supervision.expired(round) == 1
    assert supervision.release(round, bob) == 1
    assert (seats(round, ann), seats(round, abe)) == ([], [LEASED])


def test_a_seat_that_was_submitted_meanwhile_is_not_released(round: Round, ann: User, bob: User) -> None:
    seat = taken(round, ann)
    labelling.save(seat.task, ann, Content(score=3), token="t", version=0, submit=True)
    assert supervision.release(round, bob, seats=[seat.pk]) == 0
    assert (seats(round, ann), counted(round)) == ([SUBMITTED], 1)
    assert not Intervention.objects.exists()


def test_a_reassigned_seat_is_the_next_task_of_the_other(round: Round, ann: User, abe: User, bob: User) -> None:
    seat = taken(round, ann)
    supervision.reassign(seat, abe, bob)
    assert assignment.next_task(round, abe) == seat.task
    assert (seats(round, ann), seats(round, abe)) == ([], [LEASED])
    assert Intervention.objects.get().given_to == abe
    # The one who lost it is not lost: another seat of the task is free.
    saved = labelling.save(seat.task, ann, Content(score=2), token="t", version=0, submit=True)
    assert not saved.surplus


def test_a_seat_is_not_reassigned_in_vain(round: Round, ann: User, abe: User, bob: User, charlie: User) -> None:
    seat = taken(round, ann)
    robot = build.member(round.project, "annotator", is_simulated=True, is_active=False)
    for nobody in (charlie, robot):
        with pytest.raises(NotDone, match="annotators of the project"):
            supervision.reassign(seat, nobody, bob)
    supervision.pause(round, abe, bob)
    with pytest.raises(NotDone, match="let them in again"):
        supervision.reassign(seat, abe, bob)
    supervision.resume(round, abe, bob)
    build.submitted(seat.task, abe, 4)
    with pytest.raises(NotDone, match="had this task"):
        supervision.reassign(seat, abe, bob)
    labelling.save(seat.task, ann, Content(score=3), token="t", version=0, submit=True)
    other = build.member(round.project, "annotator")
    with pytest.raises(NotDone, match="not held any more"):
        supervision.reassign(seat, other, bob)
    assert (seats(round, ann), counted(round)) == ([SUBMITTED], 2)


def test_a_seat_goes_to_nobody_whom_the_round_does_not_let_in(
    project: Project, round: Round, ann: User, abe: User, bob: User
) -> None:
    seat = taken(round, ann)
    round.qualification = build.round(project, purpose="training")
    seat.task.round = round
    with pytest.raises(NotDone, match="has not qualified"):
        supervision.reassign(seat, abe, bob)
    round.qualification = None
    round.experiment = Experiment.objects.create(project=project, name="Two ways")
    round.save()
    round.experiment.place(abe, build.round(project, experiment=round.experiment, arm="with"))
    with pytest.raises(NotDone, match="another arm"):
        supervision.reassign(seat, abe, bob)
    assert seats(round, ann) == [LEASED]
    assert not Intervention.objects.exists()


@pytest.mark.parametrize("meanwhile", ["pause", "remove"])
def test_a_seat_goes_to_nobody_who_goes_while_it_is_reassigned(
    round: Round, ann: User, abe: User, bob: User, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    seat = taken(round, ann)

    def goes(*_: object) -> bool:
        if meanwhile == "pause":
            supervision.pause(round, abe, bob)
        else:
            supervision.remove(round, abe, "kept", bob)
        return True

    monkeypatch.setattr(assignment, "may_take", goes)
    with pytest.raises(NotDone, match="let them in again"):
        supervision.reassign(seat, abe, bob)
    assert (seats(round, ann), seats(round, abe)) == ([LEASED], [])


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="the database has one writer")
def test_who_is_given_a_seat_is_held_until_they_have_it(round: Round, ann: User, abe: User, bob: User) -> None:
    seat = taken(round, ann)
    with CaptureQueriesContext(connection) as asked:
        supervision.reassign(seat, abe, bob)
    [held] = [number for number, each in enumerate(asked) if "FOR NO KEY UPDATE" in each["sql"]]
    assert held < next(number for number, each in enumerate(asked) if each["sql"].startswith("UPDATE"))


def test_a_reassigned_seat_draws_nobody_into_another_arm(project: Project, round: Round, ann: User, bob: User) -> None:
    seat = taken(round, ann)
    round.experiment = Experiment.objects.create(project=project, name="Two ways")
    round.save()
    other = build.round(project, experiment=round.experiment, arm="with")
    seat.task.round = round
    people = [build.member(project, "annotator") for _ in range(4)]
    for person in people:  # whatever the seed would draw
        supervision.reassign(seat, person, bob)
        assert round.experiment.arm_of(person) == round
        assert assignment.next_task(round, person) == seat.task
        seat.refresh_from_db()
    assert not other.placings.exists()
    assert Intervention.objects.filter(action="placed", round=round).count() == len(people)


def test_a_reassignment_that_fails_places_nobody(
    project: Project, round: Round, ann: User, abe: User, bob: User
) -> None:
    seat = taken(round, ann)
    round.experiment = Experiment.objects.create(project=project, name="Two ways")
    round.save()
    seat.task.round = round
    Assignment.objects.filter(pk=seat.pk).update(state=FREE, annotator=None, leased_until=None)
    with pytest.raises(NotDone, match="not held any more"):
        supervision.reassign(seat, abe, bob)
    assert not round.experiment.placings.exists()


def test_the_page_of_seats_releases_and_reassigns(at: Client, round: Round, ann: User, abe: User) -> None:
    seat = taken(round, ann)
    here = reverse("round_seats", args=["garden", round.pk])
    at.post(here, {"action": "reassign", "seat": seat.pk, "to": abe.pk})
    assert seats(round, abe) == [LEASED]
    at.post(here, {"action": "release", "seat": seat.pk})
    assert seats(round) == [FREE] * 4
    assert "freed meanwhile" in at.post(here, {"action": "release", "seat": seat.pk}, follow=True).content.decode()


# -- people ----------------------------------------------------------------------------------------------------------


def test_who_is_paused_gets_no_task_and_keeps_what_they_hold(at: Client, round: Round, ann: User) -> None:
    seat = taken(round, ann)
    here = reverse("round_annotator", args=["garden", round.pk, ann.pk])
    at.post(here, {"action": "pause"})
    assert assignment.next_task(round, ann) == seat.task
    assert not labelling.save(seat.task, ann, Content(score=3), token="t", version=0, submit=True).surplus
    assert assignment.next_task(round, ann) is None
    assert not any(assignment.reclaim(task, ann) for task in round.tasks.all())  # as asked for before the pause
    assert "paused or removed already" in at.post(here, {"action": "pause"}, follow=True).content.decode()
    at.post(here, {"action": "resume"})
    assert assignment.next_task(round, ann) is not None
    assert list(Intervention.objects.values_list("action", flat=True)) == ["resumed", "paused"]


def test_late_work_of_somebody_paused_is_kept_as_surplus_and_they_are_told(
    client: Client, round: Round, ann: User, bob: User
) -> None:
    task = round.tasks.all()[0]
    for person in (ann, *(build.member(round.project, "annotator") for _ in range(2))):
        assert assignment.reclaim(task, person)  # of two seats, the third person gets the one that ran out
        Assignment.objects.in_round(round).filter(annotator=ann).update(
            leased_until=timezone.now() - datetime.timedelta(1)
        )
    supervision.pause(round, ann, bob)
    client.force_login(ann)
    here = reverse("task", args=["garden", task.pk])
    sent = {"version": 0, "token": "t", "score": 3, "comment": "written in time", "action": "submit"}
    page = client.post(here, sent, follow=True).content.decode()
    assert "Kept, but not counted: you are paused" in page
    assert "if the task was taken by somebody else or freed by then, it is kept and not counted" in page
    late = Annotation.objects.get(task=task, annotator=ann)
    assert (late.state, late.surplus, late.score, late.comment) == ("submitted", True, 3, "written in time")
    assert "kept, but not counted" in client.get(reverse("my_labels", args=["garden", round.pk])).content.decode()
    supervision.resume(round, ann, bob)
    assert assignment.next_task(round, ann) not in (None, task)
    assert audit(round) == []


@pytest.mark.parametrize(
    ("labels", "state", "left"), [("kept", "submitted", 2), ("excluded", "withdrawn", 1), ("deleted", None, 1)]
)
def test_removal(at: Client, round: Round, ann: User, abe: User, labels: str, state: str | None, left: int) -> None:
    first = round.tasks.all()[0]
    build.submitted(first, ann, 3)
    build.submitted(first, abe, 5)
    taken(round, ann)
    here = reverse("round_remove", args=["garden", round.pk, ann.pk])
    assert at.post(here).status_code == 200  # without a choice nothing happens
    assert counted(round) == 2
    at.post(here, {"labels": labels, "reason": "left the study"})
    said = Annotation.objects.filter(annotator=ann).exclude(state="draft").first()
    assert (said.state if said else None) == state
    assert counted(round) == left
    assert LEASED not in seats(round, ann)
    assert assignment.participation(round, ann).state == "removed"
    assert assignment.next_task(round, ann) is None
    removal = Removal.objects.get()
    assert (removal.labels, removal.reason) == (labels, "left the study")
    # Somebody else can fill what was given up, and the live figures follow.
    new = build.member(round.project, "annotator")
    for task in round.tasks.all():
        if assignment.reclaim(task, new):
            build.submitted(task, new, 4)
    assert counted(round) == left + (1 if labels == "kept" else 2)
    assert audit(round) == []


def test_what_is_deleted_leaves_its_number_and_digest(round: Round, ann: User, bob: User) -> None:
    task = round.tasks.all()[0]
    annotation = build.submitted(task, ann, 3)
    labelling.correct(task, ann, Content(score=4), token="c", version=annotation.version)
    annotation.refresh_from_db()
    assert annotation.submitted_at
    said = [
        {
            "task": task.pk,
            "state": "submitted",
            "surplus": False,
            "version": 2,
            "submitted_at": annotation.submitted_at.isoformat(),
            "content": Content(score=4).as_json(),
            "revisions": [{"version": 1, "content": Content(score=3).as_json(), "why": "corrected"}],
        }
    ]
    expected = hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    removal = supervision.remove(round, ann, "deleted", bob)
    assert (removal.annotations, removal.digest) == (1, expected)
    assert not Annotation.objects.filter(annotator=ann).exists()
    assert not Revision.objects.exists()


def test_the_record_of_a_round_is_whole_and_goes_back_in_time(at: Client, round: Round, ann: User) -> None:
    here = reverse("round", args=["garden", round.pk])
    person = reverse("round_annotator", args=["garden", round.pk, ann.pk])
    at.post(here, {"action": "close"})
    at.post(here, {"action": "reopen"})
    build.submitted(round.tasks.all()[0], ann, 3)
    taken(round, ann)
    at.post(reverse("round_remove", args=["garden", round.pk, ann.pk]), {"labels": "deleted"})
    at.post(person, {"action": "resume"})
    said = at.post(person, {"action": "pause"}, follow=True).content.decode()
    assert "gets no more tasks until you let them in again" in said
    record = page(at, "round", round.pk).split("Record</h2>")[1]
    expected = [
        "paused an annotator",
        "let an annotator in again",
        "bob removed ann: delete the labels",
        "opened the round again",
        "closed the round",
    ]
    places = [record.index(text) for text in expected]
    assert places == sorted(places)
    assert "(1 submission, 1 draft)" in record


def test_a_submission_after_the_removal_is_surplus(round: Round, ann: User, bob: User) -> None:
    seat = taken(round, ann)
    supervision.remove(round, ann, "excluded", bob)
    saved = labelling.save(seat.task, ann, Content(score=3), token="t", version=0, submit=True)
    assert saved.surplus
    supervision.remove(round, ann, "deleted", bob)
    with pytest.raises(labelling.NoSeat):
        labelling.save(seat.task, ann, Content(score=3), token="u", version=1, submit=True)


@pytest.mark.parametrize("labels", ["excluded", "deleted"])
def test_a_removal_that_broke_off_is_taken_up_by_another(
    round: Round, ann: User, bob: User, monkeypatch: pytest.MonkeyPatch, labels: str
) -> None:
    for task in round.tasks.all():
        build.submitted(task, ann, 3)
    last = Annotation.objects.filter(annotator=ann).latest("pk")
    withdraw = labelling.withdraw

    def dies(annotation: Annotation, reason: str) -> None:
        if annotation == last:
            raise ConnectionError
        withdraw(annotation, reason)

    monkeypatch.setattr(supervision, "LOT", 1)
    monkeypatch.setattr(labelling, "withdraw", dies)
    with pytest.raises(ConnectionError):
        supervision.remove(round, ann, labels, bob)
    assert (counted(round), assignment.participation(round, ann).state) == (1, "removed")
    monkeypatch.setattr(labelling, "withdraw", withdraw)
    supervision.remove(round, ann, labels, bob)
    assert counted(round) == 0
    assert list(Removal.objects.values_list("annotations", flat=True)) == [1, 1]
    assert audit(round) == []


def test_who_is_out_is_removed_again_only_where_something_is_left(
    at: Client, round: Round, ann: User, bob: User
) -> None:
    build.submitted(round.tasks.all()[0], ann, 3)
    here = reverse("round_remove", args=["garden", round.pk, ann.pk])
    for labels, records in (("kept", 1), ("kept", 1), ("excluded", 2), ("excluded", 2), ("deleted", 3), ("deleted", 3)):
        before = Removal.objects.count()
        page = at.post(here, {"labels": labels}, follow=True).content.decode()
        assert Removal.objects.count() == records
        assert ("was removed already" in page) == (before == records)
    assert not Annotation.objects.filter(annotator=ann).exists()


def test_who_was_removed_can_be_let_in_again(round: Round, ann: User, bob: User) -> None:
    supervision.remove(round, ann, "kept", bob)
    supervision.resume(round, ann, bob)
    assert assignment.next_task(round, ann) is not None


def test_who_has_an_arm_waits_for_nobody(round: Round, ann: User) -> None:
    """Every submission in an experiment asks for the arm."""
    experiment = Experiment.objects.create(project=round.project, name="Two ways")
    Round.objects.filter(pk=round.pk).update(experiment=experiment)
    assert experiment.arm_of(ann) == round
    with CaptureQueriesContext(connection) as asked:
        assert experiment.arm_of(ann) == round
    (query,) = asked
    assert "FOR UPDATE" not in query["sql"]


def test_an_arm_is_chosen_by_hand(at: Client, round: Round, ann: User, charlie: User) -> None:
    experiment = Experiment.objects.create(project=round.project, name="Two ways")
    other = build.round(round.project, experiment=experiment, arm="with")
    Round.objects.filter(pk=round.pk).update(experiment=experiment)
    here = reverse("experiment", args=["garden", experiment.pk])
    for arm in (round, other):
        at.post(here, {"annotator": ann.pk, "arm": arm.pk})
        assert experiment.arm_of(ann) == arm
    assert "by hand" in at.get(here).content.decode()
    assert "Only annotators" in at.post(here, {"annotator": charlie.pk, "arm": other.pk}, follow=True).content.decode()
    draft = build.round(round.project, experiment=experiment, arm="later", opened=False)
    assert f'value="{draft.pk}"' not in at.get(here).content.decode()
    refused = at.post(here, {"annotator": ann.pk, "arm": draft.pk}, follow=True).content.decode()
    assert "is still a draft" in refused
    assert experiment.arm_of(ann) == other
    assert experiment.placings.count() == 1


# -- labels ----------------------------------------------------------------------------------------------------------


def test_one_label_is_withdrawn_with_a_reason(at: Client, round: Round, ann: User) -> None:
    annotation = build.submitted(round.tasks.all()[0], ann, 3)
    here = reverse("round_label", args=["garden", annotation.pk])
    assert "Say why" in at.post(here, {"reason": " "}, follow=True).content.decode()
    assert counted(round) == 1
    assert "wrong response" in at.post(here, {"reason": "wrong response"}, follow=True).content.decode()
    assert (counted(round), seats(round, ann)) == (0, [SKIPPED])
    assert "Only a submitted label" in at.post(here, {"reason": "again"}, follow=True).content.decode()
    assert Intervention.objects.get().reason == "wrong response"
    assert audit(round) == []


def test_researchers_read_what_a_label_said_before(at: Client, round: Round, ann: User) -> None:
    task = round.tasks.all()[0]
    annotation = build.submitted(task, ann, 3)
    changed = Content(score=5, comment="On second thought.", quotes={"whole": "a passage"})
    labelling.correct(task, ann, changed, token="c", version=annotation.version)
    text = page(at, "round_label", annotation.pk)
    assert "On second thought." in text
    assert "a passage" in text
    assert re.search(r"Version 1, until [-0-9: ]+: corrected<", text)
    at.post(reverse("language"), {"language": "ja"})
    assert re.search(r"版1、[^<]*修正<", page(at, "round_label", annotation.pk))


def test_researchers_read_when_the_author_of_a_label_looked_at_others(
    at: Client, project: Project, ann: User, abe: User
) -> None:
    build.item(project, systems=("Aster",))
    first, later = (
        build.round(project, name=name, overlap=2, reveal="submitted") for name in ("Seen first", "Seen later")
    )
    label = build.submitted(first.tasks.get(), ann, 3)
    assert "saw of others" not in page(at, "round_label", label.pk)
    build.submitted(first.tasks.get(), abe, 5)
    reveal.reveal(Annotation.objects.get(pk=label.pk))
    seen = page(at, "round_label", label.pk)
    assert "1 label of another annotator · the systems" in seen
    assert "not submitted yet" not in seen
    second = build.submitted(later.tasks.get(), User.objects.get(pk=ann.pk), 3)
    known = page(at, "round_label", second.pk)
    assert "Seen first" in known
    assert "not submitted yet" in known


def test_labels_of_a_pair_name_the_systems(at: Client, project: Project, ann: User) -> None:
    build.item(project)
    pairs = build.round(project, "preference")
    task = assignment.next_task(pairs, ann)
    assert task is not None
    labelling.save(task, ann, Content(preference=1), token="t", version=0, submit=True)
    assert "Aster is much better" in page(at, "round_labels", pairs.pk)


def test_the_list_of_labels_is_filtered(at: Client, round: Round, ann: User, abe: User) -> None:
    first, second = round.tasks.all()
    build.submitted(first, ann, 3)
    build.submitted(second, abe, 3)
    assert all(name in page(at, "round_labels", round.pk) for name in ("Task 1", "Task 2"))
    assert "Task 2" not in page(at, "round_labels", round.pk, annotator=str(ann.pk))
    assert "No such labels" in page(at, "round_labels", round.pk, only="comments")


def test_reports_stand_without_names(at: Client, project: Project, ann: User, abe: User) -> None:
    checklist = build.checklist(build.item(project), "Is it short?", "Is it true?")
    short, _true = checklist.questions.all()
    round = build.round(project, "checklist_answering", overlap=2)
    for person, flags in ((ann, {str(short.pk): "How short?", "checklist": ""}), (abe, {str(short.pk): ""})):
        for task in round.tasks.with_texts()[:1]:
            assert assignment.reclaim(task, person)
            answers = {question.pk: "yes" for question in checklist.questions.all()}
            labelling.save(task, person, Content(answers=answers, flags=flags), token="t", version=0, submit=True)
    assert [(report.question, report.n, report.notes) for report in reports_of(project)] == [
        (short, 2, ["How short?"]),
        (None, 1, []),
    ]
    text = page(at, "reported")
    assert "How short?" in text
    assert "ann" not in text.split("<main")[1].replace("annotat", "").replace("Annotat", "")
    assert "2 reported questions" in page(at, "checklists")


# -- the sheet of an annotator ---------------------------------------------------------------------------------------


def test_agreement_pace_and_shares(round: Round, ann: User, abe: User) -> None:
    first, second = round.tasks.all()
    for task, person, score, seconds in (
        (first, ann, 3, 10),
        (first, abe, 3, 30),
        (second, ann, 2, 20),
        (second, abe, 5, 50),
    ):
        assert assignment.reclaim(task, person)
        content = Content(score=score, active_seconds=seconds)
        labelling.save(task, person, content, token="t", version=0, submit=True)
    sheet = sheet_of(round, ann)
    assert [(row.units, row.n, row.equal, row.difference) for row in sheet.agreement] == [(2, 2, 0.5, 1.5)]
    assert sheet.pace is not None
    assert sheet.others_pace is not None
    assert (sheet.pace.n, sheet.pace.median, sheet.others_pace.median) == (2, 15, 40)
    assert [(row.n, row.share, row.others) for row in sheet.shares[0].rows] == [
        (0, 0.0, 0.0),
        (1, 0.5, 0.0),
        (1, 0.5, 0.5),
        (0, 0.0, 0.0),
        (0, 0.0, 0.5),
    ]


def test_nothing_submitted_gives_no_figure(at: Client, round: Round, ann: User) -> None:
    sheet = sheet_of(round, ann)
    assert (sheet.agreement[0].equal, sheet.agreement[0].n, sheet.pace) == (None, 0, None)
    assert "–" in page(at, "round_annotator", round.pk, ann.pk)


def test_the_side_habit_is_of_the_screen_not_of_the_stored_order(project: Project, ann: User) -> None:
    for _ in range(4):
        build.item(project)
    pairs = build.round(project, "preference")
    left, tie = 0, 0
    for number in range(4):
        task = assignment.next_task(pairs, ann)
        assert task is not None
        shown = 3 if number == 3 else 2  # a tie, or the left one is better
        stored = 6 - shown if task.swapped else shown
        labelling.save(task, ann, Content(preference=stored), token="t", version=0, submit=True)
        left, tie = left + (shown == 2), tie + (shown == 3)
    sheet = sheet_of(pairs, ann)
    assert sheet.habit is not None
    assert (sheet.habit.n, sheet.habit.left, sheet.habit.share) == (3, 3, 1.0)
    assert [row.value for row in sheet.shares[0].rows] == [
        "The first is much better",
        "The first is better",
        "Near-identical",
        "The second is better",
        "The second is much better",
    ]
    with translation.override("ja"):
        assert sheet_of(pairs, ann).shares[0].rows[0].value == "一つ目がずっと良い"


def test_cannot_tell_counts_as_missing_and_skips_keep_their_reason(at: Client, project: Project, ann: User) -> None:
    checklist = build.checklist(build.item(project), "Is it short?", "Is it true?")
    round = build.round(project, "checklist_answering", allow_unsure=True)
    task = assignment.next_task(round, ann)
    assert task is not None
    short, true = checklist.questions.all()
    content = Content(answers={short.pk: "yes", true.pk: "unsure"})
    labelling.save(Task.objects.with_texts().get(pk=task.pk), ann, content, token="t", version=0, submit=True)
    skipped = assignment.next_task(round, ann)
    assert skipped is not None
    assignment.skip(skipped, ann, "I know the author")
    sheet = sheet_of(round, ann)
    assert (sheet.cannot_tell, sheet.answers) == (1, 2)
    assert "I know the author" in page(at, "round_annotator", round.pk, ann.pk)


@pytest.mark.parametrize("labels", ["excluded", "deleted"])
def test_who_lost_seats_to_a_researcher_skipped_nothing(
    at: Client, project: Project, ann: User, bob: User, labels: str
) -> None:
    for _ in range(2):
        build.item(project)
    round = build.round(project)
    skipped, withdrawn, *rest = round.tasks.all()
    assert assignment.reclaim(skipped, ann)
    assignment.skip(skipped, ann, "I know the author")
    supervision.withdraw(build.submitted(withdrawn, ann, 3), "a slip", bob)
    for task in rest:
        build.submitted(task, ann, 3)
    assert [(worker.submitted, worker.skipped) for worker in workers_of(round)] == [(2, 1)]
    supervision.remove(round, ann, labels, bob)
    assert [(worker.submitted, worker.skipped) for worker in workers_of(round)] == [(0, 1)]
    assert [seat.task for seat in sheet_of(round, ann).skipped] == [skipped]


# -- races -----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_removals_and_releases_while_annotators_work(project: Project, bob: User) -> None:
    """However they interleave: every task has N counted labels, and nothing of who was removed is counted."""
    for _ in range(3):
        build.item(project)
    round = build.round(project, overlap=2)
    people = [build.member(project, "annotator") for _ in range(6)]
    gone, rest = people[:2], people[2:]

    def work(person: User) -> None:
        while task := assignment.next_task(round, person):
            draft = Annotation.objects.filter(task=task, annotator=person).first()
            if draft is not None:  # else it was deleted between the two
                with suppress(labelling.NoSeat):
                    labelling.save(task, person, Content(score=3), token="t", version=draft.version, submit=True)
        connections.close_all()

    def meddle(person: User) -> None:
        supervision.release(round, bob, annotator=person)
        supervision.remove(round, person, "deleted", bob)
        connections.close_all()

    with ThreadPoolExecutor(len(people) + len(gone)) as pool:
        for each in [*[pool.submit(work, one) for one in people], *[pool.submit(meddle, one) for one in gone]]:
            each.result()
    for person in rest:  # who was done before the others' seats came free
        work(person)
    assert [Annotation.objects.counted().filter(task=task).count() for task in round.tasks.all()] == [2] * 6
    assert not Annotation.objects.counted(round).filter(annotator__in=gone).exists()
    for person in people:
        kept = Participation.objects.get(round=round, annotator=person).submitted
        assert kept == Annotation.objects.counted(round).filter(annotator=person).count()
    assert audit(round) == []

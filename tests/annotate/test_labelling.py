"""Invariants 1, 2 and 4: seats, saves and what may be stored."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from annotate import assignment, labelling, supervision
from annotate.contents import Content, InvalidLabel, read_content
from annotate.labelling import AlreadySubmitted, NoSeat, StaleSave
from annotate.models import Annotation, Answer, Assignment, Experiment, Project, Role, Round, Task, User
from tests import build


@pytest.fixture
def task(project: Project, ann: User) -> Task:
    build.item(project, systems=("Aster",))
    round = build.round(project, overlap=1)
    found = assignment.next_task(round, ann)
    assert found is not None
    return found


@pytest.fixture
def checked(project: Project, ann: User) -> Task:
    build.checklist(build.item(project, systems=("Aster",)), "Is it short?", "Is it true?")
    found = assignment.next_task(build.round(project, "check_then_score", overlap=1), ann)
    assert found is not None
    return found


def expire(task: Task) -> None:
    Assignment.objects.filter(task=task).update(leased_until=timezone.now() - datetime.timedelta(minutes=1))


def save(task: Task, user: User, content: Content, version: int, token: str = "t", submit: bool = False) -> Annotation:
    return labelling.save(task, user, content, token=token, version=version, submit=submit)


class TestSeats:
    def test_a_held_task_comes_back_until_it_is_submitted(self, task: Task, ann: User) -> None:
        assert assignment.next_task(task.round, ann) == task
        build.submitted(task, ann, 3)
        assert assignment.next_task(task.round, ann) is None

    def test_a_taken_seat_is_not_offered_until_its_lease_runs_out(self, task: Task, ann: User, abe: User) -> None:
        assert assignment.next_task(task.round, abe) is None
        assert assignment.next_release(task.round, abe) is not None
        expire(task)
        assert assignment.next_task(task.round, abe) == task
        assert Assignment.objects.get(task=task).annotator == abe

    def test_an_annotator_gets_one_seat_of_a_task(self, project: Project, ann: User) -> None:
        build.item(project, systems=("Aster",))
        round = build.round(project, overlap=3)
        task = assignment.next_task(round, ann)
        assert task is not None
        build.submitted(task, ann, 2)
        assert assignment.next_task(round, ann) is None
        assert not assignment.reclaim(task, ann)

    def test_the_database_refuses_a_second_seat_and_a_second_counted_label(self, task: Task, ann: User) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.create(task=task, seat=2, state="leased", annotator=ann, leased_until=timezone.now())
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.create(task=task, seat=1)
        with pytest.raises(IntegrityError), transaction.atomic():
            Annotation.objects.filter(task=task).update(state="submitted", submitted_at=timezone.now())

    def test_skipping_gives_the_seat_to_somebody_else(self, task: Task, ann: User, abe: User) -> None:
        assert assignment.skip(task, ann, "I know the author")
        assert assignment.next_task(task.round, ann) is None
        assert assignment.next_task(task.round, abe) == task
        assert not assignment.skip(task, ann, "again")
        assert Assignment.objects.get(task=task, state="skipped").reason == "I know the author"

    def test_annotators_begin_at_different_places_and_finish_everything(self, project: Project) -> None:
        for _ in range(8):
            build.item(project, systems=("Aster",))
        round = build.round(project, overlap=2)
        people = [build.member(project, Role.ANNOTATOR) for _ in range(4)]
        firsts = [assignment.next_task(round, person) for person in people]
        assert len(set(firsts)) > 1
        working = True
        while working:
            working = False
            for person in people:
                task = assignment.next_task(round, person)
                if task is not None:
                    build.submitted(task, person, 4)
                    working = True
        assert Annotation.objects.counted(round).count() == 16
        assert not round.tasks.exclude(pk__in=Annotation.objects.counted(round).values("task")).exists()

    def test_a_closed_round_hands_out_nothing(self, task: Task, ann: User) -> None:
        task.round.close()
        assert assignment.next_task(task.round, ann) is None


class TestSaving:
    def test_a_draft_is_kept_and_read_back(self, checked: Task, ann: User) -> None:
        assert checked.checklist is not None
        first, second = checked.checklist.questions.all()
        save(checked, ann, Content(None, {first.pk: "yes"}, "", "half way"), 0)
        save(checked, ann, Content(4, {first.pk: "no", second.pk: "yes"}, "easier", "done"), 1, "u")
        stored = Annotation.objects.get(task=checked)
        assert Content.of(stored) == Content(4, {first.pk: "no", second.pk: "yes"}, "easier", "done")
        assert (stored.state, stored.version) == ("draft", 2)

    def test_the_same_save_twice_is_stored_once(self, task: Task, ann: User) -> None:
        save(task, ann, Content(2), 0, "same")
        again = save(task, ann, Content(2), 0, "same")
        assert again.version == 1

    def test_the_same_submit_twice_is_one_submission(self, task: Task, ann: User) -> None:
        save(task, ann, Content(2), 0, "same", submit=True)
        assert save(task, ann, Content(2), 0, "same", submit=True).version == 1
        with pytest.raises(AlreadySubmitted):
            save(task, ann, Content(5), 1, "other", submit=True)
        assert Annotation.objects.get(task=task).score == 2

    def test_a_stale_save_changes_nothing_and_carries_what_is_stored(self, task: Task, ann: User) -> None:
        save(task, ann, Content(2, comment="first tab"), 0, "a")
        with pytest.raises(StaleSave) as refused:
            save(task, ann, Content(5, comment="second tab"), 0, "b")
        assert refused.value.stored.comment == "first tab"
        assert Annotation.objects.get(task=task).score == 2

    def test_nobody_can_label_a_task_that_was_not_given_to_them(self, task: Task, abe: User) -> None:
        with pytest.raises(NoSeat):
            save(task, abe, Content(3), 0)
        assert not Annotation.objects.filter(annotator=abe).exists()

    def test_saving_holds_the_seat_for_longer(self, task: Task, ann: User) -> None:
        expire(task)
        save(task, ann, Content(3), 0)
        assert Assignment.objects.filter(task=task, leased_until__gt=timezone.now()).exists()

    def test_a_late_submission_is_kept_as_surplus_and_not_counted(self, task: Task, ann: User, abe: User) -> None:
        expire(task)
        assert assignment.next_task(task.round, abe) == task
        build.submitted(task, abe, 5)
        late = save(task, ann, Content(1, comment="sorry"), 0, submit=True)
        assert (late.state, late.surplus, late.comment) == ("submitted", True, "sorry")
        assert [a.score for a in Annotation.objects.counted(task.round)] == [5]

    def test_a_lost_seat_that_is_free_again_is_taken_again(self, task: Task, ann: User, abe: User) -> None:
        expire(task)
        assert assignment.next_task(task.round, abe) == task
        assert assignment.skip(task, abe, "")
        assert not save(task, ann, Content(4), 0, submit=True).surplus

    def test_a_submission_after_closing_is_surplus(self, task: Task, ann: User) -> None:
        task.round.close()
        assert save(Task.objects.get(pk=task.pk), ann, Content(4), 0, submit=True).surplus

    def test_a_seat_submitted_after_closing_goes_to_others_when_the_round_opens_again(
        self, task: Task, ann: User, abe: User
    ) -> None:
        round = task.round
        round.close()
        late = save(Task.objects.get(pk=task.pk), ann, Content(4), 0, submit=True)
        labelling.withdraw(late)
        round.reopen()
        assert assignment.next_task(round, ann) is None
        assert assignment.next_task(round, abe) == task


def test_an_annotation_says_how_manieth_of_its_author_it_is(project: Project, ann: User, abe: User) -> None:
    build.item(project, systems=("Aster", "Briar"))
    round = build.round(project, overlap=2)
    for user in (ann, abe):
        while (task := assignment.next_task(round, user)) is not None:
            build.submitted(task, user, 3)
    for user in (ann, abe):
        said = Annotation.objects.filter(annotator=user).order_by("submitted_at")
        assert [one.exposure["step"] for one in said] == [1, 2]


class TestArms:
    @pytest.fixture
    def arms(self, project: Project) -> tuple[Round, Round]:
        build.item(project, systems=("Aster",))
        both = Experiment.objects.create(project=project, name="Two ways", draws_arms=False)
        one, other = (
            build.round(project, overlap=1, experiment=both, arm=arm, name=arm) for arm in ("with", "without")
        )
        return one, other

    @pytest.mark.parametrize("submits", [False, True])
    def test_a_unit_whose_seat_was_lost_in_one_arm_is_not_met_in_another(
        self, arms: tuple[Round, Round], ann: User, abe: User, submits: bool
    ) -> None:
        one, other = arms
        task = assignment.next_task(one, ann)
        assert task is not None
        expire(task)
        assert assignment.next_task(one, abe) == task
        if submits:
            assert save(task, ann, Content(3), 0, submit=True).surplus
        assert assignment.next_task(other, ann) is None

    def test_a_unit_whose_label_was_deleted_in_one_arm_is_not_met_in_another(
        self, arms: tuple[Round, Round], ann: User, bob: User
    ) -> None:
        one, other = arms
        task = assignment.next_task(one, ann)
        assert task is not None
        build.submitted(task, ann, 3)
        supervision.remove(one, ann, "deleted", bob)
        assert not Annotation.objects.exists()
        assert assignment.next_task(other, ann) is None


class TestValues:
    @pytest.mark.parametrize("score", ["0", "6", "3.5", "", "five", "９", "-1", "1e1", "9" * 40])
    def test_no_score_off_the_scale(self, task: Task, ann: User, score: str) -> None:
        with pytest.raises(InvalidLabel):
            save(task, ann, read_content(task, {"score": score}), 0, submit=True)
        assert Annotation.objects.get(task=task).score is None

    def test_no_answer_to_a_foreign_question(self, project: Project, checked: Task) -> None:
        other = build.checklist(build.item(project), "Something else?")
        foreign = other.questions.get().pk
        with pytest.raises(InvalidLabel, match="not on this checklist"):
            read_content(checked, {f"answer-{foreign}": "yes"})

    def test_not_applicable_only_where_the_round_offers_it(self, checked: Task) -> None:
        assert checked.checklist is not None
        name = f"answer-{checked.checklist.questions.first().pk}"  # type: ignore[union-attr]
        with pytest.raises(InvalidLabel):
            read_content(checked, {name: "na"})
        checked.round.allow_na = True
        assert list(read_content(checked, {name: "na"}).answers.values()) == ["na"]

    @pytest.mark.parametrize("comment", ["x" * 10_001, "bell \x07", "nul \x00"])
    def test_bad_comments_are_refused_and_shown_again(self, task: Task, comment: str) -> None:
        with pytest.raises(InvalidLabel) as refused:
            read_content(task, {"comment": comment, "score": "3"})
        assert refused.value.content is not None
        assert (refused.value.content.comment, refused.value.content.score) == (comment, 3)

    def test_everything_is_asked_for_before_a_check_then_score_submit(self, checked: Task, ann: User) -> None:
        with pytest.raises(InvalidLabel, match=r"question 1, question 2, whether the checklist helped"):
            save(checked, ann, Content(3), 0, submit=True)
        assert Annotation.objects.get(task=checked).state == "draft"

    def test_the_database_refuses_an_unknown_answer(self, checked: Task, ann: User) -> None:
        assert checked.checklist is not None
        annotation = Annotation.objects.get(task=checked)
        with pytest.raises(IntegrityError), transaction.atomic():
            Answer.objects.create(annotation=annotation, question=checked.checklist.questions.all()[0], value="may")

    def test_what_was_shown_is_recorded(self, checked: Task, ann: User) -> None:
        save(checked, ann, Content(), 0)
        exposure = Annotation.objects.get(task=checked).exposure
        assert exposure["screen"] == f"check_then_score/{labelling.SCREEN_VERSION}"
        assert exposure["checklist_version"] == 1


@pytest.mark.django_db(transaction=True)
def test_a_race_fills_every_task_exactly(project: Project) -> None:
    """Twelve people on four tasks with three seats, all at once: twelve labels, three a task."""
    for _ in range(4):
        build.item(project, systems=("Aster",))
    round = build.round(project, overlap=3)
    people = [build.member(project, Role.ANNOTATOR) for _ in range(12)]

    def work(person: User) -> int:
        try:
            done = 0
            while (task := assignment.next_task(round, person)) is not None:
                labelling.save(task, person, Content(3), token=f"{task.pk}", version=0, submit=True)
                done += 1
            return done
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as pool:
        done = sum(pool.map(work, people))
    assert done == 12
    assert Annotation.objects.counted(round).count() == 12
    assert not Annotation.objects.filter(surplus=True).exists()
    assert set(Assignment.objects.filter(task__round=round).values_list("state", flat=True)) == {"submitted"}
    for task in round.tasks.all():
        assert Annotation.objects.counted().filter(task=task).count() == 3


def test_a_round_pins_the_newest_approved_checklist(project: Project) -> None:
    item = build.item(project)
    build.item(project)  # has none
    first = build.checklist(item, "Old?")
    second = first.edit(["New?"], None)
    second.approve(None)
    third = second.edit(["Newer, a draft?"], None)
    assert third.state == "draft"
    round = build.round(project, "check_then_score")
    assert {task.checklist for task in round.tasks.all()} == {second}
    assert round.tasks.count() == 2
    second.refresh_from_db()
    second.edit(["Newest?"], None).approve(None)
    assert {task.checklist.version for task in round.tasks.all() if task.checklist} == {2}


def test_a_sample_is_the_same_for_the_same_seed(project: Project) -> None:
    for _ in range(10):
        build.item(project)
    first = build.round(project, sample_size=4, seed=7)
    second = build.round(project, sample_size=4, seed=7)
    third = build.round(project, sample_size=4, seed=8)
    chosen = [[task.response_id for task in round.tasks.all()] for round in (first, second, third)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len(chosen[0]) == 8

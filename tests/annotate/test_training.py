"""Training sets: keys, the way into a round by practice, and gold units that look like the round's own tasks."""

from __future__ import annotations

from typing import Any

import pytest

from annotate import assignment, gold, labelling, supervision, training
from annotate.comparing import matches
from annotate.contents import Content, InvalidLabel, Written
from annotate.models import (
    Annotation,
    Assignment,
    Comparison,
    Grant,
    Participation,
    Project,
    Revision,
    Round,
    Task,
    User,
)
from annotate.screen import progress_of
from annotate.signals import labels_changed
from tests import build

TRAINING = Round.Purpose.TRAINING


def said(score: int, comment: str = "") -> Content:
    return Content(score=score, comment=comment)


def write_key(task: Task, author: User, content: Content) -> None:
    Annotation.objects.get_or_create(task=task, annotator=author)
    task = Task.objects.get(pk=task.pk)
    now = task.key or Annotation.objects.get(task=task, annotator=author)
    labelling.write_key(task, author, content, token="", version=now.version)


def training_set(project: Project, author: User, *scores: int, **fields: Any) -> Round:
    """Scores are expected of as many responses, which belong to no other round."""
    for _ in scores:
        build.item(project, systems=("Aster",), category="training")
    made = build.round(project, purpose=TRAINING, category="training", **fields)
    for task, score in zip(made.tasks.all(), scores, strict=True):
        write_key(task, author, said(score, f"This is a {score}."))
    return made


def work(project: Project, n: int = 4, **fields: Any) -> Round:
    for _ in range(n):
        build.item(project, systems=("Aster",), category="work")
    return build.round(project, category="work", overlap=fields.pop("overlap", 1), **fields)


def submit(task: Task, user: User, content: Content) -> Annotation:
    task = gold.place(Task.objects.get(pk=task.pk), user)
    stored = Annotation.objects.get(task=task, annotator=user)
    return labelling.save(task, user, content, token=f"{task.pk}-{stored.version}", version=stored.version, submit=True)


def attempt(round: Round, user: User, score: int) -> None:
    """Give this score to every task of the attempt under way."""
    while (task := training.practice_of(round, user).following) is not None:
        training.take(task, user)
        submit(task, user, said(score))


# -- what meets what is expected -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "given", "steps", "met"),
    [
        (Content(answers={1: "yes", 2: "no"}), Content(answers={1: "yes", 2: "na"}), 5, (1, 2)),
        (Content(answers={1: "yes"}, other_answers={1: "no"}), Content(answers={1: "yes"}), 5, (1, 2)),
        (Content(answers={1: "yes"}, score=4), Content(answers={1: "yes"}, score=5), 5, (2, 2)),
        (Content(score=4), Content(score=2), 5, (0, 1)),
        (Content(score=2), Content(score=3), 4, (0, 1)),
        (Content(score=2), Content(score=2), 4, (1, 1)),
        (Content(preference=1), Content(preference=2), 5, (1, 1)),
        (Content(preference=3), Content(preference=2), 5, (0, 1)),
        (Content(preference=4), Content(preference=2), 5, (0, 1)),
        (Content(effect="easier", score=1), Content(effect="harder", score=1), 5, (1, 1)),
        (Content(written=Written("yes", "no")), Content(written=Written("yes", "yes")), 5, (1, 2)),
    ],
)
def test_answers_are_met_exactly_scores_nearly_preferences_by_side(
    expected: Content, given: Content, steps: int, met: tuple[int, int]
) -> None:
    assert matches(expected, given, steps) == met


# -- keys ------------------------------------------------------------------------------------------------------------


def test_a_key_changed_later_changes_nothing_of_what_was_compared(project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 4)
    round = work(project, qualification=practice)
    attempt(round, ann, 1)
    task = practice.tasks.get()
    write_key(task, bob, said(1, "On second thought."))
    kept = Comparison.objects.get()
    assert (kept.met, kept.of) == (0, 1)
    assert Content.from_json(kept.expected) == said(4, "This is a 4.")
    before = Revision.objects.get(annotation__key_of=task)
    assert (before.why, before.detail, Content.from_json(before.content).score) == ("key", "bob", 4)


def test_a_key_made_from_an_older_one_is_refused(project: Project, alice: User, bob: User) -> None:
    task = training_set(project, bob, 4).tasks.select_related("round").get()
    with pytest.raises(labelling.StaleSave) as refused:
        labelling.write_key(task, alice, said(2), token="t", version=0)
    assert Content.of(refused.value.stored).score == 4


def test_a_key_says_everything_that_annotators_must_say(project: Project, bob: User) -> None:
    task = training_set(project, bob, 4).tasks.select_related("round").get()
    with pytest.raises(InvalidLabel, match="the score"):
        labelling.write_key(task, bob, Content(comment="No score."), token="t", version=1)


# -- the way into a round --------------------------------------------------------------------------------------------


def test_nobody_gets_a_task_before_the_pass(project: Project, bob: User, ann: User) -> None:
    round = work(project, qualification=training_set(project, bob, 4, 2), pass_mark=80)
    assert assignment.next_task(round, ann) is None
    attempt(round, ann, 3)  # next to both
    practice = training.practice_of(round, ann)
    assert (practice.passed, practice.percent, practice.attempts) == (True, 100, 1)
    assert assignment.next_task(round, ann) is not None


def test_another_attempt_starts_empty_and_the_old_answers_stay_on_record(
    project: Project, bob: User, ann: User
) -> None:
    practice = training_set(project, bob, 4, 4)
    round = work(project, qualification=practice, attempts=2)
    attempt(round, ann, 1)
    failed = training.practice_of(round, ann)
    assert (failed.passed, failed.percent, failed.attempts, failed.left) == (False, 0, 1, 1)
    assert failed.following is None
    training.try_again(round, ann)
    task = training.practice_of(round, ann).following
    assert task is not None
    training.take(task, ann)
    again = Annotation.objects.get(task=task, annotator=ann)
    assert (again.state, again.score) == ("draft", None)
    before = again.revisions.get()
    assert (before.why, Content.from_json(before.content).score) == ("anew", 1)
    attempt(round, ann, 5)
    assert training.practice_of(round, ann).passed
    assert Comparison.objects.filter(annotation__task=task).count() == 2


def test_a_withdrawn_practice_submission_is_begun_anew_as_any_other(project: Project, bob: User, ann: User) -> None:
    round = work(project, qualification=training_set(project, bob, 4), attempts=2)
    attempt(round, ann, 1)
    labelling.withdraw(Annotation.objects.get(annotator=ann), "by mistake")
    training.try_again(round, ann)
    attempt(round, ann, 4)
    assert training.practice_of(round, ann).passed


def test_attempts_run_out_and_a_researcher_adds_one_or_passes_by_hand(project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 5)
    round = work(project, qualification=practice, attempts=1)
    attempt(round, ann, 1)
    training.try_again(round, ann)
    used_up = training.practice_of(round, ann)
    assert (used_up.left, used_up.following) == (0, None)
    training.grant(practice, ann, Grant.What.ATTEMPT, bob, "was ill")
    training.try_again(round, ann)
    attempt(round, ann, 1)
    assert training.practice_of(round, ann).left == 0
    training.grant(practice, ann, Grant.What.PASS, bob)
    assert training.practice_of(round, ann).passed
    assert assignment.next_task(round, ann) is not None
    assert [grant.what for grant in practice.grants.all()] == ["pass", "attempt"]


def test_two_tabs_cannot_use_two_attempts(project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 5, 5)
    round = work(project, qualification=practice, attempts=2)
    attempt(round, ann, 1)
    own = Participation.objects.get(round=practice, annotator=ann)
    Participation.objects.filter(pk=own.pk).update(attempts=0)  # as the other tab read it
    stale = Participation.objects.get(pk=own.pk)
    Participation.objects.filter(pk=own.pk).update(attempts=1)
    training._finish(round, stale, list(practice.tasks.all()))
    assert training.practice_of(round, ann).attempts == 1
    training.try_again(round, ann)
    task = training.practice_of(round, ann).following
    assert task is not None
    training.take(task, ann)
    submit(task, ann, said(5))
    training.take(task, ann)  # the page of the other tab, opened before
    training.try_again(round, ann)
    assert Annotation.objects.get(task=task, annotator=ann).state == "submitted"
    assert Assignment.objects.get(task=task, annotator=ann).state == "submitted"
    attempt(round, ann, 5)
    assert training.practice_of(round, ann).attempts == 2


def test_a_set_without_a_key_hands_out_nothing_and_lets_nobody_in(project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 3, 3)
    Task.objects.filter(round=practice).update(key=None)
    round = work(project, qualification=practice)
    now = training.practice_of(round, ann)
    assert (now.total, now.following, now.passed) == (0, None, False)
    assert assignment.next_task(practice, ann) is None


def test_a_key_that_comes_during_an_attempt_is_asked_for_in_the_next_one(
    project: Project, bob: User, ann: User
) -> None:
    practice = training_set(project, bob, 5, 5, 5)
    late = practice.tasks.last()
    assert late is not None
    Task.objects.filter(pk=late.pk).update(key=None)
    round = work(project, qualification=practice, attempts=3)
    first = training.practice_of(round, ann)
    assert (first.total, first.following is not None) == (2, True)
    training.take(first.following, ann)  # type: ignore[arg-type]
    write_key(late, bob, said(5))
    assert training.practice_of(round, ann).total == 2
    attempt(round, ann, 1)
    ended = training.practice_of(round, ann)
    assert (ended.attempts, ended.of, ended.total) == (1, 2, 3)
    training.try_again(round, ann)
    attempt(round, ann, 5)
    again = training.practice_of(round, ann)
    assert (again.passed, again.attempts, again.of) == (True, 2, 3)


def test_one_set_serves_rounds_with_different_pass_marks(project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 5, 5, 1, 1)
    easy = work(project, qualification=practice, pass_mark=50)
    hard = work(project, qualification=practice, pass_mark=90, attempts=3)
    attempt(easy, ann, 5)
    assert (easy.admits(ann), hard.admits(ann)) == (True, False)
    training.try_again(hard, ann)
    attempt(hard, ann, 3)  # worse than before
    assert (easy.admits(ann), hard.admits(ann)) == (True, False)
    assert training.practice_of(hard, ann).left == 1


def test_a_seat_of_a_training_set_is_made_for_everybody_who_comes(project: Project, bob: User) -> None:
    practice = training_set(project, bob, 3)
    task = practice.tasks.get()
    people = [build.user() for _ in range(3)]
    for person in (*people, people[0]):
        assignment.give(task, person, practice)
    assert sorted(task.assignments.values_list("seat", flat=True)) == [1, 2, 3]


# -- gold units ------------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed(project: Project, bob: User, ann: User, monkeypatch: pytest.MonkeyPatch) -> Round:
    """Six tasks for each of two annotators, and four gold units: Ann meets them at odd steps, others at even ones."""

    def number(course: gold.Course, what: str) -> int:
        kind, place = what.split()
        return int(place) if kind == "unit" else 9_999 * (int(place) % 2 == (course.user != ann.pk))

    monkeypatch.setattr(gold, "_number", number)
    monkeypatch.setattr(gold, "_among", gold._among.__wrapped__)  # that remembers nothing
    units = training_set(project, bob, 5, 5, 5, 5, guidelines="Secret of the set")
    return work(project, 6, overlap=2, gold=units, gold_percent=50, guidelines="Of the round")


def walk(round: Round, user: User, score: int = 2) -> list[Task]:
    """Label whatever comes; the tasks in their order."""
    done = []
    while (task := assignment.next_task(round, user)) is not None:
        submit(task, user, said(score))
        done.append(task)
    return done


def test_gold_units_come_in_between_and_count_nowhere(mixed: Round, ann: User, abe: User) -> None:
    done = walk(mixed, ann, 5)
    golden = [task for task in done if task.key_id is not None]
    assert len(done) - len(golden) == 6
    assert 1 <= len(golden) <= 4
    assert len(set(done)) == len(done)
    assert done[0] not in golden
    assert Annotation.objects.counted(mixed).count() == 6
    assert mixed.tasks.with_texts().count() == 6
    assert training.gold_accuracy(mixed, ann) == (len(golden), len(golden), len(golden))
    assert assignment.participation(mixed, ann).submitted == len(done)
    other = walk(mixed, abe, 1)
    assert training.gold_accuracy(mixed, abe)[0] == 0
    assert [task.key_id is None for task in other] != [task.key_id is None for task in done]


def test_a_label_of_a_gold_unit_tells_nobody(mixed: Round, ann: User) -> None:
    told: list[Task] = []

    def hear(task: Task, **_: object) -> None:
        told.append(task)

    labels_changed.connect(hear)
    try:
        done = walk(mixed, ann)
        gold_unit = next(task for task in done if task.key_id is not None)
        placed = gold.place(Task.objects.get(pk=gold_unit.pk), ann)
        stored = Annotation.objects.get(task=gold_unit, annotator=ann)
        labelling.correct(placed, ann, said(5), token="c", version=stored.version)
        labelling.withdraw(Annotation.objects.get(pk=stored.pk))
    finally:
        labels_changed.disconnect(hear)
    assert [task.round for task in told] == [mixed] * 6
    assert assignment.participation(mixed, ann).submitted == len(done) - 1


def test_a_corrected_gold_unit_is_compared_anew(mixed: Round, ann: User) -> None:
    done = walk(mixed, ann, 1)
    before = training.gold_accuracy(mixed, ann)
    gold_unit = next(task for task in done if task.key_id is not None)
    placed = gold.place(Task.objects.get(pk=gold_unit.pk), ann)
    version = Annotation.objects.get(task=gold_unit, annotator=ann).version
    labelling.correct(placed, ann, said(5), token="c", version=version)
    assert training.gold_accuracy(mixed, ann) == (1, before.of, before.units)


def test_a_skipped_gold_unit_is_one_step_and_comes_to_nobody_again(mixed: Round, ann: User) -> None:
    seen: list[Task] = []
    while (task := assignment.next_task(mixed, ann)) is not None:
        assert task not in seen
        seen.append(task)
        if task.key_id is not None:
            assert assignment.skip(gold.place(Task.objects.get(pk=task.pk), ann), ann, "odd")
        else:
            submit(task, ann, said(3))
    golden = [task for task in seen if task.key_id is not None]
    assert golden
    assert not Assignment.objects.filter(task__in=golden, state="free").exists()
    assert training.gold_accuracy(mixed, ann).units == 0


def test_a_gold_unit_submitted_too_late_stands_among_the_rest_and_is_over(mixed: Round, ann: User) -> None:
    while (task := assignment.next_task(mixed, ann)) is not None and task.key_id is None:
        submit(task, ann, said(3))
    assert task is not None
    mixed.close()
    late = labelling.save(task, ann, said(3), token="late", version=0, submit=True)
    assert late.surplus
    assert Annotation.objects.of_author(mixed, ann).first() == late
    mixed.reopen()
    assert assignment.next_task(mixed, ann) != task


@pytest.mark.parametrize("labels", ["excluded", "deleted"])
def test_gold_units_go_with_the_rest_when_somebody_is_removed(mixed: Round, bob: User, ann: User, labels: str) -> None:
    submitted = [task.key_id is not None for task in walk(mixed, ann)]
    held = Assignment.objects.filter(annotator=ann).exclude(shown_in=None).first()
    assert held is not None  # one of them is open again, with a draft
    Annotation.objects.filter(assignment=held).update(state="draft", assignment=None)
    assignment.give(held.task, ann, mixed, shown_in=mixed)
    assert supervision.holdings(mixed, ann) == (6, len(submitted) - 7, 0, 0, 1, 1)
    removal = supervision.remove(mixed, ann, labels, bob)
    assert removal.annotations == len(submitted) - (labels == "excluded")
    said = Annotation.objects.filter(annotator=ann, state="submitted")
    assert not said.exists()
    held.refresh_from_db()
    assert (held.state, held.annotator, held.shown_in) == ("skipped", ann, mixed)  # what is left stands in the round


def test_a_gold_unit_that_a_researcher_takes_back_is_a_step_that_nobody_skipped(
    mixed: Round, bob: User, ann: User
) -> None:
    while (task := assignment.next_task(mixed, ann)) is not None and task.key_id is None:
        submit(task, ann, said(3))
    assert supervision.release(mixed, bob, annotator=ann) == 1
    assert Assignment.objects.get(annotator=ann, task=task).state == "skipped"
    assert not Assignment.objects.filter(annotator=ann).skipped().exists()


def test_units_of_the_round_itself_are_no_gold(project: Project, bob: User, ann: User) -> None:
    units = training_set(project, bob, 5, 5)
    item = units.tasks.select_related("item").first()
    assert item is not None
    item.item.category = "work"
    item.item.save()
    round = work(project, 3, gold=units, gold_percent=50)
    assert [task.item.category for task in gold.usable(round)] == ["training"]


def test_progress_grows_by_one_with_every_submission(mixed: Round, ann: User) -> None:
    """Else the number of tasks that are left would tell a gold unit from a task."""
    left = [assignment.available(mixed, ann)]
    while (task := assignment.next_task(mixed, ann)) is not None:
        submit(task, ann, said(3))
        left.append(assignment.available(mixed, ann))
    assert left[0] == mixed.size + gold.planned(mixed, ann)
    assert left == list(range(left[0], -1, -1))


def test_the_total_holds_from_the_first_task_to_the_last(mixed: Round, ann: User) -> None:
    """Else "11 of 12" at the end, or "13 of 12", would tell that not all were tasks of the round."""
    assert assignment.next_task(mixed, ann) is not None
    counts = [progress_of(mixed, ann)]
    while (task := assignment.next_task(mixed, ann)) is not None:
        submit(task, ann, said(3))
        counts.append(progress_of(mixed, ann))
    totals = {one["total"] for one in counts}
    assert totals == {counts[-1]["submitted"]}


def test_a_unit_that_the_annotator_met_in_another_round_is_not_planned(
    project: Project, mixed: Round, ann: User
) -> None:
    golden = sum(task.key_id is not None for task in walk(mixed, ann))
    again = work(project, 20, overlap=2, gold=mixed.gold, gold_percent=50)
    assert 0 < gold.planned(again, ann) <= 4 - golden or golden == 4
    assert progress_of(again, ann)["total"] == len(walk(again, ann))

"""Submitted labels that change afterwards, corrected or withdrawn, and who hears of it in the same transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from annotate import assignment, labelling, supervision, writing
from annotate.contents import Content, InvalidLabel, Written
from annotate.labelling import AlreadySubmitted, NoSeat, NotCorrectable, StaleSave
from annotate.models import Annotation, Assignment, Project, Task, User
from annotate.signals import labels_changed, round_opened
from tests import build

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(project: Project) -> Task:
    build.item(project, systems=("Aster",))
    return build.round(project, overlap=1).tasks.get()


@pytest.fixture
def heard() -> Iterator[list[tuple[int | None, int | None]]]:
    """The scores before and after every change that was announced, in order."""
    changes: list[tuple[int | None, int | None]] = []

    def listen(before: Content | None, after: Content | None, **signal: Any) -> None:
        changes.append((before.score if before else None, after.score if after else None))

    labels_changed.connect(listen)
    yield changes
    labels_changed.disconnect(listen)


def test_a_correction_replaces_what_was_submitted(project: Project, ann: User) -> None:
    item = build.item(project, systems=("Aster",))
    first, second = build.checklist(item).questions.all()
    task = build.round(project, "check_then_score", overlap=1).tasks.get()
    stored = build.submitted(task, ann, 2, {first.pk: "yes", second.pk: "yes"})

    corrected = Content(5, {first.pk: "no", second.pk: "yes"}, "harder", "looked again")
    labelling.correct(task, ann, corrected, token="new", version=stored.version)

    stored.refresh_from_db()
    assert Content.of(stored) == corrected
    before = stored.revisions.get()
    assert (before.version, before.why, Content.from_json(before.content).score) == (1, "corrected", 2)
    assert (stored.state, stored.surplus, stored.version) == ("submitted", False, 2)
    with pytest.raises(InvalidLabel, match="question 2"):
        labelling.correct(task, ann, Content(5, {first.pk: "no"}, "none"), token="x", version=2)


def test_the_same_correction_twice_is_stored_once(task: Task, ann: User, heard: list[Any]) -> None:
    build.submitted(task, ann, 2)
    for _ in range(2):
        labelling.correct(task, ann, Content(4), token="same", version=1)

    assert Annotation.objects.get().version == 2
    assert heard == [(None, 2), (2, 4)]


def test_a_stale_correction_changes_nothing(task: Task, ann: User, heard: list[Any]) -> None:
    build.submitted(task, ann, 2)
    labelling.correct(task, ann, Content(4), token="a", version=1)
    with pytest.raises(StaleSave) as refused:
        labelling.correct(task, ann, Content(1), token="b", version=1)

    assert refused.value.stored.score == 4
    assert heard == [(None, 2), (2, 4)]


def test_only_counted_labels_of_open_rounds_are_corrected(task: Task, ann: User, abe: User) -> None:
    with pytest.raises(NoSeat):
        labelling.correct(task, ann, Content(4), token="a", version=0)
    assert assignment.next_task(task.round, ann) == task
    with pytest.raises(NotCorrectable, match="Only a submitted label"):
        labelling.correct(task, ann, Content(4), token="a", version=0)
    build.submitted(task, ann, 3)
    task.round.close()
    with pytest.raises(NotCorrectable, match="closed"):
        labelling.correct(task, ann, Content(4), token="b", version=1)
    assert Annotation.objects.get().score == 3


def test_a_surplus_submission_is_announced_by_nobody_and_not_corrected(task: Task, ann: User, heard: list[Any]) -> None:
    assert assignment.next_task(task.round, ann) == task
    task.round.close()
    stored = labelling.save(task, ann, Content(3), token="late", version=0, submit=True)

    assert stored.surplus
    with pytest.raises(NotCorrectable, match="too late"):
        labelling.correct(task, ann, Content(4), token="b", version=1)
    labelling.withdraw(stored, "spam")
    assert heard == []


def test_drafts_are_announced_by_nobody(task: Task, ann: User, heard: list[Any]) -> None:
    assert assignment.next_task(task.round, ann) == task
    labelling.save(task, ann, Content(3), token="a", version=0)
    assert heard == []


def test_a_withdrawn_label_is_kept_and_its_seat_goes_to_somebody_else(
    task: Task, ann: User, abe: User, heard: list[Any]
) -> None:
    stored = build.submitted(task, ann, 2)

    labelling.withdraw(stored, "not read")

    stored.refresh_from_db()
    assert (stored.state, stored.score, stored.withdrawn_because) == ("withdrawn", 2, "not read")
    assert not Annotation.objects.counted(task.round).exists()
    assert heard == [(None, 2), (2, None)]
    assert Assignment.objects.get(task=task, state="skipped").reason == "not read"
    assert assignment.next_task(task.round, ann) is None
    assert assignment.next_task(task.round, abe) == task
    assert not build.submitted(task, abe, 4).surplus
    assert [label.score for label in Annotation.objects.counted(task.round)] == [4]


def test_a_withdrawn_label_stays_withdrawn(task: Task, ann: User) -> None:
    stored = build.submitted(task, ann, 2)
    labelling.withdraw(stored)

    with pytest.raises(NotCorrectable):
        labelling.withdraw(stored)
    with pytest.raises(NotCorrectable):
        labelling.correct(task, ann, Content(4), token="x", version=2)
    with pytest.raises(AlreadySubmitted):
        labelling.save(task, ann, Content(4), token="y", version=2, submit=True)
    assert Annotation.objects.get().score == 2


def test_a_withdrawn_surplus_label_gives_nobody_the_task_again(task: Task, ann: User, abe: User) -> None:
    assert assignment.next_task(task.round, ann) == task
    task.round.close()
    late = labelling.save(task, ann, Content(3), token="late", version=0, submit=True)
    labelling.withdraw(late)
    task.round.reopen()
    Assignment.objects.filter(task=task).update(state="free", annotator=None, leased_until=None)

    assert assignment.next_task(task.round, ann) is None
    assert assignment.next_task(task.round, abe) == task


def test_a_listener_that_fails_undoes_the_change(task: Task, ann: User) -> None:
    def fail(**signal: Any) -> None:
        raise RuntimeError("full")

    labels_changed.connect(fail)
    try:
        assert assignment.next_task(task.round, ann) == task
        with pytest.raises(RuntimeError), transaction.atomic():
            labelling.save(task, ann, Content(3), token="a", version=0, submit=True)
    finally:
        labels_changed.disconnect(fail)
    assert Annotation.objects.get().state == "draft"
    assert Assignment.objects.get().state == "leased"


def test_opening_a_round_is_announced_with_its_tasks(project: Project) -> None:
    counted = []

    def listen(round: Any, **signal: Any) -> None:
        counted.append(round.tasks.count())

    build.item(project)
    round_opened.connect(listen)
    try:
        build.round(project)
    finally:
        round_opened.disconnect(listen)
    assert counted == [2]


def test_the_database_keeps_withdrawals_in_order(task: Task, ann: User) -> None:
    build.submitted(task, ann, 2)
    with pytest.raises(IntegrityError), transaction.atomic():
        Annotation.objects.update(state="withdrawn", submitted_at=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        Annotation.objects.update(withdrawn_because="a reason without a withdrawal")


def test_whoever_was_taken_out_of_a_round_corrects_nothing(task: Task, ann: User) -> None:
    stored = build.submitted(task, ann, 2)
    task.round.participations.filter(annotator=ann).update(state="removed")
    with pytest.raises(NotCorrectable, match="no longer work in it"):
        labelling.correct(task, ann, Content(4), token="x", version=stored.version)
    stored.refresh_from_db()
    assert stored.score == 2


class TestWrittenChecklists:
    @pytest.fixture
    def written(self, project: Project, ann: User) -> Annotation:
        build.item(project, systems=("Aster",))
        task = build.round(project, "checklist_writing", overlap=1).tasks.get()
        return build.said(task, ann, self.content("Is it short?", "Is it true?"))

    def content(self, *questions: str, comment: str = "") -> Content:
        return Content(comment=comment, written=Written("yes", "yes", questions))

    def correct(self, written: Annotation, content: Content) -> None:
        labelling.correct(
            written.task, written.annotator, content, token=f"t{written.version}", version=written.version
        )

    def test_a_correction_edits_the_draft_of_its_writer(self, written: Annotation) -> None:
        self.correct(written, self.content("Is it brief?"))
        [draft] = written.task.item.checklists.all()
        assert [question.text for question in draft.questions.all()] == ["Is it brief?"]

    def test_what_a_curator_made_of_it_stays(self, written: Annotation, alice: User) -> None:
        written.task.item.checklists.get().edit(["Is it curated?"], alice)
        self.correct(written, self.content("Is it short?", "Is it true?", comment="a comment alone"))
        curated = written.task.item.checklists.get()
        assert [question.text for question in curated.questions.all()] == ["Is it curated?"]
        written.refresh_from_db()
        self.correct(written, self.content("Is it brief?"))
        newest = written.task.item.checklists.latest("version")
        assert newest.parent == curated
        assert [question.text for question in curated.questions.all()] == ["Is it curated?"]

    def test_without_a_usable_instruction_there_is_no_draft_until_there_is_one_again(self, written: Annotation) -> None:
        checklists = written.task.item.checklists
        self.correct(written, Content(written=Written("no", "no")))
        written.refresh_from_db()
        assert (checklists.count(), written.written.get("checklist")) == (0, None)
        self.correct(written, self.content("Is it brief?"))
        written.refresh_from_db()
        assert checklists.get().pk == written.written["checklist"]

    def test_what_a_curator_made_of_an_unusable_instruction_stays(self, written: Annotation, alice: User) -> None:
        curated = written.task.item.checklists.get().edit(["Is it curated?"], alice)
        self.correct(written, Content(written=Written("no", "no")))
        written.refresh_from_db()
        self.correct(written, self.content("Is it brief?"))
        assert [question.text for question in curated.questions.all()] == ["Is it curated?"]
        assert written.task.item.checklists.count() == 2
        assert written.task.item.checklists.latest("version").parent == curated

    @pytest.mark.parametrize("made", ["edited", "approved", "followed"])
    def test_what_stays_after_an_unusable_correction_still_says_where_it_is_from(
        self, written: Annotation, alice: User, made: str
    ) -> None:
        draft = written.task.item.checklists.get()
        if made == "edited":
            draft.edit(["Is it curated?"], alice)
        elif made == "approved":
            draft.approve(alice)
        else:
            draft.retire()
            draft.edit(["Is it curated?"], alice)
        self.correct(written, Content(written=Written("no", "no")))
        written.refresh_from_db()
        assert written.written["checklist"] == draft.pk
        assert writing.uncounted([draft]) == {}
        supervision.withdraw(written, "copied", alice)
        assert writing.uncounted([draft]) == {draft.pk: written}

    def test_two_equal_questions_are_refused_with_a_sentence(self, written: Annotation) -> None:
        with pytest.raises(InvalidLabel, match="Two questions are the same"):
            self.correct(written, self.content("Is it short?", "is it  short?"))

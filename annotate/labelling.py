"""How what an annotator says becomes an annotation: saved as a draft, submitted, corrected, withdrawn.

Every save names the version it was made from and carries a token. A save that arrives twice changes nothing the second
time; one made from an older version is refused with `StaleSave`, which carries what is stored. A token of the
screen's script names the writer and numbers the text, as in "name.3": where the answer to a save is lost, the next one
names an older version, and is known to come from the same writer all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotate import assignment, comparing, gold, prepared, reveal, writing
from annotate.contents import Content, InvalidLabel, doubt, missing_parts, out_of_order
from annotate.models import Annotation, Answer, Assignment, Checklist, Revision, Task, User
from annotate.models.checklist import clean_questions
from annotate.prepared import Prepared
from annotate.signals import labels_changed

SCREEN_VERSION = "2"
COUNT = "UPDATE annotate_participation SET submitted = submitted + %s WHERE round_id = %s AND annotator_id = %s"


class NoSeat(Exception):
    """The annotator was never given this task."""


class AlreadySubmitted(Exception):
    """The annotation was submitted before, so a save must not change it."""


class NotCorrectable(Exception):
    """The annotation cannot be corrected or withdrawn as it stands; the message is a sentence that says why."""


class StaleSave(Exception):
    """The save was made from an older version than the stored one."""

    def __init__(self, stored: Annotation) -> None:
        super().__init__(_("This task was changed in another tab or window. Choose which text to keep."))
        self.stored = stored


def save(
    task: Task, user: User, content: Content, *, token: str, version: int, submit: bool = False, ask: bool = True
) -> Annotation:
    """Store the content as a draft, or submit it, in one transaction.

    A submission that comes after one of the same writer, whose answer was lost, corrects it.
    A submission that stays a draft is one that `doubt` asks about; the same content submitted once more goes through.
    With `ask` False nobody is there to be asked.
    A submission whose seat was lost takes a free seat of the task again; where all are taken, the round is closed, or
    the annotator was removed from it, it is kept as surplus.

    Raises NoSeat, AlreadySubmitted, StaleSave, or InvalidLabel for what is missing (on submit) or said out of order.
    """
    if submit:
        _check_complete(task, content)
    elif sentence := out_of_order(task, content):
        raise InvalidLabel(sentence, content)
    with transaction.atomic():
        annotation = _own(task, user)
        asked = annotation.exposure.get("asked", {})
        withdrawn = annotation.state == Annotation.State.WITHDRAWN
        answered = annotation.state == Annotation.State.SUBMITTED or not submit or token == asked.get("token")
        if token and token == annotation.last_token and answered and not withdrawn:
            return annotation
        known = _comes_after(token, annotation.last_token)
        if submit and known and annotation.state == Annotation.State.SUBMITTED:
            return correct(task, user, content, token=token, version=annotation.version)
        if annotation.state != Annotation.State.DRAFT:
            raise AlreadySubmitted(_("You have submitted this task already; what you submitted is kept."))
        if version != annotation.version and not known:
            raise StaleSave(annotation)
        annotation.exposure |= exposure_of(task)
        if submit and ask and not asked and doubt(task, content):
            submit = False
            annotation.exposure["asked"] = {"at": timezone.now().isoformat(), "token": token}
        if submit:
            annotation.exposure |= reveal.earlier_looks(annotation)
            _take_seat(annotation)
            annotation.state = Annotation.State.SUBMITTED
            annotation.submitted_at = timezone.now()
            _write_checklist(annotation, content)
        else:
            annotation.held = assignment.renew(task, user)
        _store(annotation, content, token)
        if submit and not annotation.surplus:
            comparing.compare(annotation, content)
            _count(annotation, 1)
            _tell(annotation, None, content)
    return annotation


def correct(task: Task, user: User, content: Content, *, token: str, version: int) -> Annotation:
    """Replace what the annotator submitted about the task, in one transaction, while the round is open.

    What it said before stays as a `Revision`. Versioned and idempotent as `save` is. Raises NoSeat, InvalidLabel for
    what is missing, StaleSave, or NotCorrectable for a draft, a surplus or withdrawn submission, and a round that is
    not open.
    """
    _check_complete(task, content)
    with transaction.atomic():
        annotation = _own(task, user)
        if annotation.state != Annotation.State.SUBMITTED:
            raise NotCorrectable(_("Only a submitted label can be corrected."))
        if token and token == annotation.last_token:
            return annotation
        if annotation.surplus:
            raise NotCorrectable(_("This submission came too late to be counted, so there is nothing to correct."))
        if task.round.is_training:
            raise NotCorrectable(_("Answers that were compared with the expected ones cannot be corrected."))
        if not assignment.may_work(task.round_id, user):
            raise NotCorrectable(_("The round is closed, or you no longer work in it: ask the researcher."))
        if version != annotation.version and not _comes_after(token, annotation.last_token):
            raise StaleSave(annotation)
        before = Content.of(annotation)
        if replace(before, active_seconds=content.active_seconds) == content:
            return annotation
        keep_revision(annotation, before, Revision.Why.CORRECTED)
        _write_checklist(annotation, content)
        _store(annotation, content, token)
        comparing.compare(annotation, content)
        _tell(annotation, before, content)
    return annotation


def write_key(task: Task, author: User, content: Content, *, token: str, version: int) -> Annotation:
    """Expect this of everybody who labels the task from now on; its comment is the feedback. Versioned as `save` is.

    The first key is the author's own draft, submitted; whoever changes it later, what it said stays as a `Revision`.
    Raises InvalidLabel for what is missing, StaleSave, or NoSeat where the author has not opened the task.
    """
    _check_complete(task, content)
    with transaction.atomic():
        task.key = Task.objects.select_for_update(no_key=True).get(pk=task.pk).key
        annotation = task.key or _own(task, author)
        annotation.task = task
        if task.key is not None and token and token == annotation.last_token:
            return annotation
        if version != annotation.version and not _comes_after(token, annotation.last_token):
            raise StaleSave(annotation)
        if task.key is not None:
            keep_revision(annotation, Content.of(annotation), Revision.Why.KEY, author.username)
        annotation.state, annotation.surplus = Annotation.State.SUBMITTED, True  # it holds no seat
        annotation.submitted_at = timezone.now()
        _store(annotation, content, token)
        Task.objects.filter(pk=task.pk).update(key=annotation)
    return annotation


def withdraw(annotation: Annotation, reason: str = "") -> Annotation:
    """Take a submission out of the count, with everything in it kept. Somebody else may take the seat it held.

    Raises NotCorrectable for anything but a submission.
    """
    with transaction.atomic():
        stored = Annotation.objects.select_for_update().get(pk=annotation.pk)
        if stored.state != Annotation.State.SUBMITTED:
            raise NotCorrectable(_("Only a submitted label can be withdrawn."))
        gold.place(stored.task, stored.annotator)
        stored.state = Annotation.State.WITHDRAWN
        stored.withdrawn_because = reason[:500]
        stored.version += 1
        stored.save()
        if not stored.surplus:
            assignment.vacate(stored.task, stored.annotator, reason)
            _count(stored, -1)
            _tell(stored, Content.of(stored), None)
    return stored


def keep_revision(annotation: Annotation, content: Content, why: Revision.Why, detail: str = "") -> None:
    """Put what the annotation says now on record, before it says something else."""
    annotation.revisions.create(version=annotation.version, content=content.as_json(), why=why, detail=detail)


def exposure_of(task: Task) -> dict[str, Any]:
    """What the screen of this task shows, so that a reader of the data knows what each annotator had seen."""
    return {
        "screen": f"{task.round.kind}/{SCREEN_VERSION}",
        "language": get_language(),
        "checklist": task.checklist_id,
        "checklist_version": task.checklist.version if task.checklist else None,
        "position": task.position,
        "left": task.shown[0].pk if task.other_id else None,
        "reference": bool(task.round.show_reference and task.item.reference),
    }


def _check_complete(task: Task, content: Content) -> None:
    missing = missing_parts(task, content)
    if missing:
        raise InvalidLabel(_("Still to answer: %(what)s.") % {"what": ", ".join(missing)}, content)
    if content.written is not None and content.written.usable:
        try:
            clean_questions(content.written.questions)
        except ValidationError as error:
            raise InvalidLabel(" ".join(error.messages), content) from error


def _comes_after(token: str, last: str) -> bool:
    """Whether the token is the last one, or stands for a later text of the same writer."""
    writer, _dot, number = token.rpartition(".")
    same, _dot, earlier = last.rpartition(".")
    numbered = writer != "" and number.isdecimal() and earlier.isdecimal()
    return numbered and same == writer and int(earlier) <= int(number)


def _own(task: Task, user: User) -> Annotation:
    """The user's annotation of the task, locked until the transaction ends."""
    annotation = _OWN.first(task=task.pk, user=user.pk)
    if annotation is None:
        raise NoSeat(_("This task was not given to you: go back to the round and take the next task."))
    annotation.task, annotation.annotator = task, user  # with all that was read of them already
    return annotation


_OWN = Prepared(
    lambda task, user: Annotation.objects.select_for_update().filter(task=task, annotator=user), task=int, user=int
)


def _store(annotation: Annotation, content: Content, token: str) -> None:
    """Write the content into the annotation as its next version."""
    annotation.score = content.score
    annotation.preference = content.preference
    annotation.effect = content.effect
    annotation.comment = content.comment
    annotation.quotes = dict(content.quotes)
    annotation.flags = dict(content.flags)
    if content.written is not None:
        annotation.written |= content.as_json()["written"]
    annotation.active_seconds = max(annotation.active_seconds, content.active_seconds)
    annotation.version += 1
    annotation.last_token = token
    prepared.update(annotation)
    if "questions" not in annotation.task.round.shape.parts:
        return
    if annotation.version > 1:
        annotation.answers.all().delete()
    Answer.objects.bulk_create(
        Answer(annotation=annotation, question_id=question, about_other=other, value=value)
        for other, answers in ((False, content.answers), (True, content.other_answers))
        for question, value in sorted(answers.items())
    )


def _write_checklist(annotation: Annotation, content: Content) -> None:
    """The draft checklist of a writer's submission. A correction of the questions edits it, or follows it with a new
    version where somebody else changed or approved it meanwhile; one that says that there can be none deletes it,
    or keeps its number where it stays. Training makes none."""
    if content.written is None or annotation.task.key_id is not None:
        return
    if not content.written.usable:
        if writing.discard(annotation, delete=True):
            annotation.written.pop("checklist")
        return
    number, before = annotation.written.get("checklist"), annotation.written.get("questions", ())
    mine = Checklist.objects.filter(pk=number).first() if number else None
    if mine is not None and list(before) == list(content.written.questions):
        return
    if mine is not None and writing.is_as_written(mine, annotation):
        made = mine.edit(content.written.questions, annotation.annotator)
    else:
        item, author = annotation.task.item, annotation.annotator
        made = Checklist.write(item, content.written.questions, created_by=author, parent=mine)
    annotation.written = {**annotation.written, "checklist": made.pk}


def _take_seat(annotation: Annotation) -> None:
    """Turn the annotator's seat into a submitted one, inside the submit transaction; surplus where there is none.

    A seat that they still hold, of a closed round, goes to others: nothing is left to do with it.
    """
    task, user = annotation.task, annotation.annotator
    seat = assignment.submit_seat(task, user)
    if seat is None and assignment.may_work(task.round_id, user) and assignment.reclaim(task, user):
        seat = assignment.submit_seat(task, user)
    annotation.assignment_id = seat
    annotation.surplus = seat is None
    if annotation.surplus:
        assignment.free(Q(state=Assignment.State.LEASED, annotator=user), task.assignments.all())


def _count(annotation: Annotation, by: int) -> None:
    """Keep the annotator's number of submitted tasks."""
    round, user = annotation.task.round, annotation.annotator
    counted = [by, round.pk, user.pk]
    if not prepared.run(COUNT, counted):
        assignment.participation(round, user)
        prepared.run(COUNT, counted)


def _tell(annotation: Annotation, before: Content | None, after: Content | None) -> None:
    """Tell whoever counts labels; what is said about a task of a training set is none, wherever it is shown."""
    if annotation.task.key_id is None and not annotation.task.round.is_training:
        labels_changed.send(
            sender=Annotation, task=annotation.task, annotator=annotation.annotator, before=before, after=after
        )

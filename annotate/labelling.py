"""How what an annotator says becomes an annotation: validated, saved as a draft, submitted.

Every save names the version it was made from and carries a token. A save that arrives twice changes nothing the second
time; one made from an older version is refused with `StaleSave`, which carries what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotate import assignment
from annotate.models import Annotation, Answer, Assignment, Round, Task, User
from annotate.signals import labels_changed

SCREEN_VERSION = "1"
LONGEST_ACTIVE_SECONDS = 24 * 3600


class InvalidLabel(Exception):
    """The content does not fit the round; the message is a sentence for the annotator. `content` is what fits, with the
    comment as it was written, so that a screen can show it again."""

    def __init__(self, message: str, content: Content | None = None) -> None:
        super().__init__(message)
        self.content = content


class NoSeat(Exception):
    """The annotator was never given this task."""


class AlreadySubmitted(Exception):
    """The annotation was submitted before, so a save must not change it."""


class NotCorrectable(Exception):
    """The annotation cannot be corrected or withdrawn as it stands; the message is a sentence that says why."""


class StaleSave(Exception):
    """The save was made from an older version than the stored one."""

    def __init__(self, stored: Annotation) -> None:
        super().__init__("This task was changed in another tab or window. Choose which text to keep.")
        self.stored = stored


@dataclass(frozen=True)
class Content:
    """What one annotator says about one task. Parts not said yet are None or empty."""

    score: int | None = None
    answers: Mapping[int, str] = field(default_factory=dict)  # question id -> yes | no | na
    effect: str = ""
    comment: str = ""
    active_seconds: int = 0
    preference: int | None = None  # of a pair: 1 (A much better) to 5 (B much better)

    @classmethod
    def of(cls, annotation: Annotation) -> Content:
        """What is stored."""
        return cls(
            annotation.score,
            {answer.question_id: answer.value for answer in annotation.answers.all()},
            annotation.effect,
            annotation.comment,
            annotation.active_seconds,
            annotation.preference,
        )


def read_content(task: Task, data: Mapping[str, Any]) -> Content:
    """Content from submitted form fields: `score`, `answer-<question id>`, `effect`, `comment`, `active_seconds`.

    Raises InvalidLabel when a value is off the round's scale, unknown, or about a question of another checklist.
    """
    problems: list[str] = []
    score = _read_score(task.round, str(data.get("score") or ""), problems)
    answers = _read_answers(task, data, problems)
    effect = str(data.get("effect") or "")
    if effect and (not task.round.uses_checklist or effect not in Annotation.Effect.values):
        problems.append("The effect of the checklist must be easier, no effect or harder.")
        effect = ""
    comment = str(data.get("comment") or "").replace("\r\n", "\n")
    if len(comment) > Annotation.LONGEST_COMMENT:
        problems.append(f"The comment has {len(comment):,} characters; shorten it to {Annotation.LONGEST_COMMENT:,}.")
    if any(ord(char) < 32 and char not in "\n\t" for char in comment):
        problems.append("The comment contains control characters: remove them and save again.")
    seconds = _read_whole(str(data.get("active_seconds") or "0"))
    if seconds is None or seconds < 0:
        problems.append("The active time must be a whole number of seconds.")
    content = Content(score, answers, effect, comment, min(max(seconds or 0, 0), LONGEST_ACTIVE_SECONDS))
    if problems:
        raise InvalidLabel(" ".join(problems), content)
    return content


def missing_parts(task: Task, content: Content) -> list[str]:
    """What must still be said before the task can be submitted, in the order of the screen."""
    missing = []
    if task.round.uses_checklist and task.checklist is not None:
        for question in task.checklist.questions.all():
            if question.pk not in content.answers:
                missing.append(f"question {question.position}")
    if content.score is None:
        missing.append("the score")
    if task.round.uses_checklist and not content.effect:
        missing.append("whether the checklist helped")
    return missing


def save(task: Task, user: User, content: Content, *, token: str, version: int, submit: bool = False) -> Annotation:
    """Store the content as a draft, or submit it, in one transaction.

    Raises NoSeat, AlreadySubmitted, StaleSave, or (on submit) InvalidLabel for what is missing. A submission whose seat
    was lost takes a free seat of the task again; where all are taken, or the round is closed, it is kept as surplus.
    """
    if submit:
        _check_complete(task, content)
    with transaction.atomic():
        annotation = _own(task, user)
        if token and token == annotation.last_token and (annotation.state == "submitted" or not submit):
            return annotation
        if annotation.state != Annotation.State.DRAFT:
            raise AlreadySubmitted("You have submitted this task already; what you submitted is kept.")
        if version != annotation.version:
            raise StaleSave(annotation)
        annotation.exposure = exposure_of(task)
        if submit:
            _take_seat(annotation)
            annotation.state = Annotation.State.SUBMITTED
            annotation.submitted_at = timezone.now()
        else:
            assignment.renew(task, user)
        _store(annotation, content, token)
        if submit and not annotation.surplus:
            labels_changed.send(sender=Annotation, task=task, annotator=user, before=None, after=content)
    return annotation


def correct(task: Task, user: User, content: Content, *, token: str, version: int) -> Annotation:
    """Replace what the annotator submitted about the task, in one transaction, while the round is open.

    Versioned and idempotent as `save` is. Raises NoSeat, InvalidLabel for what is missing, StaleSave, or
    NotCorrectable for a draft, a surplus or withdrawn submission, and a round that is not open.
    """
    _check_complete(task, content)
    with transaction.atomic():
        annotation = _own(task, user)
        if annotation.state != Annotation.State.SUBMITTED:
            raise NotCorrectable("Only a submitted label can be corrected.")
        if token and token == annotation.last_token:
            return annotation
        if annotation.surplus:
            raise NotCorrectable("This submission came too late to be counted, so there is nothing to correct.")
        if not Round.objects.filter(pk=task.round_id, state=Round.State.OPEN).exists():
            raise NotCorrectable("The round is closed: ask the researcher to open it again.")
        if version != annotation.version:
            raise StaleSave(annotation)
        before = Content.of(annotation)
        _store(annotation, content, token)
        labels_changed.send(sender=Annotation, task=task, annotator=user, before=before, after=content)
    return annotation


def withdraw(annotation: Annotation, reason: str = "") -> Annotation:
    """Take a submission out of the count, with everything in it kept. Somebody else may take the seat it held.

    Raises NotCorrectable for anything but a submission.
    """
    with transaction.atomic():
        stored = Annotation.objects.select_for_update().get(pk=annotation.pk)
        if stored.state != Annotation.State.SUBMITTED:
            raise NotCorrectable("Only a submitted label can be withdrawn.")
        task, user = stored.task, stored.annotator
        stored.state = Annotation.State.WITHDRAWN
        stored.withdrawn_because = reason[:500]
        stored.version += 1
        stored.save()
        if not stored.surplus:
            assignment.vacate(task, user, reason)
            before = Content.of(stored)
            labels_changed.send(sender=Annotation, task=task, annotator=user, before=before, after=None)
    return stored


def exposure_of(task: Task) -> dict[str, Any]:
    """What the screen of this task shows, so that a reader of the data knows what each annotator had seen."""
    return {
        "screen": f"{task.round.kind}/{SCREEN_VERSION}",
        "checklist_version": task.checklist.version if task.checklist else None,
        "position": task.position,
        "revealed": [],
    }


def _check_complete(task: Task, content: Content) -> None:
    missing = missing_parts(task, content)
    if missing:
        raise InvalidLabel(f"Still to answer: {', '.join(missing)}.")


def _own(task: Task, user: User) -> Annotation:
    """The user's annotation of the task, locked until the transaction ends."""
    annotation = Annotation.objects.select_for_update().filter(task=task, annotator=user).first()
    if annotation is None:
        raise NoSeat("This task was not given to you: go back to the round and take the next task.")
    return annotation


def _store(annotation: Annotation, content: Content, token: str) -> None:
    """Write the content into the annotation as its next version."""
    annotation.score = content.score
    annotation.preference = content.preference
    annotation.effect = content.effect
    annotation.comment = content.comment
    annotation.active_seconds = max(annotation.active_seconds, content.active_seconds)
    annotation.version += 1
    annotation.last_token = token
    annotation.save()
    annotation.answers.all().delete()
    Answer.objects.bulk_create(
        Answer(annotation=annotation, question_id=question, value=value)
        for question, value in sorted(content.answers.items())
    )


def _take_seat(annotation: Annotation) -> None:
    """Turn the annotator's seat into a submitted one, inside the submit transaction; surplus where there is none."""
    task, user = annotation.task, annotation.annotator
    if task.round.state != Round.State.CLOSED and not assignment.renew(task, user):
        assignment.reclaim(task, user)
    mine = Assignment.objects.filter(task=task, annotator=user, state=Assignment.State.LEASED)
    open_round = Round.objects.filter(pk=task.round_id, state=Round.State.OPEN).exists()
    taken = open_round and mine.update(state=Assignment.State.SUBMITTED, leased_until=None)
    if taken:
        annotation.assignment = Assignment.objects.get(task=task, annotator=user)
    else:
        annotation.surplus = True


def _read_whole(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 16):
        return None
    return -int(digits) if text.startswith("-") else int(digits)


def _read_score(round: Round, text: str, problems: list[str]) -> int | None:
    if not text:
        return None
    score = _read_whole(text)
    if score not in round.scores:
        problems.append(f"The score must be a whole number from {round.scale_low} to {round.scale_high}.")
        return None
    return score


def _read_answers(task: Task, data: Mapping[str, Any], problems: list[str]) -> dict[int, str]:
    allowed = ["yes", "no"] + (["na"] if task.round.allow_na else [])
    questions = set() if task.checklist is None else {question.pk for question in task.checklist.questions.all()}
    answers: dict[int, str] = {}
    for name in data:
        if not name.startswith("answer-"):
            continue
        question, value = _read_whole(name.removeprefix("answer-")), str(data[name])
        if question not in questions:
            problems.append("An answer belongs to a question that is not on this checklist: reload the page.")
        elif value not in allowed:
            problems.append(f"An answer must be one of: {', '.join(allowed)}.")
        else:
            answers[question] = value
    return answers

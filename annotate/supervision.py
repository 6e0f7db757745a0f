"""What a researcher does to the people, seats and labels of a round while annotators work in it.

Every change is one conditional UPDATE whose row count is checked, or holds the annotations that it is about, and leaves
a record: an `Intervention`, or a `Removal` where an annotator is taken out (`record_of`).
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Exists, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import assignment, labelling, writing
from annotate.contents import Content
from annotate.models import (
    Annotation,
    Assignment,
    Experiment,
    Intervention,
    Participation,
    Project,
    Removal,
    Role,
    Round,
    User,
)

LEASED, FREE = Assignment.State.LEASED, Assignment.State.FREE
LOT = 50  # annotations that a removal settles in one transaction
Action = Intervention.Action


class NotDone(Exception):
    """The change cannot be made as things stand by now; the message is a sentence that says why."""


# -- the round -------------------------------------------------------------------------------------------------------


def close(round: Round, by: User) -> None:
    """Hand out no more tasks. Raises ValidationError where the round is not open."""
    with transaction.atomic():
        round.close()
        _note(round, Action.CLOSED, by)


def reopen(round: Round, by: User) -> None:
    """Hand out tasks again. Raises ValidationError where the round is not closed."""
    with transaction.atomic():
        round.reopen()
        _note(round, Action.REOPENED, by)


def record_of(round: Round) -> list[Intervention | Removal]:
    """All that was done to the round, its people, seats and labels, the newest first. Two queries."""
    return sorted(
        [
            *round.interventions.select_related("annotator", "given_to", "task", "by"),
            *round.removals.select_related("annotator", "removed_by"),
        ],
        key=lambda one: one.removed_at if isinstance(one, Removal) else one.at,
        reverse=True,
    )


# -- seats -----------------------------------------------------------------------------------------------------------


def release(round: Round, by: User, *, annotator: User | None = None, seats: Iterable[int] | None = None) -> int:
    """Free seats that are held: all of one annotator, those with these numbers, or else all whose lease ran out.

    What was written so far stays with its author, who may take the task again. Returns the number of freed seats.
    """
    held = Q(state=LEASED)
    if annotator is not None:
        held &= Q(annotator=annotator)
    elif seats is None:
        held &= Q(leased_until__lt=timezone.now())
    found = Assignment.objects.in_round(round)
    with transaction.atomic():
        freed = assignment.free(held, found if seats is None else found.filter(pk__in=seats))
        if freed:
            _note(round, Action.RELEASED, by, annotator=annotator, seats=freed)
    return freed


def expired(round: Round) -> int:
    """How many seats are held beyond their lease."""
    return Assignment.objects.in_round(round).filter(state=LEASED, leased_until__lt=timezone.now()).count()


def reassign(seat: Assignment, to: User, by: User) -> None:
    """Lease a seat that somebody holds to another annotator, who finds it when they next come to the round.

    Who has no arm of its experiment yet is placed in the round's, on record, as otherwise they would be drawn into
    another one when they come.

    Raises NotDone where the holder submitted or lost it meanwhile, or the other annotator may not have the task.
    """
    round, holder = seat.task.round, seat.annotator
    if seat.shown_in_id is not None:
        raise NotDone(_("This task is meant for %(name)s alone: release it instead.") % {"name": holder})
    if to not in annotators_of(round.project):
        raise NotDone(_("Seats go to annotators of the project: choose one of them."))
    if not round.admits(to):
        raise NotDone(_("%(name)s has not qualified for the round yet: choose somebody else.") % {"name": to})
    if not assignment.may_take(seat, to, round):
        raise NotDone(_("%(name)s has had this task or its unit already: choose somebody else.") % {"name": to})
    until = timezone.now() + datetime.timedelta(minutes=round.lease_minutes)
    own = assignment.participation(round, to)
    try:
        with transaction.atomic():
            # Held, so that a pause or removal comes before this, or after it and finds the seat.
            active = Participation.objects.filter(pk=own.pk, state=Participation.State.ACTIVE)
            if active.select_for_update(no_key=True).first() is None:
                raise NotDone(_("%(name)s is paused or removed: let them in again first.") % {"name": to})
            moved = (
                Assignment.objects.filter(pk=seat.pk, state=LEASED, annotator=holder)
                .filter(Exists(Round.objects.filter(pk=round.pk, state=Round.State.OPEN)))
                .update(annotator=to, leased_until=until)
            )
            if not moved:
                raise NotDone(_("The seat is not held any more, or the round was closed: nothing was changed."))
            _keep_in_arm(round, to, by)
            Annotation.objects.bulk_create([assignment.begin(seat.task_id, to, own)], ignore_conflicts=True)
            _note(round, Action.REASSIGNED, by, annotator=holder, given_to=to, task=seat.task)
    except IntegrityError as error:  # they took another seat of the task at the same moment
        raise NotDone(_("%(name)s holds a seat of this task by now: nothing was changed.") % {"name": to}) from error


def _keep_in_arm(round: Round, annotator: User, by: User) -> None:
    """Have the annotator work in this round, where its experiment draws arms. Raises NotDone for one of another arm."""
    experiment = round.experiment
    if experiment is None or not experiment.draws_arms:
        return
    Experiment.objects.select_for_update().get(pk=experiment.pk)  # as a draw does
    placed = experiment.placings.filter(annotator=annotator).first()
    if placed is None:
        place(experiment, annotator, round, by)
    elif placed.round_id != round.pk:
        raise NotDone(_("%(name)s works in another arm of the experiment: choose somebody else.") % {"name": annotator})


# -- people ----------------------------------------------------------------------------------------------------------


def annotators_of(project: Project) -> list[User]:
    """The members who annotate and can log in, which simulated annotators cannot; by user name."""
    annotating = project.memberships.filter(role=Role.ANNOTATOR)
    return list(User.objects.filter(memberships__in=annotating, is_active=True).order_by("username"))


def pause(round: Round, annotator: User, by: User) -> None:
    """Hand out no more tasks to the annotator; what they hold they may still submit. Raises NotDone."""
    own = assignment.participation(round, annotator)
    with transaction.atomic():
        changed = Participation.objects.filter(pk=own.pk, state=Participation.State.ACTIVE).update(
            state=Participation.State.PAUSED
        )
        if not changed:
            raise NotDone(_("%(name)s is paused or removed already.") % {"name": annotator})
        _note(round, Action.PAUSED, by, annotator=annotator)


def resume(round: Round, annotator: User, by: User) -> None:
    """Let an annotator in again who was paused or removed. Raises NotDone."""
    own = assignment.participation(round, annotator)
    with transaction.atomic():
        changed = (
            Participation.objects.filter(pk=own.pk)
            .exclude(state=Participation.State.ACTIVE)
            .update(state=Participation.State.ACTIVE)
        )
        if not changed:
            raise NotDone(_("%(name)s works in the round already.") % {"name": annotator})
        _note(round, Action.RESUMED, by, annotator=annotator)


def place(experiment: Experiment, annotator: User, arm: Round, by: User) -> None:
    """Put an annotator into an arm by hand. Raises NotDone for somebody who does not annotate in the project, and an
    arm that is not open yet."""
    if annotator not in annotators_of(experiment.project):
        raise NotDone(_("Only annotators of the project work in an arm: choose one of them."))
    if arm.state == Round.State.DRAFT:
        raise NotDone(_("“%(arm)s” is still a draft: open it before you place somebody in it.") % {"arm": arm})
    with transaction.atomic():
        experiment.place(annotator, arm)
        _note(arm, Action.PLACED, by, annotator=annotator)


class Holdings(NamedTuple):
    """What one annotator has in a round: submissions that are counted, those about gold units, surplus and withdrawn
    ones, drafts, and seats in hand."""

    counted: int
    gold: int
    surplus: int
    withdrawn: int
    drafts: int
    held: int

    @property
    def everything(self) -> int:
        """All that a deletion takes."""
        return self.counted + self.gold + self.surplus + self.withdrawn + self.drafts


def holdings(round: Round, annotator: User) -> Holdings:
    theirs = said_by(round, annotator)
    submitted = theirs.filter(state=Annotation.State.SUBMITTED)
    return Holdings(
        submitted.filter(surplus=False, task__round=round).count(),
        submitted.filter(surplus=False).exclude(task__round=round).count(),
        submitted.filter(surplus=True).count(),
        theirs.filter(state=Annotation.State.WITHDRAWN).count(),
        theirs.filter(state=Annotation.State.DRAFT).count(),
        assignment.held_by(annotator, round).count(),
    )


def said_by(round: Round, annotator: User) -> QuerySet[Annotation]:
    """All that an annotator wrote in the round, drafts and gold units included."""
    return Annotation.objects.said_in(round, annotator).filter(key_of=None).order_by("pk")


def remove(round: Round, annotator: User, labels: str, by: User, reason: str = "") -> Removal:
    """Take an annotator out of the round, with their labels kept, excluded or deleted (`Removal.Labels`).

    Their seats in hand go to others at once, and so do those of labels that are excluded or deleted. A submission that
    is under way comes before the removal, or after it and is kept as surplus. What is deleted leaves its number and
    the SHA-256 of its JSON behind.

    They are out, on record, before the first label is touched; the labels follow in short transactions, because each
    lot of them keeps everybody else's submissions waiting. The record grows with every lot, so it is right wherever
    the work stops; another removal takes up the rest, or does more with the labels, with a record of its own. Raises
    NotDone where nothing is left to do.
    """
    own, digest = assignment.participation(round, annotator), Digest()
    with transaction.atomic():
        still_in = Participation.objects.filter(pk=own.pk).exclude(state=Participation.State.REMOVED)
        if not still_in.update(state=Participation.State.REMOVED) and not _left(round, annotator, labels):
            raise NotDone(_("%(name)s was removed already: nothing was left to do.") % {"name": annotator})
        record = Removal.objects.create(
            round=round,
            annotator=annotator,
            removed_by=by,
            labels=labels,
            reason=reason[:500],
            annotations=0,
            digest=digest.of_all() if labels == Removal.Labels.DELETED else "",
        )
    assignment.free(Q(state=LEASED, annotator=annotator), Assignment.objects.in_round(round))
    theirs = list(said_by(round, annotator).values_list("pk", flat=True))
    for first in range(0, len(theirs), LOT):
        _settle(record, theirs[first : first + LOT], digest)
    return record


def _left(round: Round, annotator: User, labels: str) -> bool:
    """Whether a removal of this kind would still find a seat or a label of somebody who is out already."""
    theirs = {
        Removal.Labels.KEPT: Annotation.objects.none(),
        Removal.Labels.EXCLUDED: said_by(round, annotator).filter(state=Annotation.State.SUBMITTED),
        Removal.Labels.DELETED: said_by(round, annotator),
    }
    return assignment.held_by(annotator, round).exists() or theirs[Removal.Labels(labels)].exists()


def _settle(record: Removal, lot: Sequence[int], digest: Digest) -> None:
    """Do with these annotations what the record says, and put them on record, in one transaction."""
    deletes = record.labels == Removal.Labels.DELETED
    with transaction.atomic():
        # Held before anything else is touched, in the order in which a submission takes them.
        found = list(Annotation.objects.select_for_update(of=("self",)).filter(pk__in=lot).order_by("pk"))
        submitted = [one for one in found if one.state == Annotation.State.SUBMITTED]
        if deletes:
            digest.add(found)
            record.digest = digest.of_all()
            record.drafts += sum(one.state == Annotation.State.DRAFT for one in found)
        record.annotations += len(found if deletes else submitted)
        record.save(update_fields=["annotations", "drafts", "digest"])
        if record.labels != Removal.Labels.KEPT:
            for annotation in found if deletes else submitted:
                writing.discard(annotation, delete=deletes)
            for annotation in submitted:
                labelling.withdraw(annotation, record.reason)
        if deletes:
            Annotation.objects.filter(pk__in=lot).delete()


class Digest:
    """SHA-256, in hex, of what annotations and their revisions say, as one JSON list with sorted keys."""

    def __init__(self) -> None:
        self._so_far = hashlib.sha256(b"[")
        self._any = False

    def add(self, annotations: Iterable[Annotation]) -> None:
        for annotation in annotations:
            said = {
                "task": annotation.task_id,
                "state": annotation.state,
                "surplus": annotation.surplus,
                "version": annotation.version,
                "submitted_at": annotation.submitted_at.isoformat() if annotation.submitted_at else None,
                "content": Content.of(annotation).as_json(),
                "revisions": list(annotation.revisions.values("version", "content", "why")),
            }
            text = json.dumps(said, sort_keys=True, ensure_ascii=False)
            self._so_far.update(((", " if self._any else "") + text).encode())
            self._any = True

    def of_all(self) -> str:
        """Of the list of all that were added by now."""
        whole = self._so_far.copy()
        whole.update(b"]")
        return whole.hexdigest()


# -- labels ----------------------------------------------------------------------------------------------------------


def withdraw(annotation: Annotation, reason: str, by: User) -> None:
    """Take one submission out of the count, and the draft that was made of it out of curators' queue.

    Raises NotDone without a reason, NotCorrectable for what is none.
    """
    if not reason.strip():
        raise NotDone(_("Say why the label is withdrawn: readers of the data will ask."))
    if annotation.task.round.is_training:
        raise NotDone(_("Answers that were compared with the expected ones are counted nowhere: they stay."))
    with transaction.atomic():
        writing.discard(labelling.withdraw(annotation, reason.strip()))
        task = annotation.task
        _note(task.round, Action.WITHDRAWN, by, annotator=annotation.annotator, task=task, reason=reason.strip()[:500])


def _note(round: Round, action: Intervention.Action, by: User, **about: Any) -> None:
    Intervention.objects.create(round=round, action=action, by=by, **about)

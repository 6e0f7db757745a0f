"""Who gets what next: seats of tasks, claimed by conditional UPDATE and held under a lease.

A task has N seats (`Assignment`), so it can never have more than N counted annotations, whoever races whom.
"""

from __future__ import annotations

import datetime
import hashlib

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, IntegerField, Min, OuterRef, Q, Value, When
from django.utils import timezone

from annotate.models import Annotation, Assignment, Round, Task, User

# How often a claim is tried again when other annotators take the seat between the look and the UPDATE.
CLAIM_TRIES = 20


def next_task(round: Round, user: User) -> Task | None:
    """The task that `user` should see now, with a seat leased to them; None when there is nothing left to take.

    A task that the user already holds comes first, then seats in an order of the user's own.
    """
    held = (
        Assignment.objects.filter(task__round=round, annotator=user, state=Assignment.State.LEASED)
        .order_by("task__position")
        .first()
    )
    if held is not None and round.state == Round.State.OPEN and renew(held.task, user):
        return held.task
    for _ in range(CLAIM_TRIES):
        now = timezone.now()
        seat = Assignment.objects.claimable(round, user, now).order_by(*_own_order(round, user), "seat").first()
        if seat is None:
            return None
        if _claim(seat, user, now):
            return seat.task
    return None


def renew(task: Task, user: User) -> bool:
    """Hold the user's seat of this task for another lease; False when the user has no seat any more."""
    return bool(
        Assignment.objects.filter(task=task, annotator=user, state=Assignment.State.LEASED).update(
            leased_until=_lease_end(task.round, timezone.now())
        )
    )


def reclaim(task: Task, user: User) -> bool:
    """Take a seat of this very task again after it was lost, if one is free."""
    for _ in range(CLAIM_TRIES):
        now = timezone.now()
        seat = Assignment.objects.claimable(task.round, user, now).filter(task=task).order_by("seat").first()
        if seat is None:
            return False
        if _claim(seat, user, now):
            return True
    return False


def next_release(round: Round, user: User) -> datetime.datetime | None:
    """When the first seat that somebody else holds now, and that `user` could take, comes free at the latest."""
    if round.state != Round.State.OPEN:
        return None
    mine = Assignment.objects.filter(task=OuterRef("task"), annotator=user)
    held = Assignment.objects.filter(task__round=round, state=Assignment.State.LEASED).exclude(Exists(mine))
    first: datetime.datetime | None = held.aggregate(first=Min("leased_until"))["first"]
    return first


def skip(task: Task, user: User, reason: str) -> bool:
    """Give the seat to somebody else and remember that this user skipped the task; False when it was not theirs."""
    return _hand_back(task, user, Assignment.State.LEASED, reason)


def vacate(task: Task, user: User, reason: str) -> bool:
    """Give back the seat of a withdrawn submission, with the reason on record; False where there is none."""
    return _hand_back(task, user, Assignment.State.SUBMITTED, reason)


def _hand_back(task: Task, user: User, state: Assignment.State, reason: str) -> bool:
    """Turn the user's seat into a skipped record, and put a free one in its place."""
    with transaction.atomic():
        seat = Assignment.objects.filter(task=task, annotator=user, state=state).first()
        if seat is None:
            return False
        skipped = Assignment.objects.filter(pk=seat.pk, annotator=user, state=state).update(
            state=Assignment.State.SKIPPED, leased_until=None, reason=reason[:500]
        )
        if skipped:
            Assignment.objects.create(task=task, seat=seat.seat)
        return bool(skipped)


def _claim(seat: Assignment, user: User, now: datetime.datetime) -> bool:
    """Lease `seat` to `user` if it is still free or its lease still run out, and start the user's annotation."""
    try:
        with transaction.atomic():
            # Conditions on the seat's own columns only: a joined condition becomes a subquery, which PostgreSQL does
            # not look at again after it waited for a rival's UPDATE of the same row.
            claimed = (
                Assignment.objects.filter(pk=seat.pk)
                .filter(Q(state=Assignment.State.FREE) | Q(state=Assignment.State.LEASED, leased_until__lt=now))
                .filter(Exists(Round.objects.filter(pk=seat.task.round_id, state=Round.State.OPEN)))
                .update(
                    state=Assignment.State.LEASED,
                    annotator=user,
                    leased_until=_lease_end(seat.task.round, now),
                )
            )
            if claimed:
                Annotation.objects.get_or_create(task=seat.task, annotator=user)
    except IntegrityError:  # another tab of the same person took another seat of the same task
        return False
    return bool(claimed)


def _lease_end(round: Round, now: datetime.datetime) -> datetime.datetime:
    return now + datetime.timedelta(minutes=round.lease_minutes)


def _own_order(round: Round, user: User) -> list[Case | str]:
    """Tasks from a starting point of the annotator's own, around the round's shuffled positions.

    The start comes from the round's seed, so the order is the same after a restart, and annotators who begin
    together do not queue for the same seats.
    """
    total = Task.objects.filter(round=round).count()
    digest = hashlib.sha256(f"{round.seed}:{round.pk}:{user.pk}".encode()).digest()
    start = int.from_bytes(digest[:8], "big") % max(total, 1) + 1
    wrapped = Case(When(task__position__gte=start, then=Value(0)), default=Value(1), output_field=IntegerField())
    return [wrapped, "task__position"]

"""Who gets what next: seats of tasks, claimed by conditional UPDATE and held under a lease.

A task has N seats (`Assignment`), so it can never have more than N counted annotations, whoever races whom.

Annotators go through a round in blocks of tasks, everybody through the same blocks and each in an order of their own
within a block. So the labels of different people meet early, no two people see the same sequence, and finding the next
seat costs the size of a block, not of the round.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db import IntegrityError, connection, models, transaction
from django.db.models import Exists, Max, Min, OuterRef, Q
from django.utils import timezone

from annotate import gold, prepared
from annotate.models import Annotation, Assignment, Participation, Round, Task, User
from annotate.models.task import AssignmentQuerySet
from annotate.prepared import Prepared

BLOCK = 50  # tasks
# How often a claim is tried again when other annotators take the seat between the look and the UPDATE.
CLAIM_TRIES = 20
COUNTED_UP_TO = 5_000  # tasks

LEASED, FREE = Assignment.State.LEASED, Assignment.State.FREE

# The UPDATEs of seats have conditions on the seat's own columns, and on rows that they do not join: a joined condition
# becomes a subquery, which PostgreSQL does not look at again after it waited for a rival's UPDATE of the same row.
CLAIM = """
UPDATE annotate_assignment SET state = 'leased', annotator_id = %s, leased_until = %s
WHERE id = %s AND (state = 'free' OR (state = 'leased' AND leased_until < %s))
    AND EXISTS (SELECT 1 FROM annotate_round WHERE id = %s AND state = 'open')
    AND EXISTS (SELECT 1 FROM annotate_participation
        WHERE round_id = %s AND annotator_id = %s AND state = 'active'{hold})"""
# Removing somebody waits for a claim under way, so that the removal finds its seat. The lock is the one of an UPDATE:
# a submission that claims a seat again counts itself in the same row later.
HOLD = " FOR NO KEY UPDATE" if connection.features.has_select_for_update else ""

IS_MINE = "EXISTS (SELECT 1 FROM annotate_assignment WHERE id = %s AND annotator_id = %s AND state = 'leased')"

RENEW = "UPDATE annotate_assignment SET leased_until = %s WHERE task_id = %s AND annotator_id = %s AND state = 'leased'"

SUBMIT = """
UPDATE annotate_assignment SET state = 'submitted', leased_until = NULL
WHERE task_id = %s AND annotator_id = %s AND state = 'leased'
    AND EXISTS (SELECT 1 FROM annotate_round WHERE id = %s AND state = 'open')
    AND NOT EXISTS (SELECT 1 FROM annotate_participation
        WHERE round_id = %s AND annotator_id = %s AND state = 'removed')
RETURNING id"""


class Taken(NamedTuple):
    """A task in an annotator's hands, what they have said about it, and how far they are in the round."""

    task: Task
    annotation: Annotation
    participation: Participation


def next_task(round: Round, user: User) -> Task | None:
    """The task that `user` should see now (see `take`); None when there is nothing left to take."""
    taken = take(round, user)
    return taken.task if taken else None


def take(round: Round, user: User) -> Taken | None:
    """The task that `user` should see now, with a seat leased to them; None when there is nothing left to take.

    A task that the user already holds comes first, then a seat whose lease ran out, then one of the user's block; in
    place of either of these a gold unit, where one is due. A training set hands out nothing by itself, and who is
    paused gets nothing but what they hold.
    """
    if round.state != Round.State.OPEN or round.is_training:
        return None
    part = participation(round, user)
    if part.state == Participation.State.REMOVED or not round.admits(user):
        return None
    for _ in range(CLAIM_TRIES):
        now = timezone.now()
        under_lease = _HELD_OR_RUN_OUT(round=round.pk, user=user.pk, now=now)
        mine = next((task for task, holder, _of in under_lease if holder == user.pk), None)
        if mine is not None and _hold(mine, round, user):
            annotation = _SAID.first(task=mine, user=user.pk) or _begun(mine, user, part)
            return Taken(gold.place(_SHOWN(task=mine)[0], user), annotation, part)
        if part.state != Participation.State.ACTIVE:
            return None
        left = any(holder != user.pk and of == round.pk for _task, holder, of in under_lease)
        seat = _run_out(round, user, now) if left else None
        seat = seat or _of_block(round, user, part)
        if seat is None:
            return None
        if round.gold_id is not None and _take_gold(round, user):
            continue
        begun = _claim(seat, user, round, now, part)
        if begun is not None:
            return Taken(_SHOWN(task=seat.task)[0], begun, part)
        if not may_work(round.pk, user):  # any more
            return None
        part = participation(round, user)
    return None


def said_of(task: int, user: User) -> Annotation:
    """The user's annotation of the task with this id, which was given to them. Raises Annotation.DoesNotExist."""
    found = _SAID.first(task=task, user=user.pk)
    if found is None:
        raise Annotation.DoesNotExist
    return found


def _begun(task: int, user: User, part: Participation) -> Annotation:
    """The user's annotation of the task with this id, which they hold; a new one where it was deleted meanwhile."""
    annotation = begin(task, user, part)
    return annotation if prepared.insert(annotation) else said_of(task, user)


def begin(task: int, user: User, part: Participation) -> Annotation:
    """Not stored yet; it says how manieth of the annotator's tasks in the round this is."""
    return Annotation(task_id=task, annotator=user, exposure={"step": part.submitted + 1})


_SAID = Prepared(lambda task, user: Annotation.objects.filter(task=task, annotator=user), task=int, user=int)
_SHOWN = Prepared(lambda task: Task.objects.with_texts().filter(pk=task), task=int)


def give(
    task: Task, user: User, round: Round, *, shown_in: Round | None = None, part: Participation | None = None
) -> None:
    """A seat of a training task for this user: made for them, or the one that they had before leased to them again.

    The lease is as long as the round says. A gold unit's seat keeps in which round it is shown; `part` is how far the
    user is there, by default in the training set.
    """
    lease = {"state": LEASED, "leased_until": _lease_end(round, timezone.now()), "shown_in": shown_in, "vacated": False}
    with transaction.atomic():
        Task.objects.select_for_update(no_key=True).get(pk=task.pk)  # so that no two people get one seat number
        if Assignment.objects.filter(task=task, annotator=user).update(**lease):
            return
        last = task.assignments.aggregate(last=Max("seat"))["last"] or 0
        Assignment.objects.create(task=task, seat=last + 1, annotator=user, **lease)
        begun = begin(task.pk, user, part or participation(round, user))
        Annotation.objects.bulk_create([begun], ignore_conflicts=True)


def _take_gold(round: Round, user: User) -> bool:
    """Lease the user a gold unit if their present step is one; also True where another tab took a task meanwhile."""
    with transaction.atomic():
        # Locked, so that a step is decided once, and a submission in another tab is either seen or waits.
        part = Participation.objects.select_for_update().get(round=round, annotator=user)
        if held_by(user, round).exists():
            return True
        due = part.state == Participation.State.ACTIVE and gold.is_due(round, user, part)
        unit = gold.next_unit(round, user) if due else None
        if unit is not None:
            give(unit, user, round, shown_in=round, part=part)
        return unit is not None


def _under_lease(round: int) -> AssignmentQuerySet:
    """The leased seats of this round, those of gold units among them."""
    return Assignment.objects.in_round(round).filter(state=LEASED)


def held_by(user: User, round: Round) -> AssignmentQuerySet:
    """The seats of this round that the user holds, those of gold units among them."""
    return _under_lease(round.pk).filter(annotator=user)


# Task, holder and the task's round of every seat that the user holds, or that anybody let run out, by position.
_HELD_OR_RUN_OUT = Prepared(
    lambda round, user, now: (
        _under_lease(round)
        .filter(Q(annotator=user) | Q(leased_until__lt=now))
        .order_by("task__position")
        .values_list("task", "annotator", "task__round")
    ),
    round=int,
    user=int,
    now=datetime.datetime,
)


def participation(round: Round, user: User) -> Participation:
    found = _PARTICIPATION.first(round=round.pk, user=user.pk)
    return found or Participation.objects.get_or_create(round=round, annotator=user)[0]


_PARTICIPATION = Prepared(
    lambda round, user: Participation.objects.filter(round=round, annotator=user), round=int, user=int
)


def may_work(round_id: int, user: User) -> bool:
    """Whether the round is open, and the annotator was not removed from it."""
    return bool(_WORKED_IN(round=round_id, user=user.pk))


def submit_seat(task: Task, user: User) -> int | None:
    """Turn the seat that the user holds of this task into a submitted one; None where they hold none or may not work.

    Returns its id. Whether they may is looked at again by the UPDATE itself.
    """
    mine = prepared.rows(SUBMIT, [task.pk, user.pk, task.round_id, task.round_id, user.pk])
    return mine[0][0] if mine else None


def _worked_in(round: int, user: int) -> models.QuerySet[Round, tuple[int]]:
    """This round, if it is open and the user was not removed from it."""
    removed = Participation.objects.filter(round=OuterRef("pk"), annotator=user, state=Participation.State.REMOVED)
    return Round.objects.filter(~Exists(removed), pk=round, state=Round.State.OPEN).values_list("pk")


_WORKED_IN = Prepared(_worked_in, round=int, user=int)


def may_take(seat: Assignment, user: User, round: Round) -> bool:
    """Whether this user may still take the seat's task."""
    return _open_to(Assignment.objects.filter(pk=seat.pk), user.pk, _limit(round)).exists()


def free(held: Q, seats: models.QuerySet[Assignment]) -> int:
    """Free those of the seats for which the condition, on their own columns, holds when they are written.

    A gold unit's is vacated: it is its annotator's own, and without it the unit would show itself as gold.
    Returns the number of seats.
    """
    chosen = list(seats.filter(held).values_list("pk", flat=True))
    # By number, because a joined condition becomes a subquery that PostgreSQL does not look at again after a wait.
    still = Assignment.objects.filter(held, pk__in=chosen)
    gone = still.exclude(shown_in=None).update(state=Assignment.State.SKIPPED, vacated=True, leased_until=None)
    return gone + still.filter(shown_in=None).update(state=FREE, annotator=None, leased_until=None)


def holds(task: Task, user: User) -> bool:
    """Whether the user has a seat of this task, be it one whose lease ran out and that nobody took."""
    return Assignment.objects.filter(task=task, annotator=user, state=LEASED).exists()


def renew(task: Task, user: User) -> bool:
    """Hold the user's seat of this task for another lease, or take one again that they lost; False where there is none.

    Who writes the key of a training task never had one.
    """
    if _hold(task.pk, task.round, user):
        return True
    return _PARTICIPATION.first(round=task.round_id, user=user.pk) is not None and reclaim(task, user)


def _hold(task: int, round: Round, user: User) -> bool:
    return bool(prepared.run(RENEW, [_lease_end(round, timezone.now()), task, user.pk]))


def reclaim(task: Task, user: User) -> bool:
    """Take a seat of this very task again after it was lost, if one is free."""
    part = participation(task.round, user)
    if part.state != Participation.State.ACTIVE:
        return False
    for _ in range(CLAIM_TRIES):
        now = timezone.now()
        seats = Assignment.objects.filter(Q(state=FREE) | Q(state=LEASED, leased_until__lt=now), task=task)
        seat = _first(_seats(seats.without(user.pk)), task.round, user)
        if seat is None:
            return False
        if _claim(seat, user, task.round, now, part):
            return True
    return False


def available(round: Round, user: User) -> int:
    """How many tasks could still be the user's: held by them and, unless they are paused, free or left by somebody.

    Of a round too large to count in passing, how many they have not submitted, as long as there is one for them.
    """
    part = participation(round, user)
    if round.state != Round.State.OPEN or part.state == Participation.State.REMOVED:
        return 0
    held = held_by(user, round).count()
    if part.state != Participation.State.ACTIVE:
        return held
    free = Q(state=FREE) | Q(state=LEASED, leased_until__lt=timezone.now())
    seats = _open_to(Assignment.objects.filter(free, task__round=round), user.pk, _limit(round))
    if round.size > COUNTED_UP_TO:
        return round.size + gold.planned(round, user) - part.submitted if held or seats.exists() else 0
    tasks = seats.values("task").distinct().count()
    return held + tasks + gold.to_come(round, user, part, held, tasks)


def next_release(round: Round, user: User) -> datetime.datetime | None:
    """When the first seat that somebody else holds now, and that `user` could take, comes free at the earliest: a
    holder who still writes renews the lease."""
    if round.state != Round.State.OPEN:
        return None
    held = Assignment.objects.filter(task__round=round, state=LEASED).exclude(annotator=user)
    takable = _open_to(held, user.pk, _limit(round))
    first: datetime.datetime | None = takable.aggregate(first=Min("leased_until"))["first"]
    return first


def skip(task: Task, user: User, reason: str) -> bool:
    """Give the seat to somebody else and remember that this user skipped the task; False when it was not theirs."""
    return _hand_back(task, user, LEASED, reason)


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
            state=Assignment.State.SKIPPED, vacated=state != LEASED, leased_until=None, reason=reason[:500]
        )
        if skipped and task.key_id is None:  # seats of tasks with a key are made one by one
            Assignment.objects.create(task=task, seat=seat.seat)
        return bool(skipped)


def _limit(round: Round) -> int | None:
    """The id of the experiment that lets nobody see a unit in two of its arms, where the round is one of them."""
    return round.experiment.pk if round.experiment is not None and not round.experiment.same_unit_again else None


def _open_to(seats: AssignmentQuerySet, user: int, limit: int | None) -> AssignmentQuerySet:
    """Those of these seats whose tasks this user may still take; for `limit` see `_limit`."""
    found = seats.without(user)
    if limit is None:
        return found
    # Whose seat was lost, released or given to somebody else has an annotation; a deleted one left its seat behind.
    had: list[models.QuerySet[Any]] = [Assignment.objects.all(), Annotation.objects.all()]
    for taken in had:
        found = found.exclude(Exists(_in_other_arms(taken, limit, user)))
    return found


def _in_other_arms(taken: models.QuerySet[Any], experiment: int, user: int) -> models.QuerySet[Any]:
    """Of these seats or annotations the user's in another arm, about the unit of the outer seat's task."""
    return taken.filter(
        Q(task__response=OuterRef("task__response")) | Q(task__response=None),
        Q(task__other=OuterRef("task__other")) | Q(task__other=None),
        task__round__experiment=experiment,
        task__item=OuterRef("task__item"),
        annotator=user,
    ).exclude(task__round=OuterRef("task__round"))


class _Seat(NamedTuple):
    """A seat that may be claimed: `task` and `pk` are ids."""

    position: int
    seat: int
    pk: int
    task: int


def _seats(seats: AssignmentQuerySet) -> models.QuerySet[Assignment, tuple[Any, ...]]:
    return seats.order_by().values_list("task__position", "seat", "pk", "task")


def _run_out(round: Round, user: User, now: datetime.datetime) -> _Seat | None:
    """The first seat that somebody let run out, and that this user may take."""
    left = Assignment.objects.filter(task__round=round, state=LEASED, leased_until__lt=now)
    return _first(_seats(_open_to(left, user.pk, _limit(round))), round, user)


def _free(round: int, user: int, limit: int | None = None) -> AssignmentQuerySet:
    return _open_to(Assignment.objects.filter(task__round=round, state=FREE), user, limit)


def _free_between(
    round: int, user: int, first: int, end: int, limit: int | None = None
) -> models.QuerySet[Assignment, tuple[Any, ...]]:
    inside = _free(round, user, limit).filter(task__position__gte=first, task__position__lt=end)
    return _seats(inside)


def _free_from(
    round: int, user: int, first: int, limit: int | None = None
) -> models.QuerySet[Assignment, tuple[Any, ...]]:
    ahead = _free(round, user, limit).filter(task__position__gte=first)
    return ahead.order_by("task__position").values_list("task__position")[:1]


_FROM = Prepared(_free_from, round=int, user=int, first=int)
_FROM_IN_ARM = Prepared(_free_from, round=int, user=int, first=int, limit=int)
_FREE = Prepared(_free_between, round=int, user=int, first=int, end=int)
_FREE_IN_ARM = Prepared(_free_between, round=int, user=int, first=int, end=int, limit=int)


def _of_block(round: Round, user: User, part: Participation) -> _Seat | None:
    """The user's next free seat: in their block, in the first later block that has one, or one that was given back."""
    seat = _in_block(round, user, part.block)
    if seat is not None:
        return seat
    limit = _limit(round)
    where = {"round": round.pk, "user": user.pk} | ({} if limit is None else {"limit": limit})
    query = _FROM if limit is None else _FROM_IN_ARM
    found = query.first(first=(part.block + 1) * BLOCK + 1, **where) or query.first(first=1, **where)
    if found is None:
        return None
    block = (found[0] - 1) // BLOCK
    if block > part.block:
        Participation.objects.filter(pk=part.pk, block=part.block).update(block=block)
        part.block = block
    return _in_block(round, user, block)


def _in_block(round: Round, user: User, block: int) -> _Seat | None:
    """The seat of this block that comes first for this user."""
    where = {"round": round.pk, "user": user.pk, "first": block * BLOCK + 1, "end": (block + 1) * BLOCK + 1}
    limit = _limit(round)
    return _first(_FREE(**where) if limit is None else _FREE_IN_ARM(**where, limit=limit), round, user)


def _first(seats: Iterable[tuple[Any, ...]], round: Round, user: User) -> _Seat | None:
    """The one of these seats that comes first for this user."""
    lowest: dict[int, _Seat] = {}  # of each task the free seat with the lowest number, by position
    for seat in map(_Seat._make, seats):
        if seat.position not in lowest or seat < lowest[seat.position]:
            lowest[seat.position] = seat
    if not lowest:
        return None
    if round.order == Round.Order.RANDOM:
        return lowest[min(lowest, key=lambda position: lot(round, user, position))]
    return lowest[min(lowest)]


def lot(round: Round, user: User, position: int) -> bytes:
    """Where a task stands in the user's own order; it comes from the round's seed, so it holds after a restart."""
    return hashlib.blake2b(f"{round.seed}:{round.pk}:{user.pk}:{position}".encode(), digest_size=8).digest()


def _claim(seat: _Seat, user: User, round: Round, now: datetime.datetime, part: Participation) -> Annotation | None:
    """Lease `seat` to `user` if it is still free or its lease still run out, and start the user's annotation."""
    try:
        with transaction.atomic():
            values = [user.pk, _lease_end(round, now), seat.pk, now, round.pk, round.pk, user.pk]
            begun = begin(seat.task, user, part)
            claimed, written = prepared.together(
                (CLAIM.format(hold=HOLD), values), prepared.insertion(begun, IS_MINE, [seat.pk, user.pk])
            )
    except IntegrityError:  # another tab of the same person took another seat of the same task
        return None
    if not claimed.number:
        return None
    # What they wrote before they lost a seat of this task is still there.
    return begun if prepared.inserted(begun, written) else said_of(seat.task, user)


def _lease_end(round: Round, now: datetime.datetime) -> datetime.datetime:
    return now + datetime.timedelta(minutes=round.lease_minutes)

"""Training sets at work: the way into a round that asks for a qualification, and how well gold units were labelled.

A qualification is taken in attempts. Each goes through all tasks of the set that had a key when it began, in an order
of the annotator's own; what was submitted is compared with the key, shown beside it, and kept (`Comparison`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotate import assignment, gold
from annotate.contents import Content
from annotate.labelling import keep_revision
from annotate.models import Annotation, Assignment, Comparison, Grant, Participation, Revision, Round, Task, User


@dataclass(frozen=True)
class Practice:
    """Where an annotator stands on the way into a round."""

    passed: bool
    total: int  # tasks of the set
    done: int  # of the attempt under way
    attempts: int  # finished
    left: int  # that may still be finished, the one under way included
    met: int  # expected answers met in the last finished attempt
    of: int
    feedback: Comparison | None  # which the annotator has not gone on from
    following: Task | None  # the next task of the attempt under way; None between attempts

    @property
    def percent(self) -> int:
        """Of the expected answers met in the last finished attempt, rounded down: a pass mark is met in full."""
        return 100 * self.met // self.of if self.of else 0


def practice_of(round: Round, user: User) -> Practice:
    """Where the annotator stands on the way into this round, which they go from now on. Finishes the attempt whose last
    task was submitted."""
    own = _own(round, user)
    tasks = _tasks_of(own, _set_of(round), user)
    _finish(round, own, tasks)
    return _practice(round, user, own, tasks)


def look_at(round: Round, user: User) -> Practice:
    """Where the annotator stands on the way into this round; nothing is begun or finished by looking."""
    own = assignment.participation(_set_of(round), user)
    return _practice(round, user, own, _tasks_of(own, _set_of(round), user))


def _practice(round: Round, user: User, own: Participation, tasks: list[Task]) -> Practice:
    under_way = set(_compared(own, own.attempts + 1).values_list("annotation__task", flat=True))
    last = _compared(own, own.attempts).aggregate(met=Sum("met"), of=Sum("of"))
    passed, left = round.admits(user), allowed(round, user) - own.attempts
    going = not passed and not _is_between(own) and left > 0
    return Practice(
        passed=passed,
        total=len(tasks),
        done=len(under_way),
        attempts=own.attempts,
        left=max(left, 0),
        met=last["met"] or 0,
        of=last["of"] or 0,
        feedback=_compared(own)
        .filter(seen_at=None)
        .select_related("annotation__task")
        .order_by("attempt", "at")
        .first(),
        following=next((task for task in tasks if task.pk not in under_way), None) if going else None,
    )


def is_asked_of(round: Round, user: User) -> bool:
    """Whether the annotator, who could work in the round by now, has to practise first."""
    active = assignment.participation(round, user).state == Participation.State.ACTIVE
    return round.state == Round.State.OPEN and active and not round.admits(user)


def stopped_in(round: Round, user: User) -> Participation | None:
    """The annotator's part in the round's qualification, where they were paused in it or taken out of it."""
    own = assignment.participation(_set_of(round), user)
    return None if own.state == Participation.State.ACTIVE else own


def screen_of(task: Task, user: User) -> dict[str, Any]:
    """What the screen of a practice task says otherwise than that of the round's tasks: which round it leads to, how
    far the attempt is, and no way back, as what was compared cannot be corrected."""
    round = practised_for(task.round, user)
    if round is None:
        return {}
    practice = practice_of(round, user)
    return {
        "title": round.title,
        "practice": {"number": min(practice.done + 1, practice.total), "total": practice.total},
        "progress": {"submitted": practice.done, "total": practice.total},
        "last": "",
    }


def allowed(round: Round, user: User) -> int:
    """How many attempts the annotator has in all: the round's, and those that a researcher added."""
    return round.attempts + _set_of(round).grants.filter(annotator=user, what=Grant.What.ATTEMPT).count()


def take(task: Task, user: User) -> None:
    """Hand the annotator a task of their attempt under way; what they said in an earlier one is put on record.

    Nothing happens where another tab has submitted it in this attempt meanwhile.
    """
    with transaction.atomic():
        # Locked before the seat, as a save does it.
        annotation = Annotation.objects.select_for_update().filter(task=task, annotator=user).first()
        own = Participation.objects.get(round=task.round, annotator=user)
        if annotation is not None and annotation.state != Annotation.State.DRAFT:
            if annotation.comparisons.filter(attempt=own.attempts + 1).exists():
                return
            _begin_anew(annotation)
        assignment.give(task, user, task.round)
        if not own.attempt_tasks:
            begun = [each.pk for each in _tasks_of(own, task.round, user)]
            Participation.objects.filter(pk=own.pk, attempts=own.attempts, attempt_tasks=[]).update(attempt_tasks=begun)


def see(round: Round, user: User, comparison: int) -> None:
    """Go on from the feedback page of this comparison, where it is the annotator's own."""
    _compared(_own(round, user)).filter(pk=comparison, seen_at=None).update(seen_at=timezone.now())


def number_of(comparison: Comparison) -> int:
    """The how manieth task of its attempt this was."""
    said = comparison.annotation
    earlier = Comparison.objects.filter(
        annotation__task__round=said.task.round_id,
        annotation__annotator=said.annotator_id,
        annotation__assignment__shown_in=None,
        attempt=comparison.attempt,
        at__lt=comparison.at,
    )
    return earlier.count() + 1


def try_again(round: Round, user: User) -> None:
    """Begin another attempt, where the last one is over, did not reach the pass mark, and one is left."""
    practice, own = practice_of(round, user), _own(round, user)
    if not practice.passed and practice.left and _is_between(own):
        Participation.objects.filter(pk=own.pk, attempts=own.attempts).update(submitted=0)


def grant(training_set: Round, user: User, what: Grant.What, by: User, reason: str = "") -> Grant:
    """Give an annotator another attempt, or the pass, on record."""
    with transaction.atomic():
        if what == Grant.What.PASS:
            assignment.participation(training_set, user)
            Participation.objects.filter(round=training_set, annotator=user).update(
                passed_at=Coalesce("passed_at", timezone.now())
            )
        return training_set.grants.create(annotator=user, what=what, granted_by=by, reason=reason[:500])


@dataclass(frozen=True)
class Keyed:
    """A task of a training set as researchers see it, with what annotators made of it by now."""

    task: Task
    compared: int  # annotators' submissions in all attempts and as gold units
    met: int  # expected answers met
    of: int


def tasks_of(training_set: Round) -> list[Keyed]:
    """Every task by position. Two queries."""
    found = Comparison.objects.filter(annotation__task__round=training_set).order_by()
    rows = found.values_list("annotation__task").annotate(n=Count("pk"), met=Sum("met"), of=Sum("of"))
    sums = {task: (n, met, of) for task, n, met, of in rows}
    tasks = training_set.tasks.select_related("item", "response", "other", "key__annotator").order_by("position")
    return [Keyed(task, *sums.get(task.pk, (0, 0, 0))) for task in tasks]


def people_of(training_set: Round) -> QuerySet[Participation]:
    """Whoever took, or began, the qualification, or was stopped in it, by user name; `granted` tells how many attempts
    were added."""
    added = Count(
        "annotator__grants", filter=Q(annotator__grants__round=training_set, annotator__grants__what=Grant.What.ATTEMPT)
    )
    people = training_set.participations.exclude(practised_for=None, passed_at=None, state=Participation.State.ACTIVE)
    return people.select_related("annotator").annotate(granted=added).order_by("annotator__username")


class Tally(NamedTuple):
    """How many of the people in a round's qualification set practise, have passed for the round, and have no attempt
    left for it."""

    practising: int
    passed: int
    failed: int


def tally(round: Round) -> Tally:
    """Two queries."""
    training_set, found = _set_of(round), Counter[str]()
    by_hand = set(training_set.grants.filter(what=Grant.What.PASS).values_list("annotator", flat=True))
    for own in people_of(training_set):
        if own.annotator_id in by_hand or (own.share is not None and own.share >= round.pass_mark / 100):
            found["passed"] += 1
        elif own.attempts >= round.attempts + own.granted:  # type: ignore[attr-defined]  # people_of adds it
            found["failed"] += 1
        else:
            found["practising"] += 1
    return Tally(found["practising"], found["passed"], found["failed"])


@dataclass(frozen=True)
class Use:
    """A round that a training set serves."""

    round: Round
    qualifies: bool
    gold_units: int | None  # that can be mixed in; None where none are


def uses_of(training_set: Round) -> list[Use]:
    """The rounds that this set qualifies people for, or has gold units for, the newest first."""
    rounds = Round.objects.filter(Q(qualification=training_set) | Q(gold=training_set)).select_related("gold")
    return [
        Use(
            round,
            round.qualification_id == training_set.pk,
            gold.usable(round).count() if round.gold_id == training_set.pk else None,
        )
        for round in rounds
    ]


def practised_for(training_set: Round, user: User) -> Round | None:
    """The round that the annotator was last on the way into by this training set."""
    own = training_set.participations.filter(annotator=user).select_related("practised_for").first()
    return own.practised_for if own else None


class Met(NamedTuple):
    """How many of the expected answers were given, of how many, in how many units."""

    met: int
    of: int
    units: int


def gold_accuracy(round: Round, user: User) -> Met:
    """How the annotator's submitted gold units of the round stand beside the keys as they were then."""
    found = Comparison.objects.filter(
        annotation__annotator=user,
        annotation__assignment__shown_in=round,
        annotation__state=Annotation.State.SUBMITTED,
    )
    sums = found.aggregate(met=Sum("met"), of=Sum("of"), units=Count("pk"))
    return Met(sums["met"] or 0, sums["of"] or 0, sums["units"])


def _set_of(round: Round) -> Round:
    if round.qualification is None:
        raise ValueError(f"{round} asks for no qualification.")
    return round.qualification


def _own(round: Round, user: User) -> Participation:
    """The annotator's way through the round's qualification, which leads to this round from now on."""
    own = assignment.participation(_set_of(round), user)
    if own.practised_for_id != round.pk:
        Participation.objects.filter(pk=own.pk).update(practised_for=round)
    return own


def _tasks_of(own: Participation, training_set: Round, user: User) -> list[Task]:
    """The tasks of the attempt under way, or of the next one, in the annotator's own order; without those whose key
    they wrote themselves, or that they have met as gold units. A key that comes later lengthens no attempt."""
    if training_set.state != Round.State.OPEN:
        return []
    met_as_gold = Assignment.objects.filter(annotator=user, task__round=training_set).exclude(shown_in=None)
    tasks = training_set.tasks.filter(key__isnull=False).exclude(key__annotator=user)
    found = list(tasks.exclude(pk__in=met_as_gold.values("task")).select_related("round"))
    begun = [task for task in found if task.pk in own.attempt_tasks]
    return sorted(begun or found, key=lambda task: assignment.lot(training_set, user, task.position))


def _compared(own: Participation, attempt: int | None = None) -> QuerySet[Comparison]:
    found = Comparison.objects.filter(annotation__task__round=own.round_id, annotation__annotator=own.annotator_id)
    found = found.filter(annotation__assignment__shown_in=None)
    return found if attempt is None else found.filter(attempt=attempt)


def _is_between(own: Participation) -> bool:
    """Whether an attempt is over and no other is begun: then what was submitted in the last one is still counted."""
    return own.attempts > 0 and own.submitted > 0 and not _compared(own, own.attempts + 1).exists()


def _finish(round: Round, own: Participation, tasks: list[Task]) -> None:
    """Finish the attempt under way if every task was submitted, once only, however many tabs ask."""
    compared = _compared(own, own.attempts + 1)
    done = set(compared.values_list("annotation__task", flat=True))
    if not tasks or not done.issuperset(task.pk for task in tasks):
        return
    sums = compared.aggregate(met=Sum("met"), of=Sum("of"))
    now = timezone.now()
    share = max(own.share or 0.0, sums["met"] / sums["of"])
    values = {"attempts": F("attempts") + 1, "attempt_tasks": [], "share": share}
    if 100 * sums["met"] >= round.pass_mark * sums["of"]:
        values["passed_at"] = Coalesce("passed_at", now)
    Participation.objects.filter(pk=own.pk, attempts=own.attempts).update(**values)
    own.refresh_from_db()


def _begin_anew(annotation: Annotation) -> None:
    """Make a submitted annotation an empty draft; what it said stays as a `Revision`."""
    keep_revision(annotation, Content.of(annotation), Revision.Why.ANEW)
    blank = Annotation(task=annotation.task, annotator=annotation.annotator)
    for name in ("assignment", "state", "surplus", "score", "preference", "effect", "comment", "quotes", "flags"):
        setattr(annotation, name, getattr(blank, name))
    for name in ("written", "last_token", "exposure", "active_seconds", "submitted_at", "withdrawn_because"):
        setattr(annotation, name, getattr(blank, name))
    annotation.version += 1
    annotation.save()
    annotation.answers.all().delete()

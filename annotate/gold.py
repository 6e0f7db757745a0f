"""Gold units: tasks of a training set, mixed into a round so that nobody can tell them from its own tasks.

Whether an annotator's next step is a gold unit is decided by the round's seed, the annotator and the number of the
step, so it is the same after a reload and in another tab.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import Annotation, Assignment, Participation, Round, Task, User


def usable(round: Round) -> QuerySet[Task]:
    """The gold units that can be mixed into the round: with a key, and no unit of the round or its qualification."""
    gold = round.gold
    if gold is None or gold.state != Round.State.OPEN:
        return Task.objects.none()
    elsewhere = Task.objects.filter(
        Q(response=OuterRef("response")) | Q(response=None),
        Q(other=OuterRef("other")) | Q(other=None),
        round__in=[pk for pk in (round.pk, round.qualification_id) if pk is not None],
        item=OuterRef("item"),
    )
    return gold.tasks.filter(~Exists(elsewhere), key__isnull=False)


def place(task: Task, user: User) -> Task:
    """Let a gold unit stand in the round that this annotator meets it in: with its name, guidelines, scale and rules.
    Every other task stays as it is. A query for tasks with a key alone."""
    if task.key_id is not None:
        shown = (
            Round.objects.filter(gold_seats__task=task, gold_seats__annotator=user).select_related("project").first()
        )
        if shown is not None:
            task.round = shown
    return task


def planned(round: Round, user: User) -> int:
    """How many gold units the annotator meets who labels every task of the round. Up to three queries."""
    if round.gold_id is None:
        return 0
    met = Assignment.objects.filter(shown_in=round, annotator=user).count()
    return _among(Course.of(round, user), 0, round.size, met + _unseen(round, user).count())


def to_come(round: Round, user: User, part: Participation, held: int, tasks: int) -> int:
    """How many gold units come between the next `tasks` of the round, after those that the annotator holds."""
    if round.gold_id is None:
        return 0
    return _among(Course.of(round, user), _step(round, user, part) + held, tasks, _unseen(round, user).count())


def is_due(round: Round, user: User, part: Participation) -> bool:
    """Whether the annotator's present step is a gold unit."""
    return _is_gold(Course.of(round, user), _step(round, user, part))


def next_unit(round: Round, user: User) -> Task | None:
    """The gold unit that this annotator gets next: one that they have never seen, in an order of their own."""
    course = Course.of(round, user)
    return min(_unseen(round, user), key=lambda task: _number(course, f"unit {task.pk}"), default=None)


def _unseen(round: Round, user: User) -> QuerySet[Task]:
    seen = Assignment.objects.filter(task=OuterRef("pk"), annotator=user)
    said = Annotation.objects.filter(task=OuterRef("pk"), annotator=user)
    return usable(round).filter(~Exists(seen), ~Exists(said))


def _step(round: Round, user: User, part: Participation) -> int:
    """The number of the annotator's present step: a submission was one, and so was a skipped or vacated seat."""
    gone = Assignment.objects.in_round(round).filter(annotator=user, state=Assignment.State.SKIPPED)
    return part.submitted + gone.count()


class Course(NamedTuple):
    """All that decides which steps of an annotator are gold units: ids, the round's seed and its share of gold."""

    seed: int
    round: int
    user: int
    percent: int

    @classmethod
    def of(cls, round: Round, user: User) -> Course:
        return cls(round.seed, round.pk, user.pk, round.gold_percent)


@lru_cache(maxsize=4096)  # it goes through the steps of a whole round
def _among(course: Course, step: int, tasks: int, units: int) -> int:
    """How many steps from this one on are gold units, of which so many are there, until so many tasks are through."""
    found = 0
    while tasks and found < units:
        if _is_gold(course, step):
            found += 1
        else:
            tasks -= 1
        step += 1
    return found


def _is_gold(course: Course, step: int) -> bool:
    """The first step never is."""
    return step > 0 and _number(course, f"step {step}") % 10_000 < course.percent * 100


def _number(course: Course, what: str) -> int:
    digest = hashlib.blake2b(f"{course.seed}:{course.round}:{course.user}:{what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")

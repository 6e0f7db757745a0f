"""Gold units: tasks of a training set, mixed into a round so that nobody can tell them from its own tasks.

Whether an annotator's next step is a gold unit is decided by the round's seed, the annotator and the number of the
step, so it is the same after a reload and in another tab.
"""

from __future__ import annotations

import hashlib

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


def planned(round: Round) -> int:
    """About how many gold units somebody meets who labels every task of the round. Up to two queries."""
    if round.gold_id is None:
        return 0
    share = round.gold_percent / 100
    return min(int(round.size * share / (1 - share)), usable(round).count())


def to_come(round: Round, user: User) -> int:
    """About how many gold units this annotator has still to meet in the round."""
    if round.gold_id is None:
        return 0
    met = Assignment.objects.filter(shown_in=round, annotator=user).exclude(state=Assignment.State.SKIPPED)
    return max(planned(round) - met.count(), 0)


def is_due(round: Round, user: User, part: Participation) -> bool:
    """Whether the annotator's present step is a gold unit. The first never is; a skipped task was a step."""
    skipped = Assignment.objects.in_round(round).filter(annotator=user, state=Assignment.State.SKIPPED)
    step = part.submitted + skipped.count()
    return step > 0 and _number(round, user, f"step {step}") % 10_000 < round.gold_percent * 100


def next_unit(round: Round, user: User) -> Task | None:
    """The gold unit that this annotator gets next: one that they have never seen, in an order of their own."""
    seen = Assignment.objects.filter(task=OuterRef("pk"), annotator=user)
    said = Annotation.objects.filter(task=OuterRef("pk"), annotator=user)
    unseen = usable(round).filter(~Exists(seen), ~Exists(said))
    return min(unseen, key=lambda task: _number(round, user, f"unit {task.pk}"), default=None)


def _number(round: Round, user: User, what: str) -> int:
    digest = hashlib.blake2b(f"{round.seed}:{round.pk}:{user.pk}:{what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")

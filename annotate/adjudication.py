"""Where people disagree about a task, and what an adjudicator decides on it.

The size of a disagreement is in [0, 1]: the largest of

- the range of the scores over the range of the scale,
- the range of the preferences over 4, the range of their scale,
- the share of the questions that people answer differently; of a pair each question counts for each response.

Only counted labels enter it, and "cannot tell" differs from nothing. It is kept with the task, inside the transaction
that changes a label, so it is never behind the labels: `judging.moves` runs `keep_size` with the cells that the label
moves, and `judging.recount` runs `keep_sizes` with the cells that it writes anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.core.paginator import Page, Paginator
from django.db import connection, transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotate import prepared
from annotate.contents import Content, InvalidLabel, missing_parts
from annotate.models import Adjudication, Annotation, Round, Task, User
from annotate.models.task import TaskQuerySet

PAGE = 25
Show = Literal["undecided", "decided"]

# How far people disagree on the row of annotate_task. Of what nobody said the size is NULL, and never the largest.
SIZE = """
CAST(COALESCE((
    WITH counted AS (
        SELECT id, score, preference FROM annotate_annotation
        WHERE task_id = annotate_task.id AND state = 'submitted' AND NOT surplus
    ), scale AS (
        SELECT scale_high - scale_low AS span FROM annotate_round WHERE id = annotate_task.round_id
    ), asked AS (
        SELECT CASE WHEN MIN(value) <> MAX(value) THEN 1.0 ELSE 0.0 END AS differs
        FROM annotate_answer JOIN counted ON counted.id = annotation_id
        WHERE value <> 'unsure' GROUP BY question_id, about_other
    )
    SELECT MAX(size) FROM (
        SELECT (MAX(score) - MIN(score)) * 1.0 / (SELECT span FROM scale) AS size FROM counted
        UNION ALL SELECT (MAX(preference) - MIN(preference)) / 4.0 FROM counted
        UNION ALL SELECT AVG(differs) FROM asked
    ) sizes
), 0) AS double precision)"""
KEEP = "UPDATE annotate_task SET disagreement = {size} WHERE id = %s"
KEEP_ALL = "UPDATE annotate_task SET disagreement = {size} WHERE round_id = %s AND disagreement <> {size}"
COUNT_WRONG = "SELECT COUNT(*) FROM annotate_task WHERE round_id = %s AND disagreement <> {size}"


@dataclass(frozen=True)
class Listed:
    """One page of the disagreements of a round: tasks with their number of `labels`; and how many there are in all."""

    undecided: int
    decided: int
    page: Page[int]
    tasks: Sequence[Task]


def can_disagree(round: Round) -> bool:
    """Whether the round asks for anything that has a size of disagreement; written checklists have none."""
    return "writing" not in round.shape.parts


def listed(round: Round, show: Show) -> TaskQuerySet:
    """The tasks on which people disagree and nobody has decided, or the decided ones, the largest disagreement first.

    What was decided stays listed when people agree later.
    """
    found = round.tasks.filter(decided=show == "decided").order_by("-disagreement", "position")
    return found if show == "decided" else found.filter(disagreement__gt=0)


def disagreements(round: Round, show: Show, number: int) -> Listed:
    """The page with this number, from 1; the last one where there are fewer. Four queries, all along one index."""
    undecided, decided = (listed(round, each).count() for each in ("undecided", "decided"))
    paginator = Paginator(listed(round, show).values_list("pk", flat=True), PAGE)
    paginator.count = decided if show == "decided" else undecided
    page = paginator.get_page(number)
    shown = list(page.object_list)  # by number first: the texts of the pages before are not read
    counted = Count("annotations", Q(annotations__state=Annotation.State.SUBMITTED, annotations__surplus=False))
    found = Task.objects.filter(pk__in=shown).select_related("item", "response", "other").annotate(labels=counted)
    return Listed(undecided, decided, page, list(found.order_by("-disagreement", "position")))


def keep_size(task: Task) -> prepared.Statement:
    """The statement that works out anew how far people disagree on the task.

    It is run when a counted label has changed, by somebody who keeps other labels of the round waiting until the
    transaction ends: two people who label a task at once would otherwise miss each other.
    """
    return KEEP.format(size=SIZE), [task.pk]


def keep_sizes(round: Round) -> None:
    """The same for every task of the round."""
    _run(KEEP_ALL, round.pk)


def wrong_sizes(round: Round) -> int:
    """Of how many tasks the size that is kept is not that of the labels."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT_WRONG.format(size=SIZE), [round.pk])
        return int(cursor.fetchone()[0])


def neighbour(task: Task, direction: Literal["next", "previous"]) -> int | None:
    """The position of the undecided task after or before this one in the list, or None."""
    size, position, tasks = task.disagreement, task.position, listed(task.round, "undecided")
    if direction == "next":
        tasks = tasks.filter(disagreement__lte=size).exclude(disagreement=size, position__lte=position)
    else:
        tasks = tasks.filter(disagreement__gte=size).exclude(disagreement=size, position__gte=position).reverse()
    return tasks.values_list("position", flat=True).first()


def decide(task: Task, adjudicator: User, content: Content) -> Adjudication:
    """Keep a decision as a new row. The same decision sent twice in a row by the same person is kept once.

    Raises InvalidLabel for what is missing.
    """
    missing = missing_parts(task, content)
    if missing:
        raise InvalidLabel(_("Still to answer: %(what)s.") % {"what": ", ".join(missing)}, content)
    with transaction.atomic():
        Task.objects.select_for_update(no_key=True).get(pk=task.pk)
        newest = task.adjudications.first()
        if newest and newest.adjudicator_id == adjudicator.pk and Content.from_json(newest.content) == content:
            return newest
        Task.objects.filter(pk=task.pk).update(decided=True)
        return Adjudication.objects.create(task=task, adjudicator=adjudicator, content=content.as_json())


def _run(statement: str, pk: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement.format(size=SIZE), [pk])

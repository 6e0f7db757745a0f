"""Runs of a judge: planned as rows of calls, steered, and summed up. `judging.work` carries the calls out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from annotate.models import Checklist, Item, Project, Round, User
from judging import recount
from judging.generators import POLICIES
from judging.models import Call, Judge, Run, Verdict
from judging.protocols import PROTOCOLS, Protocol, Unit

MOST_REPEATS = 100
BATCH = 2000


class PlanError(Exception):
    """The run cannot be planned; the message is a sentence with the remedy."""


def plan_judging(
    project: Project, judge: Judge, protocol: str, round: Round, *, repeats: int = 1, user: User | None = None
) -> Run:
    """Plan a judge's verdicts on the responses of a round, and ring for a worker. Raises PlanError."""
    method = PROTOCOLS.get(protocol)
    if method is None:
        raise PlanError(f"There is no protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}.")
    if round.project_id != project.pk:
        raise PlanError("The round belongs to another project.")
    if not 1 <= repeats <= MOST_REPEATS:
        raise PlanError(f"The number of repeats must be from 1 to {MOST_REPEATS}.")
    _check_judge(project, judge)
    units, missing = units_of(round, method)
    if not units and missing:
        raise PlanError("No item of this round has an approved checklist: approve some, or score directly.")
    if not units:
        raise PlanError("This round has no tasks yet: open it first.")
    run = Run(
        project=project,
        judge=judge,
        kind=Run.Kind.JUDGING,
        method=protocol,
        round=round,
        repeats=repeats,
        prompt_version=method.prompt_version,
        created_by=user,
    )
    return _start(run, (call for unit in units for call in method.plan(unit, repeats)))


def plan_generation(
    project: Project, judge: Judge, policy: str, items: Iterable[Item], *, user: User | None = None
) -> Run:
    """Plan one new checklist draft for each of `items`, and ring for a worker. Raises PlanError."""
    method = POLICIES.get(policy)
    if method is None:
        raise PlanError(f"There is no policy {policy!r}: choose one of {', '.join(POLICIES)}.")
    chosen = list(items)
    if not chosen:
        raise PlanError("No items are chosen: import items, or choose some without a checklist.")
    if any(item.project_id != project.pk for item in chosen):
        raise PlanError("Some of the items belong to another project.")
    _check_judge(project, judge)
    run = Run(
        project=project,
        judge=judge,
        kind=Run.Kind.GENERATION,
        method=policy,
        prompt_version=method.prompt_version,
        created_by=user,
    )
    return _start(run, (method.plan(item) for item in chosen))


def units_of(round: Round, protocol: Protocol) -> tuple[list[Unit], int]:
    """The units of a round that a protocol can judge, responses of an item next to each other, and the number of those
    left out because their item has no checklist.

    A unit has the checklist that its task pins; where the round pins none, the item's newest approved one.
    """
    tasks = list(
        round.tasks.filter(response__isnull=False, other=None)
        .select_related("item", "response", "checklist")
        .prefetch_related("checklist__questions")
        .order_by("item_id", "response_id")
    )
    if not protocol.needs_checklist:
        return [Unit(task.item, task.response) for task in tasks if task.response], 0
    unpinned = {task.item_id: task.item for task in tasks if task.checklist is None}
    newest = Checklist.objects.prefetch_related("questions").newest_approved(
        list(unpinned.values()), round.checklist_policy
    )
    units = []
    for task in tasks:
        checklist = task.checklist or newest.get(task.item_id)
        if task.response and checklist:
            units.append(Unit(task.item, task.response, checklist))
    return units, len(tasks) - len(units)


def pause(run: Run, reason: str = "") -> bool:
    """Ask nothing more until `resume`; calls under way are still stored. False where the run is not running."""
    return _move(run, [Run.State.RUNNING], Run.State.PAUSED, reason)


def resume(run: Run) -> bool:
    """Go on with a paused run. False where it is not paused."""
    with transaction.atomic():
        moved = _move(run, [Run.State.PAUSED], Run.State.RUNNING)
        if moved:
            run.calls.filter(state=Call.State.PLANNED).update(not_before=None)
            ring(run.pk)
    return moved


def cancel(run: Run) -> bool:
    """End a run for good; what it has is kept. False where it is over already."""
    return _move(run, [Run.State.RUNNING, Run.State.PAUSED], Run.State.CANCELLED)


def retry_failed(run: Run) -> int:
    """Plan the failed calls of a run that was not cancelled once more. Returns their number."""
    with transaction.atomic():
        running = Run.objects.filter(pk=run.pk).exclude(state=Run.State.CANCELLED)
        if not running.select_for_update().exists():
            return 0
        failed = list(run.calls.filter(state=Call.State.FAILED).values_list("pk", flat=True))
        if not failed:
            return 0
        Verdict.objects.filter(run=run, call__state=Call.State.FAILED, state=Verdict.State.ERROR).delete()
        planned = run.calls.filter(state=Call.State.FAILED).update(
            state=Call.State.PLANNED, error="", not_before=None, finished_at=None
        )
        running.update(state=Run.State.RUNNING, finished_at=None, pause_reason="", failing_since=None)
        recount.rebuild_run(run)
        ring(run.pk)
    run.refresh_from_db()
    return planned


def failures(run: Run) -> list[tuple[str, int]]:
    """The reasons of failed calls with their number, the most frequent first."""
    counted = run.calls.filter(state=Call.State.FAILED).values_list("error").annotate(n=Count("pk"))
    return [(reason, number) for reason, number in counted.order_by("-n", "error")]


def summary(run: Run) -> str:
    """How far a run is, in words: "1,988 judged, 12 failed"."""
    progress = run.progress()
    verb = "judged" if run.kind == Run.Kind.JUDGING else "written"
    parts = [f"{progress['done']:,} {verb}"]
    if progress["failed"]:
        parts.append(f"{progress['failed']:,} failed")
    unread = run.calls.filter(verdicts__state=Verdict.State.UNPARSED).distinct().count()
    if unread:
        parts.append(f"{unread:,} unreadable")
    waiting = progress["planned"] + progress["leased"]
    if waiting:
        parts.append(f"{waiting:,} to go")
    return ", ".join(parts)


def finish(run_id: int) -> bool:
    """Close a running run that has nothing left to ask. Returns whether it did."""
    left = Call.objects.filter(run=run_id, state__in=[Call.State.PLANNED, Call.State.LEASED])
    if left.exists():
        return False
    closed = Run.objects.filter(pk=run_id, state=Run.State.RUNNING).update(
        state=Run.State.FINISHED, finished_at=timezone.now()
    )
    return bool(closed)


def ring(run_id: int) -> None:
    """Tell the workers, once the transaction is committed, that a run has calls to ask.

    A broker that is down does no harm: the sweeper rings again. A message that waited long is dropped for the same
    reason, so that messages never pile up.
    """
    from judging.tasks import RING_EXPIRES_SECONDS, work_run

    transaction.on_commit(
        lambda: work_run.apply_async((run_id,), expires=RING_EXPIRES_SECONDS, retry=False), robust=True
    )


def _check_judge(project: Project, judge: Judge) -> None:
    if judge.project_id != project.pk:
        raise PlanError("The judge belongs to another project.")
    if judge.archived:
        raise PlanError("The judge is archived: choose another one.")


def _start(run: Run, calls: Iterator[Call]) -> Run:
    with transaction.atomic():
        run.save()
        positions = count(1)

        def placed() -> Iterator[Call]:
            for call in calls:
                call.run, call.position = run, next(positions)
                yield call

        if not Call.objects.bulk_create(placed(), batch_size=BATCH):
            raise PlanError("There is nothing to judge: the checklists of this round have no questions.")
        recount.rebuild_run(run)
        ring(run.pk)
    return run


def _move(run: Run, before: Sequence[str], after: str, reason: str = "") -> bool:
    moved = Run.objects.filter(Q(pk=run.pk), state__in=before).update(
        state=after, pause_reason=reason[:500], failing_since=None
    )
    run.refresh_from_db()
    return bool(moved)

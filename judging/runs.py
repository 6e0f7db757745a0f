"""Runs of a judge: planned as rows of calls, steered, and summed up. `judging.work` carries the calls out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations, count
from typing import Any

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from annotate.models import Checklist, Dimension, Item, Project, Response, Round, User
from judging import recount
from judging.generators import POLICIES
from judging.models import Call, Judge, Prompt, Run, Verdict
from judging.protocols import PROTOCOLS, Protocol, Unit
from judging.protocols.base import MOST_ALTERNATIVES

MOST_REPEATS = 100
BATCH = 2000


class PlanError(Exception):
    """The run cannot be planned; the message is a sentence with the remedy."""


def draft(
    project: Project,
    judge: Judge,
    protocol: str,
    round: Round | None = None,
    *,
    repeats: int = 1,
    category: str = "",
    language: str = "",
    sample_size: int | None = None,
    checklist_policy: str = "",
    analysis: bool = True,
    spending_cap: Decimal | None = None,
    user: User | None = None,
) -> Run:
    """A judging run that is not stored: of the units of a round, or of the project's items by these filters.

    `repeats`: how often everything is asked; pairs in each order. Raises PlanError where the choice makes no sense.
    """
    method = PROTOCOLS.get(protocol)
    if method is None:
        raise PlanError(f"There is no protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}.")
    if round is not None and round.project_id != project.pk:
        raise PlanError("The round belongs to another project.")
    if round is not None and (category or language or sample_size is not None):
        raise PlanError("A filter of items goes with no round: choose one of them.")
    if not 1 <= repeats <= MOST_REPEATS:
        raise PlanError(f"The number of repeats must be from 1 to {MOST_REPEATS}.")
    if sample_size is not None and sample_size < 1:
        raise PlanError("The number of items must be at least 1: leave it empty for all of them.")
    if spending_cap is not None and spending_cap < 0:
        raise PlanError("The most to spend cannot be negative: leave it empty for no limit.")
    _check_judge(project, judge)
    analysis = analysis or not method.analysis_optional
    known = judge.abilities.get("alternatives")  # an endpoint that was never tested is asked for all where it matters
    most = MOST_ALTERNATIVES if method.needs_probabilities else 0
    options = {
        "analysis": analysis,
        "schema": bool(judge.abilities.get("schema")),
        "alternatives": most if known is None else int(known),
    }
    name = method.template_name(analysis=analysis)
    return Run(
        project=project,
        judge=judge,
        kind=Run.Kind.JUDGING,
        method=protocol,
        round=round,
        category=category,
        language=language,
        sample_size=sample_size,
        checklist_policy=checklist_policy,
        repeats=repeats,
        options=options,
        prompt_version=Prompt.objects.of(project, name).version,
        spending_cap=spending_cap,
        created_by=user,
    )


def plan_judging(project: Project, judge: Judge, protocol: str, round: Round | None = None, **options: Any) -> Run:
    """Plan a judge's verdicts, and ring for a worker. Takes and raises what `draft` does, and PlanError where there is
    nothing to judge."""
    return start(draft(project, judge, protocol, round, **options))


def start(run: Run) -> Run:
    """Store a drafted judging run with its calls, and ring for a worker. Raises PlanError where there are none."""
    method = PROTOCOLS[run.method]
    units, left_out = units_of(run)
    if not units:
        raise PlanError(_why_nothing(run, left_out))
    return _start(run, (call for unit in units for call in method.plan(unit, run.repeats)), turns=method.turns)


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


def units_of(run: Run) -> tuple[list[Unit], int]:
    """The units of a judging run, stored or not, those of an item next to each other; and the number of those left out
    because their item has no checklist.

    A unit of a round has the checklist that its task pins, unless the run chooses a policy; where nothing is pinned,
    the item's newest approved one.
    """
    method = PROTOCOLS[run.method]
    subjects = _of_round(run, method) if run.round else _of_items(run, method)
    if method.by_dimension:
        return _by_dimension(run, method, subjects), 0
    if not method.needs_checklist:
        return [Unit(item, response, other=other) for item, response, other, _ in subjects], 0
    pinned = not run.checklist_policy
    without = {item.pk: item for item, _, _, checklist in subjects if not (pinned and checklist)}
    policy = run.checklist_policy or (run.round.checklist_policy if run.round else "")
    newest = Checklist.objects.prefetch_related("questions").newest_approved(list(without.values()), policy)
    units = []
    for item, response, other, checklist in subjects:
        chosen = checklist if pinned and checklist else newest.get(item.pk)
        if chosen:
            units.append(Unit(item, response, chosen, other))
    return units, len(subjects) - len(units)


Subject = tuple[Item, Response, Response | None, Checklist | None]


def _of_round(run: Run, method: Protocol) -> list[Subject]:
    assert run.round is not None  # noqa: S101
    tasks = (
        run.round.tasks.filter(response__isnull=False, other__isnull=not method.pairs)
        .select_related("item", "response", "other", "checklist")
        .prefetch_related("checklist__questions")
        .order_by("item_id", "response_id", "other_id")
    )
    return [(task.item, task.response, task.other, task.checklist) for task in tasks if task.response]


def _of_items(run: Run, method: Protocol) -> list[Subject]:
    """Of the chosen items every response, or every pair of responses."""
    items = Item.objects.filter(project=run.project).prefetch_related("responses")
    subjects: list[Subject] = []
    for item in items.chosen(run.category, run.language, run.sample_size, run.seed):
        responses = list(item.responses.all())
        for response in responses:
            response.item = item
        if method.pairs:
            subjects += [(item, response, other, None) for response, other in combinations(responses, 2)]
        else:
            subjects += [(item, response, None, None) for response in responses]
    return subjects


def _by_dimension(run: Run, method: Protocol, subjects: Sequence[Subject]) -> list[Unit]:
    dimensions = list(Dimension.objects.filter(project=run.project, archived=False))
    newest = Checklist.objects.prefetch_related("questions").newest_of_dimensions(dimensions)
    if method.needs_checklist:
        dimensions = [dimension for dimension in dimensions if dimension.pk in newest]
    return [
        Unit(item, response, newest.get(dimension.pk), other, dimension)
        for item, response, other, _ in subjects
        for dimension in dimensions
    ]


def _why_nothing(run: Run, left_out: int) -> str:
    """Why a run has no units, with the remedy."""
    method = PROTOCOLS[run.method]
    if left_out:
        policy = f" by the policy {run.checklist_policy}" if run.checklist_policy else ""
        where = "of this round" if run.round else "that is chosen"
        return f"No item {where} has an approved checklist{policy}: approve some, or choose a protocol without one."
    if run.round and method.pairs and run.round.tasks.exists():
        return "The units of this round are single responses, not pairs: judge items in place of the round."
    if run.round and not run.round.tasks.exists():
        return "This round has no tasks yet: open it first."
    if run.round and not method.pairs and run.round.tasks.filter(other__isnull=False).exists():
        return "The units of this round are pairs: choose a protocol that compares two responses."
    if method.by_dimension:
        what = "a dimension with an approved checklist" if method.needs_checklist else "a dimension"
        return f"The project does not have {what} to judge by: add one first."
    if method.pairs:
        return "No chosen item has two responses to compare: widen the filter, or import more responses."
    return "No item matches the filter, or none has a response: widen it, or import items."


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


def _start(run: Run, calls: Iterator[Call], turns: int = 1) -> Run:
    with transaction.atomic():
        run.save()
        positions = count(1, turns)  # a call that follows another one comes right after it

        def placed() -> Iterator[Call]:
            for call in calls:
                call.run, call.position = run, next(positions)
                yield call

        if not Call.objects.bulk_create(placed(), batch_size=BATCH):
            raise PlanError("There is nothing to judge: the checklists have no questions. Add some first.")
        recount.rebuild_run(run)
        ring(run.pk)
    return run


def _move(run: Run, before: Sequence[str], after: str, reason: str = "") -> bool:
    moved = Run.objects.filter(Q(pk=run.pk), state__in=before).update(
        state=after, pause_reason=reason[:500], failing_since=None
    )
    run.refresh_from_db()
    return bool(moved)

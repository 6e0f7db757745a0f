"""Runs of a judge: planned as rows of calls, steered, and summed up. `judging.work` carries the calls out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import count
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max, Min, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Item, Project, Round, User
from judging import recount, units
from judging.generators import POLICIES
from judging.models import Call, Heartbeat, Judge, Prompt, Run, Verdict
from judging.protocols import PROTOCOLS
from judging.protocols.base import MOST_ALTERNATIVES
from judging.sentences import between

MOST_REPEATS = 100
BATCH = 2000
SAME_IN_REPEATS = (
    "item_id",
    "response_id",
    "other_id",
    "order",
    "checklist_id",
    "question_id",
    "dimension_id",
    "subdimension",
)
QUIET = datetime.timedelta(seconds=30)  # beyond the judge's time-out: calls that take longer may have lost their worker

# The pace of the last minutes tells when a run will be done, once there are enough calls to go by.
PACE_WINDOW = datetime.timedelta(minutes=5)
PACE_CALLS = 5


class PlanError(Exception):
    """The run cannot be planned, or not go on as wished; the message is a sentence with the remedy."""


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

    `repeats`: how often everything is asked; pairs in each order. `checklist_policy`: "" for the checklists that the
    round pins, Run.NEWEST_CHECKLIST for the newest approved ones, or the name of a policy for its newest approved ones.
    Raises PlanError where the choice makes no sense.
    """
    method = PROTOCOLS.get(protocol)
    if method is None:
        sentence = _("There is no protocol '%(name)s': choose one of %(known)s.")
        raise PlanError(sentence % {"name": protocol, "known": ", ".join(PROTOCOLS)})
    if round is not None and round.project_id != project.pk:
        raise PlanError(_("The round belongs to another project."))
    if round is not None and round.is_training:
        raise PlanError(_("A training set has expected answers, not labels: choose a round."))
    if round is not None and round.shape.unit == "item":
        raise PlanError(_("In this round people write checklists: choose one where they label responses."))
    if round is not None and (category or language or sample_size is not None):
        raise PlanError(_("A filter of items goes with no round: choose one of them."))
    if not 1 <= repeats <= MOST_REPEATS:
        raise PlanError(_("The number of repeats must be from 1 to %(most)d.") % {"most": MOST_REPEATS})
    if sample_size is not None and sample_size < 1:
        raise PlanError(_("The number of items must be at least 1: leave it empty for all of them."))
    if spending_cap is not None and spending_cap < 0:
        raise PlanError(_("The most to spend cannot be negative: leave it empty for no limit."))
    _check_judge(project, judge)
    analysis = analysis or not method.analysis_optional
    known = judge.abilities.get("alternatives")  # an endpoint that was never tested is asked for all where it matters
    if method.needs_probabilities and known == 0:
        sentence = _(
            "%(judge)s gives no token probabilities, which this protocol reads: choose another judge or protocol."
        )
        raise PlanError(sentence % {"judge": judge})
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


def draft_panel(
    project: Project, judges: Iterable[Judge], protocol: str, round: Round | None = None, **options: Any
) -> list[Run]:
    """As `draft`, for several judges at once: one run each. Raises PlanError where there is no judge."""
    drafts = [draft(project, judge, protocol, round, **options) for judge in judges]
    if not drafts:
        raise PlanError(_("No judge is chosen: choose at least one."))
    return drafts


def start_panel(drafts: Iterable[Run]) -> list[Run]:
    """Store drafted runs with their calls, all or none."""
    with transaction.atomic():
        return [start(run) for run in drafts]


def start(run: Run) -> Run:
    """Store a drafted judging run with its calls, and ring for a worker. Raises PlanError where there are none."""
    method = PROTOCOLS[run.method]
    found, left_out = units.units_of(run)
    if not found:
        raise PlanError(units.why_none(run, left_out))
    return _start(run, (call for unit in found for call in method.plan(unit, run.repeats)), turns=method.turns)


def plan_generation(
    project: Project, judge: Judge, policy: str, items: Iterable[Item], *, user: User | None = None
) -> Run:
    """Plan one new checklist draft for each of `items`, and ring for a worker. Raises PlanError."""
    method = POLICIES.get(policy)
    if method is None:
        sentence = _("There is no policy '%(name)s': choose one of %(known)s.")
        raise PlanError(sentence % {"name": policy, "known": ", ".join(POLICIES)})
    chosen = list(items)
    if not chosen:
        raise PlanError(_("No items are chosen: import items, or choose some without a checklist."))
    if any(item.project_id != project.pk for item in chosen):
        raise PlanError(_("Some of the items belong to another project."))
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


def pause(run: Run, reason: str = "") -> bool:
    """Ask nothing more until `resume`; calls under way are still stored. False where the run is not running."""
    return _move(run, [Run.State.RUNNING], Run.State.PAUSED, reason)


def resume(run: Run) -> bool:
    """Go on with a paused run. False where it is not paused. Raises PlanError where its money is spent."""
    if run.state == Run.State.PAUSED and run.spending_cap is not None and run.cost() >= run.spending_cap:
        raise PlanError(_("The run has spent what it may: raise the limit first."))
    with transaction.atomic():
        moved = _move(run, [Run.State.PAUSED], Run.State.RUNNING)
        if moved:
            run.calls.filter(state=Call.State.PLANNED).update(not_before=None)
            ring(run.pk)
    return moved


def limit_spending(run: Run, cap: Decimal | None) -> None:
    """Let a run spend this much in all (US dollars), or without limit. Raises PlanError where it has spent more."""
    if cap is not None and cap <= (spent := run.cost()):
        sentence = _("The run has spent %(spent)s already: allow more than that, or leave the limit empty.")
        raise PlanError(sentence % {"spent": f"${spent:,.4f}"})
    Run.objects.filter(pk=run.pk).update(spending_cap=cap)
    run.spending_cap = cap


def cancel(run: Run) -> bool:
    """End a run for good; what it has is kept. False where it is over already."""
    return _move(run, [Run.State.RUNNING, Run.State.PAUSED], Run.State.CANCELLED)


def retry_failed(run: Run) -> int:
    """Plan the failed calls of a run that was not cancelled once more. Returns their number."""
    with transaction.atomic():
        running = Run.objects.filter(pk=run.pk).exclude(state=Run.State.CANCELLED)
        if not running.select_for_update(no_key=True).values_list("pk").first():
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


def add_repeats(run: Run, more: int) -> int:
    """Ask everything that a judging run asked `more` times again, under the repeat numbers that follow; returns the
    number of calls. A finished run goes on with them. Raises PlanError."""
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True, of=("self",))
        held = locked.select_related("project", "round").get(pk=run.pk)
        _check_repeatable(held, more)
        turns = PROTOCOLS[held.method].turns
        last = held.calls.aggregate(last=Max("position"))["last"] or 0
        positions = count((last - 1) // turns * turns + turns + 1, turns)
        asked = held.calls.filter(follows=None, repeat=1).order_by("position")
        again = (
            Call(run=held, position=next(positions), repeat=held.repeats + number, **same)
            for same in asked.values(*SAME_IN_REPEATS)
            for number in range(1, more + 1)
        )
        planned = len(Call.objects.bulk_create(again, batch_size=BATCH))
        held.repeats += more
        if held.state == Run.State.FINISHED:
            held.state, held.finished_at, held.failing_since = Run.State.RUNNING, None, None
        held.save(update_fields=["repeats", "state", "finished_at", "failing_since"])
        recount.rebuild_run(held)
        ring(held.pk)
    run.refresh_from_db()
    return planned


def _check_repeatable(run: Run, more: int) -> None:
    if run.kind != Run.Kind.JUDGING:
        raise PlanError(_("A run that writes checklists has no repeats: have more of them written in place of it."))
    if run.state == Run.State.CANCELLED:
        raise PlanError(_("The run was cancelled: start a new one."))
    if not 1 <= more <= MOST_REPEATS - run.repeats:
        sentence = (
            _("A run has at most %(most)d repeats, and this one has %(repeats)d: add from 1 to %(left)d.")
            if run.repeats < MOST_REPEATS
            else _("A run has at most %(most)d repeats, and this one has %(repeats)d: start a new one.")
        )
        numbers = {"most": MOST_REPEATS, "repeats": run.repeats, "left": MOST_REPEATS - run.repeats}
        raise PlanError(sentence % numbers)
    _check_judge(run.project, run.judge)
    name = PROTOCOLS[run.method].template_name(analysis=run.options.get("analysis", True))
    if run.prompt_version and Prompt.objects.pinned(run.project, name, run.prompt_version) is None:
        raise PlanError(_("The prompt of this run is not there any more: start a new run."))


def failures(run: Run) -> list[tuple[str, int]]:
    """The reasons of failed calls with their number, the most frequent first."""
    counted = run.calls.filter(state=Call.State.FAILED).values_list("error").annotate(n=Count("pk"))
    return [(reason, number) for reason, number in counted.order_by("-n", "error")]


def summary(run: Run) -> str:
    """How far a run is, in words: "1,988 judged (7 of them unreadable), 12 failed"."""
    progress = run.progress()
    unread = run.calls.filter(state=Call.State.DONE, verdicts__state=Verdict.State.UNPARSED).distinct().count()
    waiting = progress["planned"] + progress["leased"]
    if run.kind != Run.Kind.JUDGING:
        done = _("%(done)s written")
    elif unread:
        done = _("%(done)s judged (%(unread)s of them unreadable)")
    else:
        done = _("%(done)s judged")
    parts = [done % {"done": f"{progress['done']:,}", "unread": f"{unread:,}"}]
    if progress["failed"]:
        parts.append(_("%(failed)s failed") % {"failed": f"{progress['failed']:,}"})
    if waiting:
        parts.append(_("%(waiting)s to go") % {"waiting": f"{waiting:,}"})
    return between().join(parts)


def hold_up(run: Run, counts: dict[str, int], now: datetime.datetime) -> str:
    """Why a running run seems to stand still, and until when; "" where it moves. `counts`: as of `Run.progress`."""
    waiting = counts["planned"] + counts["leased"]
    if run.state != Run.State.RUNNING or not waiting or run.created_at > now - QUIET:
        return ""
    alive = Heartbeat.alive()
    quiet_since = now - QUIET - datetime.timedelta(seconds=run.judge.timeout_seconds if alive else 0)
    if run.created_at > quiet_since or run.calls.filter(finished_at__gte=quiet_since).exists():
        return ""
    leased = run.calls.filter(state=Call.State.LEASED, leased_until__gt=now)
    until = leased.aggregate(until=Max("leased_until"))["until"]
    said = []
    if not alive:
        sentence = _("No worker was seen in the last %(seconds)d seconds: start one.")
        said.append(sentence % {"seconds": settings.HEARTBEAT_MAX_AGE_SECONDS})
    elif until:
        said.append(_("Nothing was answered for a while: the worker of this run may have died."))
    if until:
        sentence = _("Calls that were under way are asked again from %(time)s on.")
        said.append(sentence % {"time": f"{timezone.localtime(until):%H:%M:%S}"})
    return " ".join(said)


def seconds_left(run: Run, counts: dict[str, int], now: datetime.datetime) -> float | None:
    """Until a running run is done at its recent pace; None where nothing tells. `counts`: as of `Run.progress`."""
    waiting = counts["planned"] + counts["leased"]
    if run.state != Run.State.RUNNING or not waiting:
        return None
    recent = run.calls.filter(finished_at__gte=now - PACE_WINDOW).aggregate(n=Count("pk"), first=Min("finished_at"))
    if recent["n"] < PACE_CALLS:
        return None
    return float(waiting * max((now - recent["first"]).total_seconds(), 1.0) / recent["n"])


def finish(run_id: int) -> bool:
    """Close a running run that has nothing left to ask. Returns whether it did."""
    left = Call.objects.filter(run=run_id, state__in=[Call.State.PLANNED, Call.State.LEASED])
    if left.exists():
        return False
    with transaction.atomic():
        # Whoever plans more calls holds the run's row: they are seen once it is ours.
        running = Run.objects.filter(pk=run_id, state=Run.State.RUNNING)
        if not list(running.select_for_update(no_key=True).values_list("pk")) or left.exists():
            return False
        return bool(running.update(state=Run.State.FINISHED, finished_at=timezone.now()))


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
        raise PlanError(_("The judge belongs to another project."))
    if judge.archived:
        raise PlanError(_("The judge is archived: choose another one."))


def _start(run: Run, calls: Iterator[Call], turns: int = 1) -> Run:
    with transaction.atomic():
        run.save()
        positions = count(1, turns)  # a call that follows another one comes right after it

        def placed() -> Iterator[Call]:
            for call in calls:
                call.run, call.position = run, next(positions)
                yield call

        if not Call.objects.bulk_create(placed(), batch_size=BATCH):
            raise PlanError(_("There is nothing to judge: the checklists have no questions. Add some first."))
        recount.rebuild_run(run)
        ring(run.pk)
    return run


def _move(run: Run, before: Sequence[str], after: str, reason: str = "") -> bool:
    moved = Run.objects.filter(Q(pk=run.pk), state__in=before).update(
        state=after, pause_reason=reason[:500], failing_since=None
    )
    run.refresh_from_db(fields=["state", "pause_reason", "failing_since", "finished_at"])
    return bool(moved)

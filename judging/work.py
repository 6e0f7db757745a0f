"""Workers: they claim calls of a run, ask them at the same time, and store every answer as it arrives.

A worker gives a run at most `SLOT_SECONDS` and then rings for it again, so that one process serves many runs in turn.
All database work happens in the caller's thread, all waiting for the endpoint in an event loop.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from asgiref.sync import async_to_sync, sync_to_async
from django.db import DatabaseError
from django.db.models import Exists, OuterRef
from django.utils import timezone

from judging import claims, runs
from judging.client import Endpoint, Reply, ask
from judging.faults import CallFailed
from judging.methods import Method, method_of
from judging.models import Call, Run

SLOT_SECONDS = 20.0
DOWN_IN_A_ROW = 5  # failures that no waiting mends (a refused key), one after the other, that pause a run
FAULTS_IN_A_ROW = 40  # failures of single calls, likewise
PATIENCE = datetime.timedelta(seconds=60)  # beyond the judge's time-out: how long failures that pass may last
DRY = datetime.timedelta(seconds=1)  # how long not to look for more calls after there were none
SHORTEST_SLEEP = 0.05  # seconds

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Clock:
    """Time, as a worker sees it. Tests give one that does not wait."""

    now: Callable[[], datetime.datetime] = timezone.now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass
class Breaker:
    """Notices that an endpoint is down, from failures without an answer between them.

    A failure that waiting cannot mend pauses the run after a few calls, so that a long run does not fail call by call;
    one that may pass (a server that restarts, or still loads its model) only when nothing was answered for `patience`.
    `since` outlives the slot: it is stored with the run.
    """

    patience: datetime.timedelta
    since: datetime.datetime | None = None
    hopeless: int = 0
    faults: int = 0

    def note(self, failure: CallFailed | None, now: datetime.datetime) -> str:
        """Count a failure, or an answer (None). Returns why the run should pause, "" while it should not."""
        if failure is None or not (failure.retryable or failure.endpoint_down):
            self.since, self.hopeless, self.faults = None, 0, 0
            return ""
        self.since = self.since or now
        self.hopeless = self.hopeless + 1 if not failure.retryable else 0
        self.faults += not failure.endpoint_down
        if self.hopeless >= DOWN_IN_A_ROW:
            return f"{failure.reason} Resume the run when this is put right."
        if self.faults >= FAULTS_IN_A_ROW:
            return f"{self.faults} calls in a row failed, the last one so: {failure.reason}"
        if now - self.since >= self.patience:
            return f"Nothing was answered for {self.patience.seconds} seconds, the last failure was: {failure.reason}"
        return ""


def work(run_id: int, clock: Clock | None = None) -> None:
    """Ask calls of a run for a slot of time, then ring again where some are left. Safe to call by many at once."""
    clock = clock or Clock()
    run = Run.objects.select_related("judge", "project", "round", "created_by").filter(pk=run_id).first()
    if run is None or run.state != Run.State.RUNNING:
        return
    method = method_of(run)
    if method.prompt_version != run.prompt_version:
        runs.pause(run, "The prompt was changed since this run was planned: start a new run.")
        return
    async_to_sync(Slot(run, method, clock).work)()
    left = Call.objects.filter(claims.claimable(clock.now()), run=run_id, run__state=Run.State.RUNNING)
    if not runs.finish(run_id) and left.exists():
        runs.ring(run_id)


def sweep() -> None:
    """Close runs that have nothing left, and ring for those with calls to take that nobody is working at."""
    now = timezone.now()
    for run_id in Run.objects.unfinished().values_list("pk", flat=True):
        runs.finish(run_id)
    calls = Call.objects.filter(run=OuterRef("pk"))
    idle = Run.objects.unfinished().filter(
        Exists(calls.filter(claims.claimable(now))),
        ~Exists(calls.filter(state=Call.State.LEASED, leased_until__gt=now)),
    )
    # In any order: a fixed one would favour the same runs whenever the workers are busy.
    for run_id in idle.order_by("?").values_list("pk", flat=True):
        runs.ring(run_id)


@dataclass
class Slot:
    """One worker's time with one run."""

    run: Run
    method: Method
    clock: Clock
    stopped: bool = False
    asking: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.deadline = self.clock.now() + datetime.timedelta(seconds=SLOT_SECONDS)
        self.seats = asyncio.Semaphore(self.run.judge.concurrency)
        self.breaker = Breaker(
            PATIENCE + datetime.timedelta(seconds=self.run.judge.timeout_seconds), self.run.failing_since
        )

    async def work(self) -> None:
        """Claim and ask until the slot is over, nothing can be taken within it, or the run stands."""
        try:
            endpoint = Endpoint.of(self.run.judge)
        except CallFailed as failure:
            await sync_to_async(runs.pause)(self.run, failure.reason)
            return
        async with endpoint:
            self.endpoint = endpoint
            try:
                await self._keep_asking()
            finally:
                for task in self.asking:
                    task.cancel()
                await asyncio.gather(*self.asking, return_exceptions=True)

    async def _keep_asking(self) -> None:
        seats = self.run.judge.concurrency
        ahead = max(1, seats // 2)  # claimed before a seat is free, so that no seat waits for the database
        dry_until = self.clock.now()
        while True:
            room = seats + ahead - len(self.asking)
            if not self._over() and room >= ahead and self.clock.now() >= dry_until:
                calls, claimed = await sync_to_async(self._claim)(room)
                if claimed < room:
                    dry_until = self.clock.now() + DRY
                self.asking |= {asyncio.create_task(self._handle(call)) for call in calls}
            if self.asking:
                done, self.asking = await asyncio.wait(
                    self.asking, timeout=DRY.total_seconds(), return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    task.result()
                continue
            due = None if self._over() else await sync_to_async(claims.next_due)(self.run)
            if due is None or due > self.deadline:
                return
            await self.clock.sleep(max(SHORTEST_SLEEP, (due - self.clock.now()).total_seconds()))
            dry_until = self.clock.now()

    def _over(self) -> bool:
        return self.stopped or self.clock.now() >= self.deadline

    def _claim(self, size: int) -> tuple[list[Call], int]:
        """Claimed calls with their prompts, and how many were claimed in all: those that were answered before, in any
        run, are settled at once."""
        fresh = []
        claimed = claims.claim(self.run, size, self.clock.now())
        for call in claimed:
            call.run = self.run
            try:
                self._prepare(call)
            except DatabaseError:
                raise
            except Exception as error:
                self._broken(call, error)
                continue
            known = claims.answered(call.cache_key)
            if known is None:
                fresh.append(call)
            else:
                self._answered(call, claims.reply_of(known), from_cache=True)
        return fresh, len(claimed)

    def _prepare(self, call: Call) -> None:
        call.reply = call.finish_reason = ""  # of an earlier attempt
        call.prompt = self.method.messages(call)
        call.parameters = self.method.parameters(call)
        call.cache_key = claims.cache_key(self.run.judge, call.parameters, call.prompt, call.repeat)

    async def _handle(self, call: Call) -> None:
        """Ask one call and store what comes of it."""
        async with self.seats:
            if self._over():
                await sync_to_async(claims.release)(call)
                return
            if not await sync_to_async(claims.renew)(call, self.run.judge, self.clock.now()):
                return
            answer = await self._ask(call)
        failure = answer if isinstance(answer, CallFailed) else None
        if isinstance(answer, CallFailed):
            await sync_to_async(self._failed)(call, answer)
        else:
            await sync_to_async(self._answered)(call, answer)
        before = self.breaker.since
        reason = self.breaker.note(failure, self.clock.now())
        if before != self.breaker.since:
            await sync_to_async(self.run.note_failing)(self.breaker.since)
        if reason and not self.stopped:
            self.stopped = True
            log.warning("%s pauses: %s", self.run, reason)
            await sync_to_async(runs.pause)(self.run, reason)

    async def _ask(self, call: Call) -> Reply | CallFailed:
        try:
            return await ask(self.endpoint, call.prompt, call.parameters)
        except CallFailed as failure:
            return failure

    def _answered(self, call: Call, reply: Reply, *, from_cache: bool = False) -> None:
        claims.take_reply(call, reply, from_cache=from_cache)
        try:
            self.method.settle(call, self.clock.now())
        except DatabaseError:
            raise
        except Exception as error:
            self._broken(call, error)

    def _failed(self, call: Call, failure: CallFailed) -> None:
        claims.settle_failure(call, failure, self.method.errors(call), self.clock.now())

    def _broken(self, call: Call, error: Exception) -> None:
        """Give up a call on which the program itself failed, so that it cannot hold up the run for ever."""
        log.exception("Call %s of run %s could not be handled", call.position, call.run_id, exc_info=error)
        self._failed(call, CallFailed(f"The program failed on this call ({type(error).__name__}): see the log."))

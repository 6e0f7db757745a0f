"""Workers: they claim calls of a run, ask them at the same time, and store the answers as they arrive.

A worker gives a run at most `SLOT_SECONDS` and then rings for it again, so that one process serves many runs in turn.
All database work happens in the caller's thread, all waiting for the endpoint in an event loop. One round of it stores
whatever was answered during the round before and claims as many calls as there is room for, so a slow database makes
larger rounds, not fewer calls.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError, connection
from django.db.models import Exists, Max, OuterRef
from django.utils import timezone

from judging import claims, pacing, runs, spending
from judging.circuit import DOWN_IN_A_ROW, PATIENCE, Breaker, Places
from judging.claims import Settlement
from judging.client import Endpoint, Reply, ask
from judging.faults import CallFailed
from judging.methods import Method, method_of
from judging.models import Call, Run
from judging.texts import Texts

SLOT_SECONDS = 20.0
DRY = datetime.timedelta(seconds=1)  # how long not to look for more calls after there were none
SHORTEST_SLEEP = 0.05  # seconds
GATHERING_SECONDS = 0.08  # answers are stored together with those that come within this time of the first
MANY_AT_A_TIME = 32  # calls, from which on it is worth it
RENEWALS = 4  # of its leases by a worker that lives, within the length of one
OUTAGE = datetime.timedelta(minutes=2)  # how long answers are kept for a database that is away

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Clock:
    """Time, as a worker sees it. Tests give one that does not wait."""

    now: Callable[[], datetime.datetime] = timezone.now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


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
    slot = Slot(run, method, clock)
    async_to_sync(slot.work)()
    left = Call.objects.filter(claims.claimable(clock.now()), run=run_id, run__state=Run.State.RUNNING)
    # A run that must wait is left to the sweeper.
    if not runs.finish(run_id) and left.exists() and slot.next_look <= clock.now():
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
    stop_reason: str = ""  # to be stored
    useless: int = 0  # replies in a row that lack what the protocol needs
    asking: set[asyncio.Task[None]] = field(default_factory=set)
    answers: list[tuple[Call, Reply | CallFailed | None]] = field(default_factory=list)  # None: not asked after all
    unstored: list[Settlement] = field(default_factory=list)
    unasked: list[Call] = field(default_factory=list)  # to be given back
    ours: set[int] = field(default_factory=set)  # calls that are asked, or answered and not stored yet
    unsure: bool = False  # whether the leases of our token are those of our calls

    def __post_init__(self) -> None:
        self.judge = judge = self.run.judge
        self.token = claims.new_token()
        self.texts = Texts()
        self.deadline = self.clock.now() + datetime.timedelta(seconds=SLOT_SECONDS)
        self.next_look = self.clock.now()  # for calls to take
        self.held_until = self.next_look  # the endpoint asked for a pause
        self.next_renewal = self._renewal_due()
        self.places = Places(judge.concurrency)
        # Claimed before a place is free, so that none waits for the database; a judge with limits is asked at once.
        self.ahead = 0 if pacing.is_limited(judge) else judge.concurrency
        patience = PATIENCE + datetime.timedelta(seconds=judge.timeout_seconds)
        self.breaker = Breaker(patience, judge.concurrency, self._failing_since())
        self.arrived = asyncio.Event()

    async def work(self) -> None:
        """Claim and ask until the slot is over, nothing can be taken within it, or the run stands."""
        try:
            endpoint = Endpoint.of(self.judge)
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
        while True:
            self.arrived.clear()
            room = self._room()
            if room or self.answers or self.unstored or self.clock.now() >= self.next_renewal:
                fresh = await self._in_database(room)
                self.asking |= {asyncio.create_task(self._ask(call)) for call in fresh}
            if self.answers:
                continue
            if self.asking:
                await self._wait_for_answer()
            elif self._over() or not (self._room() or await self._wait_for_calls()):
                return

    def _failing_since(self) -> datetime.datetime | None:
        """Since when the run's calls fail, from an earlier slot; None where nothing was asked for a while."""
        if self.run.failing_since is None:
            return None
        last = self.run.calls.aggregate(last=Max("not_before"))["last"]
        return self.run.failing_since if last and last > self.clock.now() - PATIENCE else None

    def _over(self) -> bool:
        return self.stopped or self.clock.now() >= self.deadline

    def _room(self) -> int:
        """How many calls to claim now. A few at a time would cost more than they bring."""
        if self._over() or self.clock.now() < self.next_look:
            return 0
        room = self.judge.concurrency + self.ahead - len(self.asking)
        return room if room >= max(1, self.ahead // 4) else 0

    def _renewal_due(self) -> datetime.datetime:
        return self.clock.now() + datetime.timedelta(seconds=settings.CALL_LEASE_SECONDS / RENEWALS)

    async def _wait_for_answer(self) -> None:
        """Until an answer is there; with many calls at a time a little longer, for others that come right after it: the
        calls claimed ahead keep the places busy meanwhile."""
        try:
            await asyncio.wait_for(self.arrived.wait(), DRY.total_seconds())
        except TimeoutError:
            return
        if self.asking and self.judge.concurrency >= MANY_AT_A_TIME:
            await asyncio.sleep(GATHERING_SECONDS)

    async def _wait_for_calls(self) -> bool:
        """Sleep until the next call is due. False where none is within the slot."""
        due = await sync_to_async(claims.next_due)(self.run)
        if due is None:
            return False
        due = max(due, self.next_look)
        if due > self.deadline:
            self.next_look = due
            return False
        await self.clock.sleep(max(SHORTEST_SLEEP, (due - self.clock.now()).total_seconds()))
        self.next_look = self.clock.now()
        return True

    async def _ask(self, call: Call) -> None:
        async with self.places:
            stands = self._over() or self.clock.now() < self.held_until
            answer = None if stands else await self._answer_to(call)
        if answer is not None:
            self._note(answer if isinstance(answer, CallFailed) else None)
        self.answers.append((call, answer))
        self.asking.discard(asyncio.current_task())
        self.arrived.set()

    async def _answer_to(self, call: Call) -> Reply | CallFailed:
        try:
            return await ask(self.endpoint, call.prompt, call.parameters)
        except CallFailed as failure:
            return failure
        except Exception as error:
            log.exception("Call %s of run %s could not be asked", call.position, call.run_id)
            return CallFailed(f"The program failed on this call ({type(error).__name__}): see the log.")

    def _note(self, failure: CallFailed | None) -> None:
        """Let the breaker know of a failure or an answer (None), and ask nothing more where it says so."""
        now = self.clock.now()
        if failure is None:
            self.places.more()
        elif failure.busy:
            self.places.fewer(now)
        if failure is not None and failure.retry_after:
            self.held_until = max(self.held_until, now + datetime.timedelta(seconds=failure.retry_after))
        reason = self.breaker.note(failure, now)
        if reason and not self.stopped:  # who has stopped once has said why
            self.stopped, self.stop_reason = True, reason

    # -- in the caller's thread ----------------------------------------------------------------------------------------

    async def _in_database(self, room: int) -> list[Call]:
        """Store what was answered, hold what is under way, and claim up to `room` more calls. A database that is away
        for a while is waited for: the answers are kept."""
        answers, self.answers = self.answers, []
        await sync_to_async(self._conclude)(answers)
        lost_since: datetime.datetime | None = None
        while True:
            try:
                await sync_to_async(self._store)()
                return await sync_to_async(self._claim)(room) if room else []
            except (OperationalError, InterfaceError) as error:
                lost_since = lost_since or self.clock.now()
                if self.clock.now() - lost_since >= OUTAGE:
                    raise
                log.warning("%s waits for the database: %s", self.run, error)
                await sync_to_async(self._disconnect)()
                await self.clock.sleep(DRY.total_seconds())

    def _disconnect(self) -> None:
        """Let the next statement open a new connection. Calls may have been claimed without our knowing."""
        connection.close()
        self.unsure = True

    def _conclude(self, answers: Sequence[tuple[Call, Reply | CallFailed | None]]) -> None:
        """What becomes of answered calls, to be stored. Without the database: it may be away."""
        now = self.clock.now()
        for call, answer in answers:
            if answer is None:
                self.unasked.append(call)
                continue
            if isinstance(answer, CallFailed):
                # A refusal that waiting does not mend, among calls that are answered, is about this call.
                alone = not answer.retryable and self.breaker.hopeless <= 1
                settlement = claims.failed(call, answer, self.method.errors(call), now, alone=alone)
            else:
                claims.take_reply(call, answer, from_cache=False)
                settlement = self._concluded(call)
                self._note_use(settlement.failure)
            self.unstored.append(settlement)

    def _note_use(self, failure: CallFailed | None) -> None:
        """Stop where reply after reply lacks what the protocol needs: no other call would be better."""
        self.useless = self.useless + 1 if failure is not None and failure.endpoint_down else 0
        if self.useless >= DOWN_IN_A_ROW and failure is not None and not self.stopped:
            self.stopped = True
            self.stop_reason = f"{failure.reason} Resume the run when this is put right."

    def _concluded(self, call: Call) -> Settlement:
        try:
            return self.method.conclude(call, self.clock.now())
        except DatabaseError:
            raise
        except Exception as error:
            return self._broken(call, error)

    def _broken(self, call: Call, error: Exception) -> Settlement:
        """Give up a call on which the program itself failed, so that it cannot hold up the run for ever."""
        log.exception("Call %s of run %s could not be handled", call.position, call.run_id, exc_info=error)
        failure = CallFailed(f"The program failed on this call ({type(error).__name__}): see the log.")
        return claims.failed(call, failure, self.method.errors(call), self.clock.now())

    def _store(self) -> None:
        """Store what is not stored yet, and show that this worker lives."""
        now = self.clock.now()
        if self.unstored:
            try:
                claims.settle(self.unstored, now)
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                for settlement in self.unstored:  # one of them is at fault: the others are kept
                    self._store_alone(settlement, now)
            for settlement in self.unstored:
                pacing.note_usage(self.judge, settlement.call)
            self.ours -= {settlement.call.pk for settlement in self.unstored}
            self.unstored = []
        if self.unasked:
            claims.release(self.unasked)
            self.ours -= {call.pk for call in self.unasked}
            self.unasked = []
        if self.held_until > now:
            pacing.hold(self.judge, self.held_until)
        if self.run.failing_since != self.breaker.since:
            self.run.note_failing(self.breaker.since)
        if self.stop_reason:
            log.warning("%s pauses: %s", self.run, self.stop_reason)
            runs.pause(self.run, self.stop_reason)
            self.stop_reason = ""
        if now >= self.next_renewal:
            claims.renew(self.run, self.token, now)
            self.next_renewal = self._renewal_due()

    def _store_alone(self, settlement: Settlement, now: datetime.datetime) -> None:
        try:
            claims.settle([settlement], now)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            call = settlement.call
            call.reply, call.finish_reason, call.alternatives, call.written = "", "", [], None
            broken = self._broken(call, error)
            try:
                claims.settle([broken], now)
            except IntegrityError:  # another call has the verdicts of its unit already
                claims.settle([replace(broken, outcomes=())], now)

    def _claim(self, room: int) -> list[Call]:
        """Calls to ask now, with their prompts. Those that were answered before, in any run, are settled at once."""
        judge, now = self.judge, self.clock.now()
        if self.unsure:
            claims.release_others(self.run, self.token, self.ours)
            self.unsure = False
        held = pacing.held_until(judge, now)
        if held:
            self.next_look = held
            return []
        claimed = claims.claim(self.run, room, now, self.token)
        if len(claimed) < room:
            self.next_look = now + DRY
        self.texts.attach(claimed)
        prepared = [call for call in claimed if self._prepare(call)]
        known = claims.answered({call.cache_key for call in prepared})
        fresh = []
        for call in prepared:
            if call.cache_key in known:
                claims.take_reply(call, claims.reply_of(known[call.cache_key]), from_cache=True)
                self.unstored.append(self._concluded(call))
            else:
                fresh.append(call)
        self._store()
        return self._let_through(fresh)

    def _let_through(self, calls: Sequence[Call]) -> list[Call]:
        """The calls that the run's spending cap and the judge's limits allow now; the others are given back."""
        now = self.clock.now()
        affordable, reason = spending.admit(self.run, calls)
        if affordable < len(calls):
            self.next_look = now + DRY
        if reason:
            self.stopped, self.stop_reason = True, reason
            self._store()
        allowed, again = pacing.admit(self.judge, calls[:affordable], now)
        self.next_look = max(self.next_look, again)
        claims.release(calls[allowed:])
        self.ours |= {call.pk for call in calls[:allowed]}
        return list(calls[:allowed])

    def _prepare(self, call: Call) -> bool:
        """Put the prompt on a call. False where the program fails on it."""
        call.run = self.run
        call.reply = call.finish_reason = ""  # of an earlier attempt
        try:
            call.prompt = self.method.messages(call)
            call.parameters = self.method.parameters(call)
            call.cache_key = claims.cache_key(self.judge, call.parameters, call.prompt, call.repeat)
        except DatabaseError:
            raise
        except Exception as error:
            self.unstored.append(self._broken(call, error))
            return False
        return True

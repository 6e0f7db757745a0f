"""What the answers of an endpoint say about the endpoint: when to stop asking it, and how many calls to send at a time.

Both live in one worker's memory, for its time with one run.
"""

from __future__ import annotations

import asyncio
import datetime
from collections import deque
from dataclasses import dataclass

from judging.faults import CallFailed

DOWN_IN_A_ROW = 5  # failures that no waiting mends (a refused key), one after the other, that pause a run
FAULTS_IN_A_ROW = 40  # failures of single calls, likewise; and twice as many more as go at a time
PATIENCE = datetime.timedelta(seconds=60)  # beyond the judge's time-out: how long failures that pass may last
BUSY_PATIENCE = datetime.timedelta(minutes=30)  # how long an endpoint may ask for fewer calls without answering one


@dataclass
class Breaker:
    """Notices that an endpoint is down, from failures without an answer between them.

    A failure that waiting cannot mend pauses the run after a few calls, so that a long run does not fail call by call;
    one that may pass (a server that restarts, or still loads its model) only when nothing was answered for `patience`.
    `since` outlives the slot: it is stored with the run.
    """

    patience: datetime.timedelta
    at_a_time: int = 1  # calls
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
        self.faults += not (failure.endpoint_down or failure.busy)
        patience = max(self.patience, BUSY_PATIENCE) if failure.busy else self.patience
        failing = now - self.since
        if failure.retry_after:  # what the endpoint asks to wait is no time without answers
            self.since = now + datetime.timedelta(seconds=failure.retry_after) - max(failing, datetime.timedelta())
        if self.hopeless >= DOWN_IN_A_ROW:
            return f"{failure.reason} Resume the run when this is put right."
        if self.faults >= FAULTS_IN_A_ROW + 2 * self.at_a_time:
            return f"{self.faults} calls in a row failed, the last one so: {failure.reason}"
        if failing >= patience:
            return f"Nothing was answered for {failing.seconds} seconds, the last failure was: {failure.reason}"
        return ""


class Places:
    """Room for calls under way. It shrinks when the endpoint asks for fewer calls, by half once a second at most, and
    grows again as it answers: by a place for at most four answers."""

    FEWEST = 4  # calls that come too early wait for a second and cost no attempt

    def __init__(self, most: int) -> None:
        self.most, self.open, self.taken = most, float(most), 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._next_cut: datetime.datetime | None = None

    async def __aenter__(self) -> None:
        while self.taken >= int(self.open):
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
        self.taken += 1

    async def __aexit__(self, *exception: object) -> None:
        self.taken -= 1
        self._wake()

    def fewer(self, now: datetime.datetime) -> None:
        if self._next_cut is None or now >= self._next_cut:
            self.open = max(min(self.open, self.FEWEST), self.open / 2)
            self._next_cut = now + datetime.timedelta(seconds=1)

    def more(self) -> None:
        self.open = min(float(self.most), self.open + max(1 / self.open, 0.25))
        self._wake()

    def _wake(self) -> None:
        free = int(self.open) - self.taken
        while self._waiting and free > 0:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                free -= 1

"""Carrying a run out within a test: a clock that does not wait, and slots of work until the run stands."""

from __future__ import annotations

import asyncio
import datetime
from collections import Counter
from dataclasses import dataclass, field

from django.utils import timezone

from judging import work
from judging.models import Run


@dataclass
class FakeTime:
    """A clock that jumps over every sleep, and remembers how long each was."""

    moment: datetime.datetime = field(default_factory=timezone.now)
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime.datetime:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += datetime.timedelta(seconds=seconds)
        await asyncio.sleep(0)

    @property
    def clock(self) -> work.Clock:
        return work.Clock(self.now, self.sleep)


def work_to_end(run: Run, time: FakeTime | None = None) -> Run:
    """Slots of work until the run stands still or is over."""
    time = time or FakeTime()
    for _ in range(50):
        work.work(run.pk, time.clock)
        run.refresh_from_db()
        if run.state != Run.State.RUNNING:
            return run
        time.moment += datetime.timedelta(seconds=30)
    raise AssertionError(f"the run does not end: {run.progress()}")


def states(run: Run) -> dict[str, int]:
    """How many verdicts a run has of each state."""
    return dict(Counter(run.verdicts.values_list("state", flat=True)))

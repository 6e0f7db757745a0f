"""A run carried out in this process, as a worker would: `manage.py run_judge`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, connection

from judging import runs, work
from judging.models import Run

PULSE = 0.25  # seconds between looks at whether to stop
BETWEEN = 1.0  # seconds to wait for calls that are not due yet, or that other workers hold
BY_HAND = "It was stopped at the terminal."

log = logging.getLogger(__name__)


def carry_out(run: Run, stop: threading.Event, watch: Callable[[Run], None], every: float) -> None:
    """Work at a run until it is finished or paused. Other workers may join in.

    Once `stop` is set, the run is paused; what is under way is still stored. `watch` is called with the run about every
    so many seconds, and once at the end; not in the thread that works.
    """
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(run.pk, stop, over, watch, every), daemon=True)
    watcher.start()
    try:
        while run.state == Run.State.RUNNING:
            work.work(run.pk)
            run.refresh_from_db()
            if run.state == Run.State.RUNNING:
                over.wait(BETWEEN)
    finally:
        over.set()
        watcher.join()


def _watch(
    run_id: int, stop: threading.Event, over: threading.Event, watch: Callable[[Run], None], every: float
) -> None:
    looks = 0
    try:
        while not over.wait(PULSE):
            try:
                run = Run.objects.select_related("judge").get(pk=run_id)
                if stop.is_set() and run.state == Run.State.RUNNING:
                    runs.pause(run, BY_HAND)
                if looks % max(1, round(every / PULSE)) == 0:
                    watch(run)
            except DatabaseError:
                log.warning("The progress of run %s could not be read; it is tried again.", run_id)
            looks += 1
        watch(Run.objects.select_related("judge").get(pk=run_id))
    finally:
        connection.close()

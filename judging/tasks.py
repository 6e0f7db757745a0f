"""The Celery tasks: doorbells for work whose truth is in the database."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.utils import timezone

from judging import curves, trial, work
from judging.models import Heartbeat

RING_EXPIRES_SECONDS = 60  # a ring that waited longer is dropped; the sweeper rings again where it is needed


@shared_task(bind=True)
def heartbeat(self: Any) -> None:
    """Show that web, broker, beat and worker are connected."""
    Heartbeat.beat(str(self.request.hostname))


@shared_task
def sweep() -> None:
    """Ring for runs that have calls to ask and nobody who asks them."""
    work.sweep()


@shared_task
def work_run(run_id: int) -> None:
    """Ask calls of one run for a while."""
    work.work(run_id)


@shared_task
def snapshot() -> None:
    """Note the figures of rounds that moved, for their curves over time."""
    curves.take(timezone.now())


@shared_task
def test_judge(judge_id: int) -> None:
    """Send the test call that was asked for on a judge's page."""
    trial.carry_out(judge_id)


@worker_ready.connect
def sweep_at_start(**signal: Any) -> None:
    """A worker that starts takes up what a killed one left behind, without waiting for the beat."""
    sweep.delay()

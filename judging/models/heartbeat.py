from __future__ import annotations

import datetime

from django.conf import settings
from django.db import models
from django.utils import timezone


class Heartbeat(models.Model):
    """When a worker last carried out the beat's task: proof that web, broker, beat and worker are connected."""

    worker = models.CharField(max_length=200, unique=True)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.worker

    @classmethod
    def beat(cls, worker: str) -> None:
        cls.objects.update_or_create(worker=worker, defaults={"seen_at": timezone.now()})

    @classmethod
    def alive(cls) -> bool:
        oldest = timezone.now() - datetime.timedelta(seconds=settings.HEARTBEAT_MAX_AGE_SECONDS)
        return cls.objects.filter(seen_at__gte=oldest).exists()

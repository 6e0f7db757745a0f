from __future__ import annotations

from django.db import models


class LoginAttempt(models.Model):
    """A login that failed, or is being decided. `key` is a keyed hash of user name and address: people type passwords
    into the name field, so neither is stored."""

    key = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["key", "at"], name="login_attempt_key_at")]

    def __str__(self) -> str:
        return f"{self.key[:8]} at {self.at:%Y-%m-%d %H:%M:%S}"

from __future__ import annotations

import base64
import hashlib
import ipaddress
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotate.models import Project


class KeyUnavailable(Exception):
    """The judge's key cannot be had; the message says what to do, without any part of the key."""


class Pace(models.Model):
    """Until when nothing is asked of a judge, for all workers and runs; and what they lock to take turns (see
    `judging.pacing`)."""

    judge = models.OneToOneField("Judge", models.CASCADE, related_name="pace")
    held_until = models.DateTimeField(null=True, blank=True)  # the endpoint asked for a pause

    def __str__(self) -> str:
        return f"Pace of {self.judge}"


class Judge(models.Model):
    """A model at an OpenAI-compatible endpoint, with parameters and prices."""

    class KeySource(models.TextChoices):
        NONE = "none", _("No key needed")
        ENVIRONMENT = "environment", _("OPENAI_API_KEY of the server")
        STORED = "stored", _("A key of its own, stored encrypted")

    project = models.ForeignKey(Project, models.PROTECT, related_name="judges")
    name = models.CharField(max_length=80)
    base_url = models.CharField(_("base URL"), max_length=300, help_text=_("For example https://api.openai.com/v1"))
    model = models.CharField(max_length=120)
    key_source = models.CharField(_("key"), max_length=12, choices=KeySource.choices, default=KeySource.NONE)
    encrypted_key = models.TextField(blank=True, editable=False)
    temperature = models.FloatField(default=0.0)
    top_p = models.FloatField(_("top p"), null=True, blank=True)  # not sent where it is empty
    max_tokens = models.PositiveIntegerField(_("most tokens in a reply"), default=512)
    timeout_seconds = models.PositiveIntegerField(_("seconds to wait for a reply"), default=120)
    concurrency = models.PositiveSmallIntegerField(_("calls at the same time"), default=4)
    input_price = models.DecimalField(
        _("price of a million input tokens (USD)"), max_digits=10, decimal_places=4, default=0
    )
    cached_input_price = models.DecimalField(
        _("price of a million cached input tokens (USD)"), max_digits=10, decimal_places=4, default=0
    )
    output_price = models.DecimalField(
        _("price of a million output tokens (USD)"), max_digits=10, decimal_places=4, default=0
    )
    hour_price = models.DecimalField(
        _("price of an hour of the model (USD)"), max_digits=10, decimal_places=4, default=0
    )
    requests_per_minute = models.PositiveIntegerField(_("most calls in a minute"), null=True, blank=True)
    tokens_per_minute = models.PositiveIntegerField(_("most tokens in a minute"), null=True, blank=True)
    is_weak = models.BooleanField(default=False, editable=False)  # the packaged model: pages say so
    archived = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    test_asked_at = models.DateTimeField(null=True, blank=True, editable=False)
    tested_at = models.DateTimeField(null=True, blank=True, editable=False)
    findings = models.JSONField(default=list, blank=True, editable=False)  # of the last test: [{"ok", "text"}]
    # Of the last test: "schema" (JSON by schema: bool), "alternatives" (token probabilities: how many, 0 for none).
    abilities = models.JSONField(default=dict, blank=True, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="judge_name_once"),
            models.CheckConstraint(
                condition=Q(input_price__gte=0, cached_input_price__gte=0, output_price__gte=0, hour_price__gte=0),
                name="judge_prices_not_negative",
            ),
            models.CheckConstraint(condition=Q(concurrency__gte=1, concurrency__lte=256), name="judge_concurrency"),
            models.CheckConstraint(condition=Q(temperature__gte=0, temperature__lte=2), name="judge_temperature"),
            models.CheckConstraint(condition=Q(top_p=None) | Q(top_p__gt=0, top_p__lte=1), name="judge_top_p"),
            models.CheckConstraint(
                condition=Q(requests_per_minute=None) | Q(requests_per_minute__gte=1), name="judge_requests_per_minute"
            ),
            models.CheckConstraint(
                condition=Q(tokens_per_minute=None) | Q(tokens_per_minute__gte=1), name="judge_tokens_per_minute"
            ),
            models.CheckConstraint(
                condition=Q(timeout_seconds__gte=1, max_tokens__gte=1), name="judge_limits_positive"
            ),
            models.CheckConstraint(
                condition=~Q(key_source="stored") | ~Q(encrypted_key=""), name="judge_stored_key_present"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        super().clean()
        check_endpoint(self.base_url)
        if self.key_source == self.KeySource.ENVIRONMENT and not self._is_server_endpoint():
            only = gettext("The server's key is sent to %(url)s only: use that base URL.")
            raise ValidationError({"key_source": only % {"url": settings.OPENAI_BASE_URL}})

    @property
    def is_being_tested(self) -> bool:
        """A test was asked for, and no worker has come back with its findings."""
        return self.test_asked_at is not None and (self.tested_at is None or self.tested_at < self.test_asked_at)

    def forget_test(self) -> None:
        """The findings were about other settings."""
        self.test_asked_at = self.tested_at = None
        self.findings = []
        self.abilities = {}

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent with every call, and part of the cache key."""
        sent = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return sent if self.top_p is None else {**sent, "top_p": self.top_p}

    def store_key(self, key: str) -> None:
        self.key_source = self.KeySource.STORED
        self.encrypted_key = _cipher().encrypt(key.encode()).decode()

    def api_key(self) -> str:
        """The key to send. Raises KeyUnavailable; the environment's key goes to the server's own endpoint only, so
        that nobody can have it sent elsewhere by editing a judge."""
        if self.key_source == self.KeySource.NONE:
            return "none"
        if self.key_source == self.KeySource.ENVIRONMENT:
            if not self._is_server_endpoint():
                raise KeyUnavailable("The server's key is not sent to this base URL: give the judge a key of its own.")
            if not settings.OPENAI_API_KEY:
                raise KeyUnavailable("OPENAI_API_KEY is not set on the server: set it and restart, or store a key.")
            return str(settings.OPENAI_API_KEY)
        try:
            return _cipher().decrypt(self.encrypted_key.encode()).decode()
        except InvalidToken as error:
            raise KeyUnavailable("The stored key cannot be read any more: enter it again.") from error

    def _is_server_endpoint(self) -> bool:
        return self.base_url.rstrip("/") == str(settings.OPENAI_BASE_URL).rstrip("/")


def check_endpoint(url: str) -> None:
    """ValidationError unless `url` is an http(s) address that the server may call."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValidationError({"base_url": gettext("This is not an address: check it for typing errors.")}) from error
    if parts.scheme not in {"http", "https"} or not host or port == 0:
        raise ValidationError(
            {"base_url": gettext("The base URL must start with http:// or https:// and name a host.")}
        )
    if parts.username or parts.password:
        raise ValidationError(
            {"base_url": gettext("Leave user name and password out of the base URL: use the key field.")}
        )
    if not settings.JUDGES_ON_PRIVATE_NETWORKS and is_private_host(host):
        raise ValidationError(
            {"base_url": gettext("This server does not call private addresses: use a public host name.")}
        )


def is_private_host(host: str) -> bool:
    """Whether `host` is a literal private address or a local name. Names are resolved again when a call is made."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


def _cipher() -> Fernet:
    digest = hashlib.sha256(b"concord judge keys:" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))

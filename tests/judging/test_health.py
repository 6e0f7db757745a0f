from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from judging.models import Heartbeat


def test_healthz_answers_without_the_database(client: Client) -> None:
    # No database mark: pytest-django refuses every query of this test.
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert client.post("/healthz").status_code == 405


@pytest.mark.django_db
def test_readyz_is_ready_when_all_is_there(client: Client) -> None:
    Heartbeat.beat("worker-1")
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "checks": {"database": "ok", "migrations": "ok", "worker": "ok"},
    }


@pytest.mark.django_db
def test_readyz_wants_a_living_worker(client: Client, settings: Any) -> None:
    Heartbeat.objects.create(
        worker="old",
        seen_at=timezone.now() - datetime.timedelta(seconds=settings.HEARTBEAT_MAX_AGE_SECONDS + 1),
    )
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "not ready"
    assert answer.json()["checks"]["worker"].startswith("no worker")


@pytest.mark.django_db
def test_readyz_names_missing_migrations(client: Client) -> None:
    MigrationRecorder(connection).migration_qs.filter(app="judging").delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "not applied: run manage.py migrate" in answer.json()["checks"]["migrations"]
    assert answer.json()["checks"]["worker"] == "not checked"


def test_readyz_says_that_the_database_is_gone_and_nothing_more(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OperationalError("could not connect to secret-host as secret-user")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {
        "database": "the database cannot be reached",
        "migrations": "not checked",
        "worker": "not checked",
    }
    assert "secret" not in answer.content.decode()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.django_db
def test_probes_over_plain_http_are_not_sent_to_https(client: Client, settings: Any, path: str) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get(path).status_code in {200, 503}
    assert client.get("/accounts/login/").status_code == 301

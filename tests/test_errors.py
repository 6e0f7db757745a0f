"""What people see when the database does not answer."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from annotate.models import User

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OperationalError("database is locked"), 503, "The server is busy"),
        (ValueError("a fault of ours"), 500, "Something broke on our side"),
    ],
)
def test_a_busy_database_asks_to_come_back_and_a_fault_says_so(
    alice: User, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, words: str
) -> None:
    def fail(*given: object) -> None:
        raise error

    monkeypatch.setattr("annotate.overview.next_step", fail)
    client = Client(raise_request_exception=False)
    client.force_login(alice)
    reply = client.get(reverse("home"))
    assert (reply.status_code, words in reply.content.decode()) == (status, True)
    assert str(error) not in reply.content.decode()
    assert reply.headers.get("Retry-After") == ("5" if status == 503 else None)

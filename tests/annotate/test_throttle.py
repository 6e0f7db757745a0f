from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone

from annotate import throttle
from annotate.models import LoginAttempt

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def three_attempts(settings: Any) -> None:
    settings.LOGIN_ATTEMPTS = 3


def test_attempts_are_refused_beyond_the_limit_and_again_allowed_after_the_window(settings: Any) -> None:
    assert [throttle.take_attempt("ann", "192.0.2.1") for _ in range(5)] == [True, True, True, False, False]
    early = timezone.now() - datetime.timedelta(seconds=settings.LOGIN_WINDOW_SECONDS + 1)
    LoginAttempt.objects.update(at=early)
    assert throttle.take_attempt("ann", "192.0.2.1")


def test_refused_attempts_do_not_lengthen_the_wait() -> None:
    for _ in range(9):
        throttle.take_attempt("ann", "192.0.2.1")
    assert LoginAttempt.objects.count() == 3


def test_attempts_that_left_the_window_are_deleted(settings: Any) -> None:
    throttle.take_attempt("ann", "192.0.2.1")
    LoginAttempt.objects.update(at=timezone.now() - datetime.timedelta(seconds=settings.LOGIN_WINDOW_SECONDS + 1))
    throttle.take_attempt("bob", "192.0.2.2")
    assert LoginAttempt.objects.count() == 1


def test_another_name_or_another_address_is_counted_apart() -> None:
    for _ in range(4):
        throttle.take_attempt("ann", "192.0.2.1")
    assert throttle.take_attempt("abe", "192.0.2.1")
    assert throttle.take_attempt("ann", "192.0.2.2")
    assert not throttle.take_attempt(" ANN ", "192.0.2.1")


def test_success_forgets_the_failures() -> None:
    for _ in range(3):
        throttle.take_attempt("ann", "192.0.2.1")
    throttle.forget_attempts("ann", "192.0.2.1")
    assert throttle.take_attempt("ann", "192.0.2.1")


def test_neither_name_nor_address_is_stored() -> None:
    throttle.take_attempt("ann", "192.0.2.1")
    key = LoginAttempt.objects.get().key
    assert len(key) == 64
    assert "ann" not in key


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::1", "2001:db8:1:2::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("nonsense", ""),
        ("", ""),
    ],
)
def test_network_of(address: str, network: str) -> None:
    assert throttle.network_of(address) == network


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "198.51.100.7", "10.0.0.1"),
        (1, "198.51.100.7", "198.51.100.7"),
        (1, "203.0.113.5, 198.51.100.7", "198.51.100.7"),
        (2, "203.0.113.5, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        (2, "198.51.100.7", "10.0.0.1"),
    ],
)
def test_only_trusted_proxies_name_the_client(settings: Any, proxies: int, forwarded: str, address: str) -> None:
    settings.TRUSTED_PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert throttle.address_of(request) == address

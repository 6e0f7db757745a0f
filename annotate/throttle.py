"""Slows down guessing of passwords: so many failed logins per user name and address within a window of time.

The counter is a table, because several web processes share it. An attempt is counted before its password is looked at,
so that a thousand guesses sent at once are no more than ten sent in turn.
"""

from __future__ import annotations

import datetime
import ipaddress

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotate.models import LoginAttempt


def take_attempt(username: str, address: str) -> bool:
    """Count one attempt; False where the limit is reached, and then the password must not be looked at."""
    key = key_of(username, address)
    now = timezone.now()
    window = datetime.timedelta(seconds=settings.LOGIN_WINDOW_SECONDS)
    attempt = LoginAttempt.objects.create(key=key, at=now)
    recent = LoginAttempt.objects.filter(key=key, at__gt=now - window).count()
    if recent > settings.LOGIN_ATTEMPTS:
        # A refused attempt does not count, or whoever keeps trying would stay locked out for ever.
        attempt.delete()
        return False
    LoginAttempt.objects.filter(at__lte=now - window).delete()
    return True


def forget_attempts(username: str, address: str) -> None:
    """The password was right: start to count from nothing."""
    LoginAttempt.objects.filter(key=key_of(username, address)).delete()


def key_of(username: str, address: str) -> str:
    """What attempts are counted by: the hash of the user name, without regard to case, and the network address."""
    text = f"{username.strip().casefold()}\n{network_of(address)}"
    return salted_hmac("annotate.throttle", text, algorithm="sha256").hexdigest()


def network_of(address: str) -> str:
    """An IPv4 address as it is; of an IPv6 address the /64, because one person commands all of its addresses."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ipaddress.IPv6Network((int(ip), 64), strict=False).network_address)
    return str(ip)


def address_of(request: HttpRequest) -> str:
    """Where the request comes from.

    Every trusted proxy appends the address that called it to X-Forwarded-For, so with n of them the client is the n-th
    entry from the end. What stands before it was written by the client, and could be anything.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    if settings.TRUSTED_PROXIES:
        forwarded = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
        if len(forwarded) >= settings.TRUSTED_PROXIES:
            address = forwarded[-settings.TRUSTED_PROXIES]
    return address

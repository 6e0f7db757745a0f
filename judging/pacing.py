"""How fast a judge is asked: at most so many calls and tokens in any minute, over all its runs and workers, and not at
all while its endpoint asks for a pause.

Every call that is let through is written down with its moment, so that no minute sees more than the limit: no bucket
that lets two bursts meet. Judges without limits write nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q

from judging import tokens
from judging.models import Call, Judge, Pace, Sending

WINDOW = datetime.timedelta(seconds=61)  # a minute, and a second for the way to the endpoint


def tokens_of(call: Call) -> int:
    """What a call may take in tokens, by its texts and the most that its reply may have: rather too many."""
    return tokens.rather_many(call.prompt) + int(call.parameters.get("max_tokens", 0))


def held_until(judge: Judge, now: datetime.datetime) -> datetime.datetime | None:
    """Until when the endpoint asked for a pause; None where it asks for none."""
    return Pace.objects.filter(judge=judge, held_until__gt=now).values_list("held_until", flat=True).first()


def hold(judge: Judge, until: datetime.datetime) -> None:
    """Ask nothing of a judge until then: its endpoint said so. A later moment that was said before stays."""
    Pace.objects.get_or_create(judge=judge)
    Pace.objects.filter(Q(held_until=None) | Q(held_until__lt=until), judge=judge).update(held_until=until)


def is_limited(judge: Judge) -> bool:
    return bool(judge.requests_per_minute or judge.tokens_per_minute)


def admit(judge: Judge, calls: Sequence[Call], now: datetime.datetime) -> tuple[int, datetime.datetime]:
    """How many of these calls, from the first on, may be sent now; and from when on the next one may.

    A call that is larger than the limit of tokens by itself goes alone.
    """
    if not is_limited(judge) or not calls:
        return len(calls), now
    with transaction.atomic():
        Pace.objects.get_or_create(judge=judge)
        Pace.objects.select_for_update().get(judge=judge)  # one worker at a time
        Sending.objects.filter(judge=judge, at__lte=now - WINDOW).delete()
        window = list(Sending.objects.filter(judge=judge).order_by("at").values_list("at", "tokens"))
        number, taken = len(window), sum(used for _, used in window)
        admitted: list[Sending] = []
        for call in calls:
            wanted = tokens_of(call)
            if not _fits(judge, number + 1, taken + wanted):
                break
            number, taken = number + 1, taken + wanted
            admitted.append(Sending(judge=judge, call=call, at=now, tokens=wanted))
        Sending.objects.bulk_create(admitted)
    if len(admitted) == len(calls):
        return len(admitted), now
    # When enough of the window has passed for the next one.
    wanted = tokens_of(calls[len(admitted)])
    for at, used in [*window, *((one.at, one.tokens) for one in admitted)]:
        number, taken = number - 1, taken - used
        if _fits(judge, number + 1, taken + wanted):
            return len(admitted), at + WINDOW
    return len(admitted), now + WINDOW


def note_usage(judge: Judge, call: Call) -> None:
    """An answered call used fewer tokens, or more, than was estimated."""
    used = call.input_tokens + call.output_tokens
    if judge.tokens_per_minute and used:
        Sending.objects.filter(judge=judge, call=call).update(tokens=used)


def _fits(judge: Judge, calls: int, taken: int) -> bool:
    """Whether a minute may see so many calls that take so many tokens together."""
    if judge.requests_per_minute and calls > judge.requests_per_minute:
        return False
    return not judge.tokens_per_minute or taken <= judge.tokens_per_minute or calls == 1

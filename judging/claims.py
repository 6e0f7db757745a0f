"""How workers share the calls of a run: each is claimed under a lease and settled once, by whoever holds the lease.

A lease is short, and a worker that lives renews all of its leases in time: any number of workers may run at once, any
may be killed, and what one of them held is taken up soon after.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import random
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min, Q, QuerySet

from annotate.models import Checklist
from judging import moves, statements
from judging.client import Reply
from judging.faults import CallFailed
from judging.models import Call, Judge, Run, Verdict
from judging.prompts import Message
from judging.protocols import Outcome

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
MOST_REFUSALS = 100  # how often an endpoint may ask for fewer calls when it is asked the same


def claimable(now: datetime.datetime) -> Q:
    """Calls that may be taken: planned and due, or under a lease that ran out."""
    due = Q(not_before=None) | Q(not_before__lte=now)
    return (Q(state=Call.State.PLANNED) & due) | Q(state=Call.State.LEASED, leased_until__lte=now)


def new_token() -> str:
    """What the leases of one worker's slot are known by."""
    return secrets.token_hex(16)


def lease_end(now: datetime.datetime) -> datetime.datetime:
    return now + datetime.timedelta(seconds=settings.CALL_LEASE_SECONDS)


def claim(run: Run, size: int, now: datetime.datetime, token: str = "") -> list[Call]:
    """Take up to `size` calls of a running run, in order; an empty list where there are none or the run stands."""
    token = token or new_token()
    with transaction.atomic():
        if not Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).exists():
            return []
        free = Call.objects.filter(claimable(now), run=run).order_by("position")
        # Rows that another worker is just taking are passed over instead of waited for.
        chosen = list(free.select_for_update(skip_locked=True).values_list("pk", flat=True)[:size])
        if not chosen:
            return []
        Call.objects.filter(claimable(now), pk__in=chosen).update(
            state=Call.State.LEASED, leased_until=lease_end(now), lease_token=token
        )
    mine = Call.objects.filter(pk__in=chosen, state=Call.State.LEASED, lease_token=token)
    return list(mine.select_related("follows").order_by("position"))


def renew(run: Run, token: str, now: datetime.datetime) -> int:
    """Hold all calls of a token for another while. A worker that lives does so in time. Returns their number."""
    held = Call.objects.filter(run=run, state=Call.State.LEASED, lease_token=token)
    return held.update(leased_until=lease_end(now))


def release(calls: Sequence[Call]) -> None:
    """Give back calls that were claimed and not asked."""
    for token, of_token in groupby(calls, key=lambda call: call.lease_token):
        _give_back(Call.objects.filter(pk__in=[call.pk for call in of_token]), token)


def release_others(run: Run, token: str, ours: Collection[int]) -> None:
    """Give back what was claimed under a token and is not known to its worker, because the connection broke."""
    _give_back(run.calls.exclude(pk__in=ours), token)


def _give_back(calls: QuerySet[Call], token: str) -> None:
    """Plan those of these calls again that are held under the token."""
    held = calls.filter(state=Call.State.LEASED, lease_token=token)
    held.update(state=Call.State.PLANNED, leased_until=None, lease_token="", reserved=None)


def cache_key(judge: Judge, parameters: dict[str, Any], messages: list[Message], repeat: int) -> str:
    """What makes two calls the same: endpoint, model, parameters, prompt and repeat; never the row."""
    asked = [judge.base_url.rstrip("/"), judge.model, parameters, messages, repeat]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def answered(keys: Collection[str]) -> dict[str, Call]:
    """The first answered call of any run that asked just this, by cache key."""
    found = Call.objects.filter(cache_key__in=keys, state=Call.State.DONE).exclude(reply="").order_by("-pk")
    return {call.cache_key: call for call in found.defer("prompt")}


def reply_of(call: Call) -> Reply:
    """The reply that a call holds."""
    return Reply(
        text=call.reply,
        finish_reason=call.finish_reason,
        input_tokens=call.input_tokens,
        cached_tokens=call.cached_tokens,
        output_tokens=call.output_tokens,
        latency_ms=call.latency_ms or 0,
        parameters=call.parameters,
        alternatives=call.alternatives,
    )


def take_reply(call: Call, reply: Reply, *, from_cache: bool) -> None:
    """Put a reply on a call that is not stored yet. Tokens of earlier attempts, which were paid too, stay counted."""
    call.reply = reply.text
    call.finish_reason = reply.finish_reason
    call.input_tokens += reply.input_tokens
    call.cached_tokens += reply.cached_tokens
    call.output_tokens += reply.output_tokens
    call.latency_ms = None if from_cache else reply.latency_ms
    call.parameters = reply.parameters
    call.alternatives = reply.alternatives
    call.from_cache = from_cache
    call.attempts += 0 if from_cache else 1


@dataclass(frozen=True)
class Settlement:
    """What becomes of a claimed call: it is done, with its verdicts or the checklist it wrote; or planned again, or
    given up, because of a failure."""

    call: Call
    state: Call.State
    outcomes: Sequence[Outcome] = ()
    follow_up: Call | None = None  # asked next
    policy: str = ""
    questions: Sequence[str] = ()
    failure: CallFailed | None = None


def done(call: Call, outcomes: Sequence[Outcome], *, follow_up: Call | None = None) -> Settlement:
    """Of an answered call: its verdicts, and the call that is to follow it."""
    return Settlement(call, Call.State.DONE, outcomes, follow_up)


def written(call: Call, policy: str, questions: Sequence[str]) -> Settlement:
    """Of an answered call: the checklist draft that it wrote."""
    return Settlement(call, Call.State.DONE, policy=policy, questions=questions)


def failed(
    call: Call, failure: CallFailed, errors: Sequence[Outcome], now: datetime.datetime, *, alone: bool = False
) -> Settlement:
    """Of a failed call: to be asked again later, or given up with `errors` as its verdicts.

    An endpoint that asks for fewer calls, or that is down, says nothing about this call: that costs it no attempt. But
    it is given up when it was refused `MOST_REFUSALS` times; and it is not the endpoint's fault where a reply came that
    was paid, or where the call is `alone` with its failure among others.
    """
    call.error = failure.reason
    if failure.busy:
        call.refusals += 1
        again = call.refusals % MOST_REFUSALS != 0
    elif failure.endpoint_down and not (alone or call.reply):
        again = True
    else:
        call.attempts += 0 if call.reply else 1  # a reply was counted when it came
        spent = call.attempts % settings.CALL_MAX_ATTEMPTS == 0
        again = (failure.retryable or failure.endpoint_down) and not spent
    if not again:
        return Settlement(call, Call.State.FAILED, errors, failure=failure)
    call.not_before = now + datetime.timedelta(seconds=wait_before(call.attempts, failure))
    return Settlement(call, Call.State.PLANNED, failure=failure)


def settle(settlements: Sequence[Settlement], now: datetime.datetime) -> int:
    """Store what became of calls of one run, all or nothing, and move the live figures. A call whose lease was lost is
    left alone: whoever took it over stores its own answer. Returns how many were stored."""
    with transaction.atomic():
        held = Call.objects.filter(pk__in=[settlement.call.pk for settlement in settlements], state=Call.State.LEASED)
        tokens = dict(held.order_by("pk").select_for_update().values_list("pk", "lease_token"))
        mine = [one for one in settlements if tokens.get(one.call.pk) == one.call.lease_token]
        for one in mine:
            if one.questions:
                one.call.written = Checklist.write(
                    one.call.item, one.questions, policy=one.policy, created_by=one.call.run.created_by
                )
            if one.follow_up is not None:
                one.follow_up.run, one.follow_up.follows = one.call.run, one.call
                one.follow_up.pk, one.follow_up.position = None, one.call.position + 1
                one.follow_up.save(force_insert=True)
        statements.run_many(statements.STORE_CALL, [_stored(one, now) for one in mine])
        Verdict.objects.bulk_create(verdict for one in mine for verdict in verdicts_of(one.call, one.outcomes))
        settled = [one.call for one in mine if one.state != Call.State.PLANNED]
        if settled:
            moves.settled(settled[0].run, settled)
    return len(mine)


def wait_before(attempts: int, failure: CallFailed) -> float:
    """Seconds until the next attempt: what the endpoint asked for, else doubling from one second, with jitter so that
    calls that failed together do not come back together."""
    if failure.retry_after is not None:
        return failure.retry_after + random.uniform(0, 0.5)
    if failure.busy:
        return FIRST_WAIT_SECONDS * random.uniform(1.0, 2.0)
    if failure.endpoint_down:
        return FIRST_WAIT_SECONDS
    doubled = min(FIRST_WAIT_SECONDS * 2.0 ** (attempts - 1), LONGEST_WAIT_SECONDS)
    return doubled * random.uniform(0.5, 1.0)


def next_due(run: Run) -> datetime.datetime | None:
    """When the next call of the run can be taken; None where none is left, or the run stands."""
    if not Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).exists():
        return None
    waiting = run.calls.filter(state__in=[Call.State.PLANNED, Call.State.LEASED])
    if waiting.filter(state=Call.State.PLANNED, not_before=None).exists():
        return datetime.datetime.min.replace(tzinfo=datetime.UTC)
    moments = waiting.aggregate(
        due=Min("not_before", filter=Q(state=Call.State.PLANNED)),
        lapse=Min("leased_until", filter=Q(state=Call.State.LEASED)),
    )
    return min((moment for moment in moments.values() if moment is not None), default=None)


def verdicts_of(call: Call, outcomes: Iterable[Outcome]) -> Iterator[Verdict]:
    """The outcomes of a call as verdicts, not stored yet. A call about no response has none."""
    if call.response_id is None:
        return
    for outcome in outcomes:
        yield Verdict(
            run_id=call.run_id,
            call=call,
            response_id=call.other_id if outcome.swapped and call.other_id else call.response_id,
            other_id=call.response_id if outcome.swapped else call.other_id,
            order=call.order,
            question=outcome.question,
            dimension=outcome.dimension,
            repeat=call.repeat,
            state=outcome.state,
            score=outcome.score,
            choice=outcome.choice,
            probability=outcome.probability,
            captured=outcome.captured,
        )


def _stored(one: Settlement, now: datetime.datetime) -> list[Any]:
    """The parameters of STORE_CALL."""
    call, moment = one.call, connection.ops.adapt_datetimefield_value
    planned = one.state == Call.State.PLANNED
    return [
        one.state.value,
        None if planned else moment(now),
        moment(call.not_before) if planned else None,
        call.attempts,
        call.refusals,
        "" if one.state == Call.State.DONE else call.error,
        call.cache_key,
        call.from_cache,
        json.dumps(call.prompt),
        json.dumps(call.parameters),
        call.reply,
        json.dumps(call.alternatives),
        call.finish_reason,
        call.input_tokens,
        call.cached_tokens,
        call.output_tokens,
        call.latency_ms,
        call.written_id,
        None if planned or call.input_tokens or not call.reply or call.from_cache else call.reserved,
        call.pk,
    ]

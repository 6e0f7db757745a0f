"""How workers share the calls of a run: each is claimed under a lease and settled once, by whoever holds the lease.

Both are conditional updates whose row count is checked, so any number of workers may run at once and any may be killed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import random
import secrets
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Min, Q

from annotate.models import Checklist
from judging import moves
from judging.client import Reply
from judging.faults import CallFailed
from judging.models import Call, Judge, Run, Verdict
from judging.prompts import Message
from judging.protocols import Outcome

LEASE_MARGIN_SECONDS = 30
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0


def claimable(now: datetime.datetime) -> Q:
    """Calls that may be taken: planned and due, or under a lease that ran out."""
    due = Q(not_before=None) | Q(not_before__lte=now)
    return (Q(state=Call.State.PLANNED) & due) | Q(state=Call.State.LEASED, leased_until__lte=now)


def lease_seconds(judge: Judge) -> int:
    """A lease outlasts the longest possible call."""
    return max(settings.CALL_LEASE_SECONDS, judge.timeout_seconds + LEASE_MARGIN_SECONDS)


def claim(run: Run, size: int, now: datetime.datetime) -> list[Call]:
    """Take up to `size` calls of a running run, in order; an empty list where there are none or the run stands."""
    token = secrets.token_hex(16)
    until = now + datetime.timedelta(seconds=lease_seconds(run.judge))
    with transaction.atomic():
        if not Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).exists():
            return []
        free = Call.objects.filter(claimable(now), run=run).order_by("position")
        # Rows that another worker is just taking are passed over instead of waited for.
        chosen = list(free.select_for_update(skip_locked=True).values_list("pk", flat=True)[:size])
        Call.objects.filter(claimable(now), pk__in=chosen).update(
            state=Call.State.LEASED, leased_until=until, lease_token=token
        )
    related = ["item", "response", "other", "question", "checklist", "dimension", "follows"]
    mine = Call.objects.filter(pk__in=chosen, state=Call.State.LEASED, lease_token=token)
    return list(mine.select_related(*related).order_by("position"))


def renew(call: Call, judge: Judge, now: datetime.datetime) -> bool:
    """Make sure that the lease outlasts a call that starts now. False where the lease was lost."""
    assert call.leased_until is not None  # noqa: S101 - claimed calls carry a lease
    if call.leased_until >= now + datetime.timedelta(seconds=judge.timeout_seconds + LEASE_MARGIN_SECONDS / 2):
        return True
    until = now + datetime.timedelta(seconds=lease_seconds(judge))
    call.leased_until = until
    return bool(_mine(call).update(leased_until=until))


def release(call: Call) -> None:
    """Give back a call that was claimed and not asked."""
    _mine(call).update(state=Call.State.PLANNED, leased_until=None, lease_token="")


def cache_key(judge: Judge, parameters: dict[str, Any], messages: list[Message], repeat: int) -> str:
    """What makes two calls the same: endpoint, model, parameters, prompt and repeat; never the row."""
    asked = [judge.base_url.rstrip("/"), judge.model, parameters, messages, repeat]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def answered(key: str) -> Call | None:
    """An answered call of any run that asked just this."""
    return Call.objects.filter(cache_key=key, state=Call.State.DONE).exclude(reply="").order_by("pk").first()


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


def settle_verdicts(
    call: Call, outcomes: list[Outcome], now: datetime.datetime, *, follow_up: Call | None = None
) -> bool:
    """Store an answered call with its verdicts, and plan the call that follows it, where there is one. False, and
    nothing stored, where the lease was lost."""
    with transaction.atomic():
        if not _settle(call, Call.State.DONE, now):
            return False
        if follow_up is not None:
            follow_up.run, follow_up.follows, follow_up.position = call.run, call, call.position + 1
            follow_up.save()
        _store(call, outcomes)
    return True


def settle_checklist(call: Call, policy: str, questions: list[str], now: datetime.datetime) -> bool:
    """Store an answered call with the checklist draft it wrote. False where the lease was lost."""
    with transaction.atomic():
        if not _settle(call, Call.State.DONE, now):
            return False
        call.written = Checklist.write(call.item, questions, policy=policy, created_by=call.run.created_by)
        call.save(update_fields=["written"])
    return True


def settle_failure(call: Call, failure: CallFailed, errors: list[Outcome], now: datetime.datetime) -> bool:
    """Plan a failed call again for later, or give it up with `errors` as its verdicts.

    A failure of the whole endpoint costs the call no attempt: it says nothing about this call. False where the lease
    was lost.
    """
    call.error = failure.reason
    call.attempts += 0 if failure.endpoint_down or call.reply else 1  # a reply was counted when it came
    spent = call.attempts % settings.CALL_MAX_ATTEMPTS == 0
    if failure.endpoint_down or (failure.retryable and not spent):
        call.not_before = now + datetime.timedelta(seconds=wait_before(call.attempts, failure))
        return bool(_settle(call, Call.State.PLANNED, None))
    with transaction.atomic():
        if not _settle(call, Call.State.FAILED, now):
            return False
        _store(call, errors)
    return True


def wait_before(attempts: int, failure: CallFailed) -> float:
    """Seconds until the next attempt: what the endpoint asked for, else doubling from one second, with jitter so that
    calls that failed together do not come back together."""
    if failure.retry_after is not None:
        return failure.retry_after + random.uniform(0, 0.5)
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


def _mine(call: Call) -> Any:
    return Call.objects.filter(pk=call.pk, state=Call.State.LEASED, lease_token=call.lease_token)


def _settle(call: Call, state: Call.State, finished_at: datetime.datetime | None) -> int:
    """Write the call's outcome as long as the lease is ours. Returns the number of rows written: 1 or 0."""
    return int(
        _mine(call).update(
            state=state,
            leased_until=None,
            lease_token="",
            finished_at=finished_at,
            not_before=call.not_before if state == Call.State.PLANNED else None,
            attempts=call.attempts,
            error="" if state == Call.State.DONE else call.error,
            cache_key=call.cache_key,
            from_cache=call.from_cache,
            prompt=call.prompt,
            parameters=call.parameters,
            reply=call.reply,
            alternatives=call.alternatives,
            finish_reason=call.finish_reason,
            input_tokens=call.input_tokens,
            cached_tokens=call.cached_tokens,
            output_tokens=call.output_tokens,
            latency_ms=call.latency_ms,
        )
    )


def _store(call: Call, outcomes: list[Outcome]) -> None:
    if call.response is None:
        return
    Verdict.objects.bulk_create(
        Verdict(
            run_id=call.run_id,
            call=call,
            response=call.other if outcome.swapped and call.other else call.response,
            other=call.response if outcome.swapped else call.other,
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
        for outcome in outcomes
    )
    moves.settled(call.run, [call])

"""The spending cap of a run: no call is sent that could take the run's cost above it.

Every call under way holds back the most it can cost: as many input tokens as its texts have bytes (no tokenizer makes
more), the most output tokens it may have, and the price of its time-out where the judge is paid by the hour. An
answer whose endpoint does not say what it used counts as that much, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet, Sum

from judging import tokens
from judging.models import Call, Judge, Run

MILLION = Decimal(1_000_000)


def most_cost(call: Call, judge: Judge) -> Decimal:
    """US dollars that one call can cost at most."""
    read = tokens.most(call.prompt)
    written = int(call.parameters.get("max_tokens", judge.max_tokens))
    hours = Decimal(judge.timeout_seconds) / 3600 / judge.concurrency
    input_price = max(judge.input_price, judge.cached_input_price)
    return (read * input_price + written * judge.output_price) / MILLION + hours * judge.hour_price


def admit(run: Run, calls: Sequence[Call]) -> tuple[int, str]:
    """How many of these calls, from the first on, the cap of the run allows; and where none may be sent and none is
    under way, why not."""
    if run.spending_cap is None or not calls:
        return len(calls), ""
    with transaction.atomic():
        cap = Run.objects.select_for_update(no_key=True).values_list("spending_cap", flat=True).get(pk=run.pk)
        if cap is None:
            return len(calls), ""
        others = run.calls.exclude(pk__in=[call.pk for call in calls]).filter(reserved__isnull=False)
        under_way = others.filter(state=Call.State.LEASED).exists()
        spent = run.cost() + _held(others.exclude(state=Call.State.LEASED))
        left = cap - spent - _held(others.filter(state=Call.State.LEASED))
        admitted = []
        for call in calls:
            call.reserved = most_cost(call, run.judge)
            if call.reserved > left:
                break
            left -= call.reserved
            admitted.append(call)
        Call.objects.bulk_update(admitted, ["reserved"])
    if admitted or under_way:
        return len(admitted), ""
    most = most_cost(calls[0], run.judge)
    return 0, (
        f"The run may spend {cap:f} USD and has spent {spent:.4f}; the next call could cost up to {most:.4f}. "
        "Raise the limit to go on."
    )


def _held(calls: QuerySet[Call]) -> Decimal:
    return calls.aggregate(held=Sum("reserved"))["held"] or Decimal(0)

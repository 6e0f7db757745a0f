"""The spending cap of a run: no call is sent that could take the run's cost above it.

Every call under way holds back the most it can cost: as many input tokens as its texts have bytes (no tokenizer makes
more), the most output tokens it may have, and the price of its time-out where the judge is paid by the hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction
from django.db.models import Sum

from judging.models import Call, Judge, Run

TOKENS_A_MESSAGE = 16  # of the chat format around each message
MILLION = Decimal(1_000_000)


def most_cost(call: Call, judge: Judge) -> Decimal:
    """US dollars that one call can cost at most."""
    read = sum(len(message["content"].encode()) + TOKENS_A_MESSAGE for message in call.prompt)
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
        cap = Run.objects.select_for_update().values_list("spending_cap", flat=True).get(pk=run.pk)
        if cap is None:
            return len(calls), ""
        others = run.calls.filter(state=Call.State.LEASED).exclude(pk__in=[call.pk for call in calls])
        under_way = others.aggregate(held=Sum("reserved"))["held"]
        spent = run.cost()
        left = cap - spent - (under_way or 0)
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

"""What a run would send, before anything is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from annotate.models import Round
from judging.prompts import Message
from judging.protocols import PROTOCOLS
from judging.runs import units_of


@dataclass(frozen=True)
class Preview:
    """Numbers of calls, of responses to judge, and of those left out for want of a checklist; and the first prompt."""

    calls: int
    units: int
    left_out: int
    prompt: Sequence[Message]


def preview(round: Round, protocol: str, repeats: int) -> Preview:
    method = PROTOCOLS[protocol]
    units, left_out = units_of(round, method)
    calls = sum(1 for unit in units for _ in method.plan(unit, repeats))
    first = next(chain.from_iterable(method.plan(unit, 1) for unit in units), None)
    return Preview(calls, len(units), left_out, method.messages(first, round) if first else [])

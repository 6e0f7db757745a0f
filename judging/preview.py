"""What a run would send, before anything is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from judging.methods import setup_of
from judging.models import Run
from judging.prompts import Message
from judging.protocols import PROTOCOLS
from judging.runs import units_of


@dataclass(frozen=True)
class Preview:
    """Numbers of calls, of units to judge, and of those left out for want of a checklist; and the first prompt."""

    calls: int
    units: int
    left_out: int
    prompt: Sequence[Message]


def preview(run: Run) -> Preview:
    """Of a judging run that is drafted and not stored."""
    method = PROTOCOLS[run.method]
    setup = setup_of(run, method)
    units, left_out = units_of(run)
    calls = sum(1 for unit in units for _ in method.plan(unit, run.repeats))
    first = next(chain.from_iterable(method.plan(unit, 1) for unit in units), None)
    return Preview(calls, len(units), left_out, method.messages(first, setup) if first else [])

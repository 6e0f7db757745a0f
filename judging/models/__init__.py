"""The words of the machine side, one module per noun."""

from judging.models.heartbeat import Heartbeat
from judging.models.judge import Judge, Pace
from judging.models.live import Cell, Ledger, Series, Snapshot
from judging.models.prompt import Prompt
from judging.models.run import Call, Run, Sending, Verdict

__all__ = [
    "Call",
    "Cell",
    "Heartbeat",
    "Judge",
    "Ledger",
    "Pace",
    "Prompt",
    "Run",
    "Sending",
    "Series",
    "Snapshot",
    "Verdict",
]

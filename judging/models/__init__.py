"""The words of the machine side, one module per noun."""

from judging.models.heartbeat import Heartbeat
from judging.models.judge import Judge
from judging.models.run import Call, Run, Verdict

__all__ = ["Call", "Heartbeat", "Judge", "Run", "Verdict"]

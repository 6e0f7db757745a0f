"""The judging protocols, by name. A new one is a module here and a line below."""

from judging.protocols.base import Outcome, Protocol, Setup, Unit
from judging.protocols.check_then_score import CheckThenScore
from judging.protocols.checkeval import CheckEval
from judging.protocols.checklist_then_score import ChecklistThenScore
from judging.protocols.direct import Direct
from judging.protocols.geval import GEval
from judging.protocols.pairwise import Pairwise
from judging.protocols.pairwise_checklist import PairwiseChecklist
from judging.protocols.preference import Preference
from judging.protocols.rocketeval import RocketEval
from judging.protocols.tick import Tick
from judging.protocols.tick_batch import TickBatch

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Tick(),
        TickBatch(),
        Direct(),
        CheckThenScore(),
        ChecklistThenScore(),
        Preference(),
        Pairwise(),
        PairwiseChecklist(),
        RocketEval(),
        GEval(),
        CheckEval(),
    )
}

__all__ = ["PROTOCOLS", "Outcome", "Protocol", "Setup", "Unit"]

"""The judging protocols, by name. A new one is a module here and a line below."""

from judging.protocols.base import Outcome, Protocol, Setup, Unit
from judging.protocols.direct import Direct
from judging.protocols.geval import GEval
from judging.protocols.rocketeval import RocketEval
from judging.protocols.tick import Tick

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Tick(),
        Direct(),
        RocketEval(),
        GEval(),
    )
}

__all__ = ["PROTOCOLS", "Outcome", "Protocol", "Setup", "Unit"]

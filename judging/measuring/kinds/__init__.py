"""All kinds of measurement, by the name that the command knows them by. A new one is a file and a line here."""

from judging.measuring.kind import Kind
from judging.measuring.kinds import alpha, alttest, correlation, kappa, pld, ppi, ranking, selective

KINDS: dict[str, Kind] = {
    module.KIND.name: module.KIND for module in (alpha, kappa, pld, correlation, ranking, alttest, selective, ppi)
}

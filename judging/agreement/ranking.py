"""Ranking systems from matches: Bradley-Terry with a bootstrap, Elo, and mean scores.

Sources: Bradley & Terry (1952); Ford (1957) for when the maximum exists; RocketEval (003), section 4, for the
scale: 400 / log(10), mean 1000, a tie is half a win for each side.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from judging.agreement.bradley_terry import log_strengths, strongly_connected
from judging.agreement.consensus import preference_from_scores
from judging.agreement.intervals import check_confidence, percentile_limits
from judging.agreement.means import mean_figure
from judging.agreement.resampling import FloatArray, IntArray
from judging.agreement.result import Figure

SCALE = 400.0 / np.log(10.0)
ANCHOR = 1000.0
OUTCOMES = {"win": 0, "tie": 1, "loss": 2}


class Match(NamedTuple):
    """outcome: "win" (of the first system), "tie" or "loss"."""

    first: Hashable
    second: Hashable
    outcome: str


class Tournament(NamedTuple):
    """All matches, counted.

    systems   sorted
    first, second  (pairs,) places of the two systems of each pair that met, first < second
    outcomes  (pairs, 3) wins of the first, ties, wins of the second
    """

    systems: list[Hashable]
    first: IntArray
    second: IntArray
    outcomes: IntArray

    @classmethod
    def of(cls, matches: Iterable[Match]) -> "Tournament":
        """Count matches. Raises ValueError for a match of a system with itself or an unknown outcome."""
        counts: dict[tuple[Hashable, Hashable], list[int]] = {}
        for first, second, outcome in matches:
            if first == second:
                raise ValueError(f"The system {first} cannot play against itself.")
            if outcome not in OUTCOMES:
                raise ValueError(f"The outcome of a match is win, tie or loss, not {outcome!r}.")
            counts.setdefault((first, second), [0, 0, 0])[OUTCOMES[outcome]] += 1
        systems = sorted({name for pair in counts for name in pair}, key=lambda name: (str(name), repr(name)))
        place = {name: index for index, name in enumerate(systems)}
        table = np.zeros((len(systems), len(systems), 3), dtype=np.int64)
        for (one, other), row in counts.items():
            a, b = place[one], place[other]
            table[min(a, b), max(a, b)] += row if a < b else row[::-1]
        first_of, second_of = np.nonzero(table.sum(axis=2))
        return cls(systems, first_of, second_of, table[first_of, second_of])

    @classmethod
    def of_wins(cls, systems: Iterable[Hashable], wins: IntArray) -> "Tournament":
        """From a table (systems, systems) of how often the row beat the column."""
        names = list(systems)
        order = sorted(range(len(names)), key=lambda index: (str(names[index]), repr(names[index])))
        table = np.asarray(wins, dtype=np.int64)[np.ix_(order, order)]
        first, second = np.nonzero(np.triu(table + table.T, 1))
        outcomes = np.column_stack([table[first, second], np.zeros_like(first), table[second, first]])
        return cls([names[index] for index in order], first, second, outcomes)

    def wins(self, outcomes: FloatArray | IntArray) -> FloatArray:
        """(..., systems, systems) wins of row over column, ties half each, from outcomes (..., pairs, 3)."""
        size = len(self.systems)
        table = np.zeros((*outcomes.shape[:-2], size, size))
        table[..., self.first, self.second] = outcomes[..., 0] + 0.5 * outcomes[..., 1]
        table[..., self.second, self.first] = outcomes[..., 2] + 0.5 * outcomes[..., 1]
        return table


def matches_from_scores(scores: Mapping[Hashable, Mapping[Hashable, float]], margin: float = 0.1) -> Iterable[Match]:
    """Every two systems that have a score on an instruction play a match; a tie if they differ by less
    than margin.

    scores  instruction -> system -> score
    """
    for per_system in scores.values():
        ranked = sorted(per_system.items(), key=lambda item: str(item[0]))
        for place, (first, score) in enumerate(ranked):
            for second, other in ranked[place + 1 :]:
                yield Match(first, second, preference_from_scores(score, other, margin))


def bradley_terry(
    tournament: Tournament, confidence: float = 0.95, seed: int = 42, replicates: int = 1000
) -> dict[Hashable, Figure]:
    """Maximum likelihood ratings on the Elo scale, mean 1000, with percentile intervals over matches.

    A finite maximum exists only among systems of which each has, directly or over others, beaten and been
    beaten by each other one. The largest such group is rated; a system outside of it is undefined and
    says why. Resamples in which the group falls apart are left out and counted in the warning.
    """
    check_confidence(confidence)
    everyone = tournament.wins(tournament.outcomes)
    group = _largest_group(everyone)
    played = (everyone + everyone.T).sum(axis=1)
    figures: dict[Hashable, Figure] = {}
    inside = np.isin(np.arange(len(everyone)), group)
    for place, name in enumerate(tournament.systems):
        if not inside[place] or len(group) < 2:
            reason = _why_separated(everyone, place, inside)
            figures[name] = Figure(name="Bradley-Terry", reason=reason, n_units=int(played[place]))
    if len(group) < 2:
        return figures
    kept = inside[tournament.first] & inside[tournament.second]
    renumbered = np.cumsum(inside) - 1
    part = Tournament(
        [tournament.systems[place] for place in group.tolist()],
        renumbered[tournament.first[kept]],
        renumbered[tournament.second[kept]],
        tournament.outcomes[kept],
    )
    ratings = _ratings(part.wins(part.outcomes)[None])[0]
    drawn = _resampled(part, seed, replicates)
    for place, name in enumerate(part.systems):
        figure = Figure(
            name="Bradley-Terry",
            value=float(ratings[place]),
            n_units=int(played[group[place]]),
            n_labels=int(part.outcomes.sum()),
        )
        figures[name] = percentile_limits(
            figure, drawn[:, place], confidence, seed, "percentile bootstrap over matches"
        )
    return {name: figures[name] for name in tournament.systems}


def elo(matches: Iterable[Match], k: float = 4.0, start: float = 1000.0, scale: float = 400.0) -> dict[Hashable, float]:
    """Elo ratings after the matches in the order given, which matters: later matches weigh more."""
    ratings: dict[Hashable, float] = {}
    for first, second, outcome in matches:
        if outcome not in OUTCOMES:
            raise ValueError(f"The outcome of a match is win, tie or loss, not {outcome!r}.")
        one, other = ratings.setdefault(first, start), ratings.setdefault(second, start)
        expected = 1.0 / (1.0 + 10.0 ** ((other - one) / scale))
        gain = k * (1.0 - OUTCOMES[outcome] / 2.0 - expected)
        ratings[first], ratings[second] = one + gain, other - gain
    return ratings


def system_means(
    scores: Mapping[Hashable, Mapping[Hashable, float]], confidence: float = 0.95
) -> dict[Hashable, Figure]:
    """The mean score of each system over instructions with a t interval.

    scores  instruction -> system -> score; an instruction without a score of a system is missing for it
    """
    check_confidence(confidence)
    columns: dict[Hashable, list[float]] = {}
    for per_system in scores.values():
        for system, score in per_system.items():
            columns.setdefault(system, []).append(score)
    return {
        system: mean_figure(
            Figure(
                name="mean score",
                value=0.0,
                n_units=len(column),
                n_labels=len(column),
                missing=len(scores) - len(column),
            ),
            np.sort(column),
            np.ones(len(column), dtype=np.int64),
            "jackknife",
            confidence,
            0,
            2,
            lowest=-np.inf,
        )
        for system, column in sorted(columns.items(), key=lambda item: str(item[0]))
    }


def _ratings(wins: FloatArray) -> FloatArray:
    ratings: FloatArray = ANCHOR + SCALE * log_strengths(wins)
    return ratings


def _resampled(part: Tournament, seed: int, replicates: int) -> FloatArray:
    """(replicates, systems): ratings of resampled matches; nan where they do not exist."""
    cells = part.outcomes.ravel()
    total = int(cells.sum())
    size = len(part.systems)
    generator = np.random.default_rng(seed)
    ratings = np.full((replicates, size), np.nan)
    # Tables of systems x systems held at once: 4 million numbers.
    at_once = max(1, 4_000_000 // max(size * size, cells.size))
    for start in range(0, replicates, at_once):
        number = min(at_once, replicates - start)
        drawn = generator.multinomial(total, cells / total, size=number)
        wins = part.wins(drawn.reshape(number, -1, 3))
        sound = strongly_connected(wins)
        ratings[start : start + number][sound] = _ratings(wins[sound])
    return ratings


def _largest_group(wins: FloatArray) -> IntArray:
    """Places of the largest group in which everyone is linked with everyone by wins both ways."""
    if not len(wins):
        return np.zeros(0, dtype=np.int64)
    _, labels = connected_components(wins > 0, directed=True, connection="strong")
    return np.flatnonzero(labels == np.argmax(np.bincount(labels)))


def _why_separated(wins: FloatArray, place: int, inside: NDArray[np.bool_]) -> str:
    won, lost = wins[place].sum(), wins[:, place].sum()
    if not lost:
        return "Undefined: this system never loses, so its rating has no upper limit."
    if not won:
        return "Undefined: this system never wins, so its rating has no lower limit."
    others = np.arange(len(wins)) != place
    if inside[others].any() and not (wins[place][inside].any() or wins[:, place][inside].any()):
        return "Undefined: nothing connects this system with the others."
    return "Undefined: this system's group never loses to the others, or never beats them."

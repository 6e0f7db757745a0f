"""Systems ranked from matches, or from scores that become matches: Bradley-Terry, Elo and means."""

import argparse
from collections.abc import Hashable, Set
from typing import Any

import numpy as np

from judging.agreement import Figure, Match, Tournament, bradley_terry, elo, matches_from_scores, system_means
from judging.measuring.kind import Column, Grid, Kind, Outcome
from judging.measuring.options import add_interval, add_scale, between, joined, plural, scale_of
from judging.measuring.problems import BadInput, quoted
from judging.measuring.reading import Sheet
from judging.measuring.table import Table

WINNERS = ("a", "b", "tie")
OUTCOMES = ("win", "loss", "tie")
Scores = dict[Hashable, dict[Hashable, float]]
MOST_SYSTEMS = 500


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--margin",
        type=between(0, 1e9, closed=True),
        default=0.1,
        metavar="M",
        help="scores that differ by less are a tie, default 0.1",
    )
    add_scale(parser, values=False)
    add_interval(parser, methods=False)


def measure(sheet: Sheet, options: argparse.Namespace) -> Outcome:
    if sheet.has("system_a"):
        scores: Scores = {}
        matches, empty = _matches(sheet)
        _check_number({name for one in matches for name in (one.first, one.second)})
    else:
        scores, empty = _scores(sheet, options)
        _check_number({name for per_system in scores.values() for name in per_system})
        matches = list(matches_from_scores(scores, options.margin))
    tournament = Tournament.of(matches)
    if len(tournament.systems) < 2:
        raise BadInput("There is no match: two systems with an outcome, or with scores on one item, are the least.")
    ratings = bradley_terry(tournament, options.confidence, options.seed, options.replicates)
    ladder = elo(matches)
    means = system_means(scores, options.confidence) if scores else {}
    order = sorted(ratings, key=lambda system: (_descending(ratings[system].value), str(system)))
    rated = [ratings[system] for system in order if ratings[system].value is not None]
    counts = dict(zip(tournament.systems, _counts(tournament), strict=True))
    main = Figure(
        name="Bradley-Terry",
        value=0.0 if rated else None,
        reason=None if rated else "Undefined: no two systems are linked by wins in both directions.",
        method=rated[0].method if rated else None,
        level=rated[0].level if rated else None,
        seed=options.seed if rated else None,
        n_units=len(matches),
        n_labels=len(matches),
        missing=empty,
    )
    return Outcome(
        values={
            "ranking": [
                _line(system, ratings[system], ladder[system], means.get(system), counts[system]) for system in order
            ]
        },
        main="ranking",
        figure=main,
        figures=[(str(system), ratings[system]) for system in order],
        grids=[_grid(order, ladder, means, counts)],
        notes=joined(f"{plural(empty, 'row has', 'rows have')} no outcome." if empty else None),
    )


def _check_number(systems: Set[Hashable]) -> None:
    if len(systems) > MOST_SYSTEMS:
        raise BadInput(f"There are {len(systems):,} systems, and a ranking takes at most {MOST_SYSTEMS:,}.")


def _matches(sheet: Sheet) -> tuple[list[Match], int]:
    """One match for each row with a winner, in the order of the file."""
    table = Table(sheet, ("system_a", "system_b", "winner"))
    first, second = table.names("system_a"), table.names("system_b")
    winner = table.words("winner", WINNERS)
    matches = []
    for row, (one, other, place) in enumerate(zip(first.of_rows(), second.of_rows(), winner.tolist(), strict=True)):
        if one == other:
            raise table.refusal(row, f"the system {quoted(one)} cannot play against itself.")
        if place >= 0:
            matches.append(Match(one, other, OUTCOMES[place]))
    return matches, len(table) - len(matches)


def _scores(sheet: Sheet, options: argparse.Namespace) -> tuple[Scores, int]:
    """Item -> system -> score, items and systems in the order of their names."""
    table = Table(sheet, ("item", "system", "score"))
    items, systems = table.names("item"), table.names("system")
    score = table.numbers("score", scale_of(options).limits)
    table.once("the score of", items, systems)
    scores: Scores = {}
    for row in np.lexsort((systems.codes, items.codes)).tolist():
        if not np.isnan(score[row]):
            per_system = scores.setdefault(items.texts[items.codes[row]], {})
            per_system[systems.texts[systems.codes[row]]] = float(score[row])
    return scores, int(np.isnan(score).sum())


def _descending(value: float | None) -> float:
    return np.inf if value is None else -value


def _counts(tournament: Tournament) -> list[tuple[int, int, int]]:
    """Wins, ties and losses of every system."""
    table = np.zeros((len(tournament.systems), 3), dtype=np.int64)
    np.add.at(table, tournament.first, tournament.outcomes)
    np.add.at(table, tournament.second, tournament.outcomes[:, ::-1])
    return [(wins, ties, losses) for wins, ties, losses in table.tolist()]


def _line(
    system: Hashable, rating: Figure, ladder: float, mean: Figure | None, counts: tuple[int, int, int]
) -> dict[str, Any]:
    line = {
        "system": system,
        "rating": rating.value,
        "ci": None if rating.low is None else [rating.low, rating.high],
        "elo": ladder,
        **dict(zip(("wins", "ties", "losses"), counts, strict=True)),
        "reason": rating.reason,
    }
    return line if mean is None else {**line, "mean_score": mean.value}


def _grid(
    order: list[Hashable],
    ladder: dict[Hashable, float],
    means: dict[Hashable, Figure],
    counts: dict[Hashable, tuple[int, int, int]],
) -> Grid:
    rows = []
    for system in order:
        mean = means.get(system)
        scored = [] if mean is None or mean.value is None else [f"{mean.value:.4f}"]
        rows.append((str(system), *map(str, counts[system]), f"{ladder[system]:.1f}", *scored))
    header = ("system", "wins", "ties", "losses", "Elo", *(["mean score"] if means else []))
    return Grid("Matches, and Elo in the order of the file (K = 4)", header, rows)


KIND = Kind(
    name="ranking",
    title="A ranking of systems: Bradley-Terry with intervals, Elo, and mean scores",
    columns=[
        Column("system_a, system_b", "the two systems of a match; each row is one match"),
        Column("winner", "a, b or tie; empty where nobody decided"),
        Column("item, system, score", "instead of matches: every two systems with scores on an item play one", False),
    ],
    add_options=add_options,
    measure=measure,
)

"""Preference label distance, and the accuracy of a judge on pairs.

Source: TICK (002), section 3. On loss = -1, tie = 0, win = 1 the distance of two preferences is 0 (the
same), 1 (a tie on one side only) or 2 (inverted). PLD-d is the share of pairs at distance d and WPLD the
mean distance, so WPLD = PLD-1 + 2 PLD-2, from 0 to 2; lower is better.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from judging.agreement.confusion import CrossTable
from judging.agreement.consensus import PREFERENCES
from judging.agreement.intervals import Method
from judging.agreement.means import mean_figure
from judging.agreement.missing import MissingPolicy, check_policy, policy_note
from judging.agreement.patterns import Histogram
from judging.agreement.resampling import FloatArray, IntArray
from judging.agreement.result import Figure

NAMES = ("PLD-0", "PLD-1", "PLD-2", "WPLD")
TIE = PREFERENCES.index("tie")


class PreferenceDistance(NamedTuple):
    """Shares of the three distances, and the mean distance, each with its interval."""

    pld0: Figure
    pld1: Figure
    pld2: Figure
    wpld: Figure


def pld(
    table: CrossTable,
    missing: MissingPolicy = "exclude",
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> PreferenceDistance:
    """PLD of two raters from their cross table over ("loss", "tie", "win").

    A missing preference of the second rater is left out, or taken for a tie ("half"), or put as far from the
    first rater's as it can be ("no"). Raises ValueError for another domain or policy.
    """
    _check_domain(table.domain)
    cells, concerned = _filled(table, missing)
    rows = np.arange(3)
    distances = np.abs(rows[:, None] - rows[None, :])
    shares = np.stack([cells[distances == gap].sum() for gap in (0, 1, 2)])
    occupied = shares > 0
    template = Figure(
        name="PLD",
        value=0.0,
        n_units=int(shares.sum()),
        n_labels=2 * int(shares.sum()),
        missing=concerned,
        warning=policy_note(missing, concerned),
    )
    return _figures(template, np.eye(3)[occupied], shares[occupied], method, confidence, seed, replicates)


def pld_between_people(
    histogram: Histogram,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> PreferenceDistance:
    """PLD over all pairs of raters within each unit; the interval resamples units, not pairs.

    The domain is ("loss", "tie", "win"); a unit with m raters has m (m - 1) / 2 pairs.
    """
    _check_domain(histogram.domain)
    counts, units, _ = histogram.pairable()
    losses, ties, wins = counts.astype(np.float64).T
    same = (counts * (counts - 1) / 2.0).sum(axis=1)
    pairs = np.column_stack([same, ties * (losses + wins), losses * wins])
    template = histogram.figure("PLD", 0.0)
    return _figures(template, pairs, units, method, confidence, seed, replicates)


def accuracy(
    table: CrossTable,
    missing: MissingPolicy = "exclude",
    tie_credit: float = 0.5,
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> Figure:
    """The share of units on which the second rater says what the first (the truth) says, in [0, 1].

    A tie of the second rater where the truth is no tie earns ``tie_credit``: 0.5 where the truth has no
    ties, 0 where a tie is a label like any other. Values other than "tie" earn 1 or 0. A missing answer
    is left out, or wrong ("no"), or counts as a tie ("half"; where the domain has no tie it earns 0.5).
    """
    check_policy(missing)
    if not 0.0 <= tie_credit <= 1.0:
        raise ValueError(f"The credit for a tie lies between 0 and 1, not at {tie_credit}.")
    width = len(table.domain)
    credit = np.eye(width)
    lost = np.full(width, 0.5 if missing == "half" else 0.0)
    if "tie" in table.domain:
        tie = table.domain.index("tie")
        credit[:, tie] = tie_credit
        credit[tie, tie] = 1.0
        if missing == "half":
            lost = credit[:, tie]
    concerned = int(table.missing.sum())
    absent = np.zeros_like(table.missing) if missing == "exclude" else table.missing
    units = np.concatenate([table.cells.ravel(), absent])
    earned = np.concatenate([credit.ravel(), lost])[units > 0]
    figure = Figure(
        name="accuracy",
        value=0.0,
        n_units=int(units.sum()),
        n_labels=table.n_units * 2,
        missing=concerned,
        warning=policy_note(missing, concerned),
    )
    return mean_figure(figure, earned, units[units > 0], method, confidence, seed, replicates, highest=1.0)


def _check_domain(domain: tuple[object, ...]) -> None:
    if domain != PREFERENCES:
        raise ValueError(f"Preferences are {', '.join(PREFERENCES)} in this order, not {domain}.")


def _filled(table: CrossTable, missing: MissingPolicy) -> tuple[IntArray, int]:
    check_policy(missing)
    cells = table.cells.copy()
    if missing == "half":
        cells[:, TIE] += table.missing
    elif missing == "no":
        loss, tie, win = table.missing.tolist()
        cells[0, 2] += loss
        cells[TIE, 0] += tie
        cells[2, 0] += win
    return cells, int(table.missing.sum())


def _figures(
    template: Figure,
    pairs: FloatArray,
    units: IntArray,
    method: Method,
    confidence: float,
    seed: int,
    replicates: int,
) -> PreferenceDistance:
    """pairs (P, 3): how many pairs one unit of each pattern has at each distance."""
    number = pairs.sum(axis=1)
    columns = [pairs[:, 0], pairs[:, 1], pairs[:, 2], pairs[:, 1] + 2.0 * pairs[:, 2]]
    return PreferenceDistance(
        *(
            mean_figure(
                replace(template, name=name),
                values,
                units,
                method,
                confidence,
                seed,
                replicates,
                highest=2.0 if name == "WPLD" else 1.0,
                per=number,
            )
            for name, values in zip(NAMES, columns, strict=True)
        )
    )

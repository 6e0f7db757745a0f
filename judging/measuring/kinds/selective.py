"""Selective checklists: what it brings to use the checklist only where the judge without one wavers."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from judging.agreement import (
    Figure,
    Histogram,
    Point,
    Value,
    alpha,
    round_half_up,
    rounded_mean,
    score_inconsistency,
    selective_curve,
    vote_credit,
    vote_inconsistency,
)
from judging.agreement.labels import shown
from judging.agreement.selective import DIRECT_THRESHOLDS, PAIRWISE_THRESHOLDS, MeasureOf, mean_of
from judging.measuring.kind import Column, Grid, Kind, Outcome
from judging.measuring.options import add_interval, add_missing, add_scale, joined, plural, scale_of
from judging.measuring.problems import BadInput, named, quoted
from judging.measuring.reading import Sheet
from judging.measuring.table import FloatArray, IntArray, Table, Values

GOLD, PLAIN, CHECKLIST = SOURCES = ("gold", "plain", "checklist")
TIE = "tie"
CREDIT_WITHOUT_VOTES = {"no": 0.0, "half": 0.5}


class Cases(NamedTuple):
    """Units in the order of their names.

    doubt                    how far the judge without checklist wavers
    without, with_checklist  the credit, or the final score, of either way to judge
    gold                     the gold score; empty for votes, whose credits know it already
    lost                     units that are left out
    """

    doubt: FloatArray
    without: FloatArray
    with_checklist: FloatArray
    gold: FloatArray
    lost: int


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judging",
        choices=("pairwise", "direct"),
        default="pairwise",
        help="pairwise: a value names the better response (default); direct: it is a score",
    )
    parser.add_argument(
        "--thresholds",
        metavar="K,K",
        help="inconsistencies from which on the checklist is used; default 5,4,3,2,1 votes or 0.3 to 0.7 for scores",
    )
    add_missing(parser, "pairwise, a unit without a readable vote of plain or of checklist: left out, wrong, or half")
    add_scale(parser)
    add_interval(parser, methods=False)


def measure(sheet: Sheet, options: argparse.Namespace) -> Outcome:
    direct = options.judging == "direct"
    thresholds = _thresholds(options.thresholds, DIRECT_THRESHOLDS if direct else PAIRWISE_THRESHOLDS)
    if direct and options.missing != "exclude":
        raise BadInput("--missing: a unit without scores can only be left out; choose exclude.")
    table = Table(sheet, ("unit", "source", "value"))
    sources = table.words("source", SOURCES)
    if (sources < 0).any():
        raise table.refusal(int(np.argmin(sources)), f"the cell source is empty; write {named(list(SOURCES))}.")
    values = table.values("value", scale_of(options), "numbers" if direct else "any")
    cases = _direct(table, sources, values) if direct else _pairwise(table, sources, values, options.missing)
    if not cases.doubt.size:
        raise BadInput("No unit has a gold value and values of both sources, plain and checklist.")
    curve = selective_curve(
        cases.doubt,
        cases.without,
        cases.with_checklist,
        thresholds,
        _alpha_with(cases.gold) if direct else mean_of,
        options.confidence,
        options.seed,
        options.replicates,
    )
    return _outcome(curve, cases, "alpha (ordinal)" if direct else "accuracy", options)


def _outcome(curve: list[Point], cases: Cases, what: str, options: argparse.Namespace) -> Outcome:
    none, everywhere = curve[0], curve[-1]
    gain = everywhere.against_none
    figures: list[tuple[str, Figure]] = [("gain", gain)]
    for point in curve[1:-1]:
        figures.append((f"k={point.threshold:g} minus none", point.against_none))
        figures.append((f"k={point.threshold:g} minus all", point.against_all))
    rows = [(_used(point, none), f"{point.applied:.1%}", _number(point.figure)) for point in curve]
    return Outcome(
        values={
            "measure": what,
            "none": none.figure.value,
            "all": everywhere.figure.value,
            "gain": gain.value,
            "curve": [_line(point) for point in curve[1:-1]],
            "judging": options.judging,
            "missing_policy": options.missing,
        },
        main="gain",
        figure=_counted(gain, cases.lost),
        figures=[(name, _counted(figure, cases.lost)) for name, figure in figures],
        grids=[Grid("The curve", ("checklist used", "share of units", what), rows)],
        notes=joined(
            "gain is the checklist on all units minus the checklist on none.",
            f"{plural(cases.lost, 'unit was', 'units were')} left out for want of a gold value or of readable values."
            if cases.lost
            else None,
        ),
    )


def _pairwise(table: Table, sources: IntArray, values: Values, missing: str) -> Cases:
    """Votes for one of two responses. A tie is a vote for neither, and is not counted."""
    responses = [shown(value) for value in values.domain if value != TIE]
    if len(responses) != 2:
        raise BadInput(f"Pairwise values name one of two responses, or tie; here they are {named(responses)}.")
    voted = Values(values.domain, np.where(_is_tie(values), -1, values.places))
    rows: list[tuple[float, float, float]] = []
    units = _by_unit(table, sources, voted, single_gold=True)
    for gold, *sides in units:
        if not gold or (missing == "exclude" and not all(sides)):
            continue
        credits = [vote_credit(votes, gold[0]) if votes else CREDIT_WITHOUT_VOTES[missing] for votes in sides]
        rows.append((float(vote_inconsistency(sides[0])), credits[0], credits[1]))
    doubt, without, checked = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return Cases(doubt, without, checked, np.zeros(0), len(units) - len(rows))


def _direct(table: Table, sources: IntArray, values: Values) -> Cases:
    """Scores. The final score of a source is the mean of its scores on the unit, rounded half up."""
    rows = [
        (score_inconsistency(plain), rounded_mean(plain), rounded_mean(checked), rounded_mean(gold))
        for gold, plain, checked in (
            [[float(value) for value in side] for side in sides]
            for sides in _by_unit(table, sources, values, single_gold=False)
        )
        if gold and plain and checked
    ]
    doubt, without, checked, gold = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    total = len(table.names("unit").texts)
    return Cases(doubt, without, checked, gold, total - len(rows))


def _is_tie(values: Values) -> IntArray:
    ties = np.array([value == TIE for value in values.domain] + [False])
    return ties[values.places]


def _by_unit(table: Table, sources: IntArray, values: Values, *, single_gold: bool) -> list[list[list[Value]]]:
    """For every unit, by name, the values of gold, plain and checklist. Raises BadInput for a second gold value."""
    units = table.names("unit")
    found: list[list[list[Value]]] = [[[], [], []] for _ in units.texts]
    # Rows without a value have been read for the sake of their units.
    for row in np.flatnonzero(values.places >= 0).tolist():
        side = found[units.codes[row]][sources[row]]
        if single_gold and side and sources[row] == 0:
            name = quoted(units.texts[units.codes[row]])
            raise table.refusal(row, f"the unit {name} has a gold value already; keep one of the two rows.")
        side.append(values.domain[values.places[row]])
    return found


def _alpha_with(gold: FloatArray) -> MeasureOf:
    """Ordinal alpha of final scores (n,) and the gold scores of their rows."""
    low, high = round_half_up(float(gold.min(initial=0))), round_half_up(float(gold.max(initial=0)))
    truth = gold.astype(np.int64)

    def measure(chosen: FloatArray, rows: IntArray) -> float:
        scores = chosen.astype(np.int64)
        least, most = min(low, int(scores.min())), max(high, int(scores.max()))
        width = most - least + 1
        cells = np.bincount((truth[rows] - least) * width + scores - least, minlength=width * width)
        histogram = Histogram([float(score) for score in range(least, most + 1)])
        for cell in np.flatnonzero(cells).tolist():
            histogram.add(np.bincount(divmod(cell, width), minlength=width).tolist(), int(cells[cell]))
        value = alpha(histogram, "ordinal").value
        return float("nan") if value is None else value

    return measure


def _thresholds(text: str | None, default: Sequence[float]) -> Sequence[float]:
    if text is None:
        return default
    try:
        thresholds = [float(part) for part in text.split(",")]
    except ValueError:
        thresholds = []
    if not thresholds or not all(0 < threshold < np.inf for threshold in thresholds):
        raise BadInput(f"--thresholds: {quoted(text)} is not a list of numbers above 0 with commas between them.")
    return thresholds


def _line(point: Point) -> dict[str, Any]:
    return {
        "threshold": point.threshold,
        "applied": point.applied,
        "value": point.figure.value,
        **{
            name: {"value": figure.value, "ci": None if figure.low is None else [figure.low, figure.high]}
            for name, figure in (("against_none", point.against_none), ("against_all", point.against_all))
        },
    }


def _used(point: Point, none: Point) -> str:
    if point is none:
        return "never"
    return f"from {point.threshold:g} on" if point.threshold else "always"


def _number(figure: Figure) -> str:
    return "undefined" if figure.value is None else f"{figure.value:.4f}"


def _counted(figure: Figure, lost: int) -> Figure:
    return replace(figure, missing=lost)


KIND = Kind(
    name="selective",
    title="Selective checklists: accuracy when the checklist is used only where the judge wavers",
    columns=[
        Column("unit", "the pair of responses, or the response"),
        Column("source", "gold, plain (the judge without a checklist) or checklist (with one); repeats are rows"),
        Column("value", "the better response, or tie; with --judging direct a score; empty where unreadable"),
    ],
    add_options=add_options,
    measure=measure,
)

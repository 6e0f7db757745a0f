"""Estimates beyond the units that people labelled: prediction-powered, and Rogan-Gladen for yes and no."""

import argparse
from dataclasses import replace

import numpy as np

from judging.agreement import prediction_powered_mean, rogan_gladen
from judging.measuring.kind import Column, Kind, Outcome
from judging.measuring.options import add_interval, add_scale, between, joined, plural, scale_of
from judging.measuring.reading import Sheet
from judging.measuring.table import FloatArray, Table

ANSWERS = ("no", "yes")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--weight",
        type=between(0, 1, closed=True),
        metavar="W",
        help="how far the judge is trusted (lambda), 0 to 1; default the one with the smallest variance",
    )
    add_scale(parser, values=False)
    add_interval(parser, methods=False, draws=False)


def measure(sheet: Sheet, options: argparse.Namespace) -> Outcome:
    table = Table(sheet, ("unit", "human", "judge"))
    table.once("the unit", table.names("unit"))
    answers = _are_answers(table)
    limits = scale_of(options).limits
    human, judge = (_scores(table, column, answers, limits) for column in ("human", "judge"))
    known = ~np.isnan(human) & ~np.isnan(judge)
    elsewhere = np.isnan(human) & ~np.isnan(judge)
    lost = int(np.isnan(judge).sum())
    # Sorted, so that the sums do not depend on the order of the file.
    order = np.lexsort((judge[known], human[known]))
    said, there = human[known][order], judge[known][order]
    found = prediction_powered_mean(said, there, np.sort(judge[elsewhere]), options.confidence, options.weight)
    figures = [("estimate", found.estimate), ("people_only", found.people_only), ("judge_only", found.judge_only)]
    if answers:
        corrected = rogan_gladen(
            judged_yes=int(judge[elsewhere].sum()),
            judged=int(elsewhere.sum()),
            yes_found=int(((said == 1) & (there == 1)).sum()),
            yes_known=int((said == 1).sum()),
            no_found=int(((said == 0) & (there == 0)).sum()),
            no_known=int((said == 0).sum()),
            confidence=options.confidence,
        )
        figures.append(("corrected", corrected))
    return Outcome(
        values={
            **{name: figure.value for name, figure in figures},
            "weight": found.weight,
            "n_labelled": int(known.sum()),
            "n_unlabelled": int(elsewhere.sum()),
        },
        main="estimate",
        figure=replace(
            found.estimate,
            n_units=int((known | elsewhere).sum()),
            n_labels=int(2 * known.sum() + elsewhere.sum()),
            missing=lost,
        ),
        figures=figures,
        notes=joined(
            f"{plural(lost, 'unit has', 'units have')} no value of the judge and {'was' if lost == 1 else 'were'} "
            "left out."
            if lost
            else None,
            None if found.weight is None else f"Weight of the judge (lambda): {found.weight:.4f}.",
        ),
    )


def _are_answers(table: Table) -> bool:
    """Whether the file speaks of yes and no; then every value must be one of them."""
    return any(table.holds(column, answer) for column in ("human", "judge") for answer in ANSWERS)


def _scores(table: Table, column: str, answers: bool, limits: tuple[float, float] | None) -> FloatArray:
    """(rows,): numbers, or 1 for yes and 0 for no; nan where the cell is empty."""
    if not answers:
        return table.numbers(column, limits)
    places = table.words(column, ANSWERS)
    return np.where(places < 0, np.nan, places)


KIND = Kind(
    name="ppi",
    title="The mean that people would give, from few labels of people and many of a judge",
    columns=[
        Column("unit", "what was labelled; each once"),
        Column("human", "people's value, a number or yes/no; empty where nobody labelled the unit"),
        Column("judge", "the judge's value, a number or yes/no; empty where it could not be read"),
    ],
    add_options=add_options,
    measure=measure,
    notes="Units that people labelled must be a random part of all units.",
)

"""Krippendorff's alpha, with what must stand beside it: percent agreement, AC1 or AC2, and prevalence."""

import argparse

import numpy as np

from judging.agreement import LEVELS, Histogram, ac1, ac2, alpha_with_interval, percent_agreement, prevalence
from judging.agreement.labels import shown
from judging.measuring.kind import Column, Grid, Kind, Outcome
from judging.measuring.labels import COLUMNS, Labels
from judging.measuring.options import add_interval, add_scale, interval_settings, joined, scale_of
from judging.measuring.problems import quoted
from judging.measuring.reading import Sheet
from judging.measuring.table import Need, Table

TENTATIVE, RELIABLE = 0.667, 0.8
UNDECLARED = "AC1 and AC2 count the values that occur as the whole scale; declare it with --scale or --values."
NEEDS: dict[str, Need] = {"nominal": "any", "ordinal": "order", "interval": "numbers", "ratio": "numbers"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--level",
        required=True,
        choices=LEVELS,
        help="how values differ: only by name, by order, by distance, or by ratio",
    )
    add_scale(parser)
    add_interval(parser)


def measure(sheet: Sheet, options: argparse.Namespace) -> Outcome:
    scale = scale_of(options)
    table = Table(sheet, COLUMNS)
    labels = Labels.in_table(table, scale, NEEDS[options.level])
    if options.level == "ratio":
        below = np.flatnonzero((labels.place >= 0) & (np.append(np.asarray(labels.domain, float), 0)[labels.place] < 0))
        if below.size:
            raise table.refusal(int(below[0]), "the ratio level has no values below zero.")
    labels.check_raters()
    labels.check_variation()
    histogram = labels.histogram()
    settings = interval_settings(options)
    alpha = alpha_with_interval(histogram, options.level, **settings)
    percent = percent_agreement(histogram, **settings)
    figures = [("alpha", alpha), ("percent_agreement", percent)]
    if options.level == "nominal":
        figures.append(("ac1", ac1(histogram, **settings)))
    elif options.level == "ordinal":
        figures.append(("ac2", ac2(histogram, "ordinal", **settings)))
    values = {name: figure.value for name, figure in figures}
    shares = {shown(value): share for value, share in prevalence(histogram).items()}
    reached = [limit for limit in (TENTATIVE, RELIABLE) if alpha.low is not None and alpha.low >= limit]
    return Outcome(
        values={
            **values,
            "level": options.level,
            "prevalence": shares,
            "lower_limit_reaches": reached[-1] if reached else None,
        },
        main="alpha",
        figure=alpha,
        figures=figures,
        grids=[prevalence_grid(histogram)],
        notes=joined(_verdict(alpha.low), None if scale.declared or len(figures) < 3 else UNDECLARED),
    )


def prevalence_grid(histogram: Histogram) -> Grid:
    """The share of each value among all labels, the first twelve values."""
    rows = [(quoted(shown(value)), f"{share:.1%}") for value, share in prevalence(histogram).items()]
    title = "Share of each value" if len(rows) <= 12 else f"Share of the first 12 of {len(rows):,} values"
    return Grid(title, ("value", "share"), rows[:12])


def _verdict(low: float | None) -> str | None:
    if low is None:
        return None
    if low >= RELIABLE:
        return f"The lower limit of alpha reaches {RELIABLE}: reliable by the usual thresholds."
    if low >= TENTATIVE:
        return f"The lower limit of alpha reaches {TENTATIVE} but not {RELIABLE}: for tentative conclusions only."
    return f"The lower limit of alpha is below {TENTATIVE}: too low even for tentative conclusions."


KIND = Kind(
    name="alpha",
    title="Krippendorff's alpha of any number of raters",
    columns=[
        Column("unit", "what was labelled"),
        Column("rater", "who labelled it"),
        Column("value", "the label; empty where the rater gave none"),
    ],
    add_options=add_options,
    measure=measure,
)

"""Cohen's kappa of two raters; Fleiss' kappa of more, with Cohen's for every two of them."""

import argparse
from itertools import combinations

from judging.agreement import Figure, cohen, fleiss, percent_agreement
from judging.measuring.kind import Column, Kind, Outcome
from judging.measuring.kinds.alpha import prevalence_grid
from judging.measuring.labels import Labels
from judging.measuring.options import add_interval, add_scale, interval_settings, joined, scale_of
from judging.measuring.reading import Sheet

WEIGHTS = ("identity", "linear", "quadratic")
MOST_PAIRED = 30


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--weights",
        choices=WEIGHTS,
        default="identity",
        help="credit for near misses in Cohen's kappa, by position on the scale; default identity (none)",
    )
    add_scale(parser)
    add_interval(parser)


def measure(sheet: Sheet, options: argparse.Namespace) -> Outcome:
    labels = Labels.of(sheet, scale_of(options), "any" if options.weights == "identity" else "order")
    labels.check_raters()
    labels.check_variation()
    settings = interval_settings(options)
    histogram = labels.histogram()
    columns = [labels.column(rater) for rater in range(len(labels.raters))]
    pairs: list[tuple[str, str, Figure]] = []
    if len(columns) <= MOST_PAIRED:
        for first, second in combinations(range(len(columns)), 2):
            table = labels.cross_table(columns[first], columns[second])
            figure = cohen(table, options.weights, **settings)
            pairs.append((labels.raters[first], labels.raters[second], figure))
    two = len(columns) == 2
    kappa = pairs[0][2] if two else fleiss(histogram, **settings)
    percent = percent_agreement(histogram, **settings)
    figures = [("kappa", kappa), ("percent_agreement", percent)]
    if not two:
        figures += [(f"{first} and {second}", figure) for first, second, figure in pairs]
    return Outcome(
        values={
            "kappa": kappa.value,
            "coefficient": kappa.name,
            "percent_agreement": percent.value,
            "weights": options.weights,
            "pairs": [
                {
                    "raters": [first, second],
                    "kappa": figure.value,
                    "ci": None if figure.low is None else [figure.low, figure.high],
                    "n_units": figure.n_units,
                    "reason": figure.reason,
                }
                for first, second, figure in pairs
            ],
        },
        main="kappa",
        figure=kappa,
        figures=figures,
        grids=[prevalence_grid(histogram)],
        notes=joined(
            "Fleiss' kappa knows no weights; they apply to Cohen's kappa of every two raters."
            if options.weights != "identity" and not two
            else None,
            f"Kappa of every two raters is left out beyond {MOST_PAIRED} raters."
            if len(columns) > MOST_PAIRED
            else None,
        ),
    )


KIND = Kind(
    name="kappa",
    title="Kappa: Cohen's of two raters; Fleiss' of more, and Cohen's of every two",
    columns=[
        Column("unit", "what was labelled"),
        Column("rater", "who labelled it"),
        Column("value", "the label; empty where the rater gave none"),
    ],
    add_options=add_options,
    measure=measure,
)

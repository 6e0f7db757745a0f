"""Preference label distance of a judge from people, or among raters; and the accuracy beside it."""

import argparse

import numpy as np

from judging.agreement import PREFERENCES, Figure, PreferenceDistance, accuracy, pld, pld_between_people
from judging.measuring.kind import Column, Kind, Outcome
from judging.measuring.labels import Labels
from judging.measuring.options import add_interval, add_judge, add_missing, interval_settings, joined, plural
from judging.measuring.problems import BadInput
from judging.measuring.reading import Sheet
from judging.measuring.table import IntArray, Scale

NAMES = ("pld0", "pld1", "pld2", "wpld")
MAJORITY = "majority"
TIE = PREFERENCES.index("tie")


def add_options(parser: argparse.ArgumentParser) -> None:
    add_judge(parser, required=False)
    parser.add_argument(
        "--reference",
        metavar="RATER|majority",
        help="what the judge is compared with: one rater, or the majority of the people (default), which is a tie "
        "where no value has more than half of them",
    )
    add_missing(parser, "a preference that the judge did not give: left out (default), as wrong as can be, or a tie")
    add_interval(parser)


def measure(sheet: Sheet, options: argparse.Namespace) -> Outcome:
    labels = Labels.of(sheet, Scale(values=PREFERENCES))
    if options.judge is None:
        return _among_raters(labels, options)
    judge = labels.rater_named(options.judge, "--judge")
    if len(labels.raters) < 2:
        raise BadInput(f"All labels are by the judge {options.judge}: there are no people to compare with.")
    reference = _reference(labels, judge, options.reference or MAJORITY)
    said = labels.column(judge)
    table = labels.cross_table(reference, said)
    settings = interval_settings(options)
    distance = pld(table, options.missing, **settings)
    agreeing = accuracy(table, options.missing, 0.0, **settings)
    lost = int(((reference < 0) & (said >= 0)).sum())
    note = f"{plural(lost, 'unit has', 'units have')} no label of the reference and {_was(lost)} left out."
    return _outcome(
        distance,
        {"judge": options.judge, "reference": options.reference or MAJORITY, "missing_policy": options.missing},
        [("accuracy", agreeing)],
        note if lost else None,
    )


def _among_raters(labels: Labels, options: argparse.Namespace) -> Outcome:
    if options.reference is not None:
        raise BadInput("--reference: name the rater to compare with it as --judge.")
    if options.missing != "exclude":
        raise BadInput("--missing: without --judge a missing preference can only be left out.")
    labels.check_raters()
    distance = pld_between_people(labels.histogram(), **interval_settings(options))
    return _outcome(distance, {"judge": None, "reference": None, "missing_policy": "exclude"}, [], None)


def _outcome(
    distance: PreferenceDistance, settings: dict[str, str | None], more: list[tuple[str, Figure]], note: str | None
) -> Outcome:
    figures = [*zip(NAMES, distance, strict=True), *more]
    return Outcome(
        values={**{name: figure.value for name, figure in figures}, **settings},
        main="wpld",
        figure=distance.wpld,
        figures=figures,
        notes=joined(note),
    )


def _reference(labels: Labels, judge: int, name: str) -> IntArray:
    """(units,): places of the reference's preferences, -1 where it has none."""
    if name != MAJORITY:
        rater = labels.rater_named(name, "--reference")
        if rater == judge:
            raise BadInput("--reference: the judge cannot be compared with himself.")
        return labels.column(rater)
    if MAJORITY in labels.raters:
        raise BadInput(f"A rater is called {MAJORITY}, which means the majority of the people; rename the rater.")
    chosen = (labels.place >= 0) & (labels.rater != judge)
    width = len(PREFERENCES)
    counts = np.bincount(labels.unit[chosen] * width + labels.place[chosen], minlength=len(labels.units) * width)
    counts = counts.reshape(-1, width)
    total = counts.sum(axis=1)
    most = np.where(2 * counts.max(axis=1) > total, counts.argmax(axis=1), TIE)
    return np.where(total > 0, most, -1)


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


KIND = Kind(
    name="pld",
    title="Preference label distance (PLD-0, PLD-1, PLD-2, WPLD) of a judge, or among raters",
    columns=[
        Column("unit", "the pair of responses that was compared"),
        Column("rater", "who compared them"),
        Column("value", "win, tie or loss of the first response; empty where the rater gave none"),
    ],
    add_options=add_options,
    measure=measure,
    notes="Without --judge every two raters are compared within each unit.",
)

"""The alternative annotator test: may a judge stand in for people?"""

import argparse

import numpy as np

from judging.agreement import alternative_annotator_test
from judging.measuring.kind import Column, Grid, Kind, Outcome
from judging.measuring.labels import Labels
from judging.measuring.options import add_interval, add_judge, add_scale, finite, interval_settings, joined, scale_of
from judging.measuring.problems import BadInput, quoted
from judging.measuring.reading import Sheet


def add_options(parser: argparse.ArgumentParser) -> None:
    add_judge(parser, required=True)
    parser.add_argument(
        "--epsilon",
        type=finite,
        default=0.2,
        metavar="E",
        help="how much worse than a person the judge may be: 0.2 for experts (default), 0.15 skilled, 0.1 crowd",
    )
    parser.add_argument(
        "--level",
        choices=("nominal", "interval"),
        default="nominal",
        help="agreement with the others: share of equal labels (default), or negative root mean squared difference",
    )
    add_scale(parser)
    add_interval(parser)


def measure(sheet: Sheet, options: argparse.Namespace) -> Outcome:
    if not 0.0 <= options.epsilon < 1.0:
        raise BadInput(f"--epsilon: {options.epsilon:g} is not between 0 and 1.")
    labels = Labels.of(sheet, scale_of(options), "numbers" if options.level == "interval" else "any")
    judge = labels.rater_named(options.judge, "--judge")
    people = np.unique(labels.rater[(labels.place >= 0) & (labels.rater != judge)])
    if people.size < 2:
        who = quoted(labels.raters[int(people[0])]) if people.size else "nobody"
        raise BadInput(f"Beside the judge only {who} has labels: a person is compared with other people.")
    labels.check_variation()
    test = alternative_annotator_test(labels.panel(judge), options.epsilon, options.level, **interval_settings(options))
    rows = [
        (
            quoted(str(one.person)),
            str(one.n_units),
            f"{one.advantage:.4f}",
            f"{one.person_advantage:.4f}",
            f"{one.p_value:.4g}",
            f"{one.p_adjusted:.4g}",
            "yes" if one.won else "no",
        )
        for one in test.people
    ]
    header = ("person", "units", "judge as good", "person as good", "p", "p adjusted", "judge wins")
    verdict = None
    if test.passed is not None:
        verdict = (
            "Passed: the judge wins against at least half of the people."
            if test.passed
            else ("Not passed: the judge wins against fewer than half of the people.")
        )
    return Outcome(
        values={
            "winning_rate": test.winning_rate.value,
            "advantage": test.advantage.value,
            "passed": test.passed,
            "judge": options.judge,
            "epsilon": options.epsilon,
            "level": options.level,
            "people": [one._asdict() for one in test.people],
        },
        main="advantage",
        figure=test.advantage,
        figures=[("winning_rate", test.winning_rate), ("advantage", test.advantage)],
        grids=[Grid("Person by person (Benjamini-Yekutieli at 0.05)", header, rows)] if rows else [],
        notes=joined(verdict),
    )


KIND = Kind(
    name="alttest",
    title="The alternative annotator test: may a judge stand in for people?",
    columns=[
        Column("unit", "what was labelled"),
        Column("rater", "who labelled it, the judge among them"),
        Column("value", "the label; empty where the rater gave none"),
    ],
    add_options=add_options,
    measure=measure,
)

"""Correlation of two columns of scores, pooled, per instruction and per system."""

import argparse
from collections.abc import Sequence

from judging.agreement import COEFFICIENTS, Coefficient, Figure, per_instruction, pooled, system_level
from judging.measuring.kind import Column, Kind, Outcome
from judging.measuring.options import add_interval, add_scale, scale_of
from judging.measuring.reading import Sheet
from judging.measuring.table import Table

NO_SYSTEMS = "Undefined: no unit occurs in two groups, so there are no systems; add a column system."


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--coefficient",
        choices=COEFFICIENTS,
        help="only this one of pearson, spearman and kendall (tau-b); default all three",
    )
    add_scale(parser, values=False)
    add_interval(parser, methods=False)


def measure(sheet: Sheet, options: argparse.Namespace) -> Outcome:
    named = sheet.has("system")
    table = Table(sheet, ["group", "unit", "x", "y", *(["system"] if named else [])])
    limits = scale_of(options).limits
    x, y = table.numbers("x", limits), table.numbers("y", limits)
    groups, units = table.names("group"), table.names("unit")
    table.once("the unit of", groups, units)
    systems = table.names("system") if named else units
    recurring = named or len(units.texts) < len(table)
    chosen: Sequence[Coefficient] = [options.coefficient] if options.coefficient else COEFFICIENTS
    several = len(groups.texts) > 1
    clusters = groups.of_rows() if several else None
    drawn = {"confidence": options.confidence, "seed": options.seed, "replicates": options.replicates}
    levels: dict[str, dict[str, Figure]] = {"pooled": {}, "per_instruction": {}, "system": {}}
    for coefficient in chosen:
        levels["pooled"][coefficient] = pooled(x, y, coefficient, clusters, **drawn)
        levels["per_instruction"][coefficient] = per_instruction(
            x, y, groups.of_rows(), coefficient, options.confidence
        )
        levels["system"][coefficient] = (
            system_level(x, y, systems.of_rows(), coefficient, clusters, **drawn)
            if recurring
            else Figure(name=f"{coefficient}, system", reason=NO_SYSTEMS)
        )
    main = "spearman" if "spearman" in chosen else chosen[0]
    figures = [(f"{level}.{name}", figure) for level, found in levels.items() for name, figure in found.items()]
    return Outcome(
        values={level: {name: figure.value for name, figure in found.items()} for level, found in levels.items()},
        main=f"pooled.{main}",
        figure=levels["pooled"][main],
        figures=figures,
        notes=[] if several else ["There is only one group: per instruction is the same as pooled."],
    )


KIND = Kind(
    name="correlation",
    title="Pearson, Spearman and Kendall tau-b at three levels",
    columns=[
        Column("group", "the instruction; rows of a group are resampled together"),
        Column("unit", "the response, or the system, within its group"),
        Column("x", "a number, for example people's mean score; empty where there is none"),
        Column("y", "a number, for example the judge's score; empty where there is none"),
        Column("system", "the system that wrote the response; without this column units are the systems", False),
    ],
    add_options=add_options,
    measure=measure,
)

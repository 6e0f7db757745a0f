"""What was measured, as one JSON object or as aligned tables."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from judging.agreement import Figure
from judging.measuring.kind import Grid, Kind, Outcome
from judging.measuring.problems import quoted

# A figure joins its warnings; several figures may share some of them.
SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z0-9])")
HEADER = ("figure", "value", "interval", "units", "labels", "missing")


def as_json(kind: Kind, outcome: Outcome, replicates: int | None = None) -> str:
    """One object: the numbers by name, then what belongs to the main figure, then every figure in full.

    replicates  of the bootstrap, if one was asked for
    """
    figure = outcome.figure
    found = {
        "kind": kind.name,
        **outcome.values,
        "ci_of": outcome.main,
        "ci": None if figure.low is None else [figure.low, figure.high],
        "confidence": figure.level,
        "method": figure.method,
        "seed": figure.seed,
        "replicates": None if figure.seed is None else replicates,
        "n_units": figure.n_units,
        "n_labels": figure.n_labels,
        "missing": figure.missing,
        "reason": figure.reason,
        "warnings": warnings(outcome),
        "figures": [{"key": name, **asdict(one)} for name, one in outcome.figures],
    }
    return json.dumps(found, ensure_ascii=False, allow_nan=False, indent=2)


def as_text(kind: Kind, outcome: Outcome, source: str) -> str:
    """Tables for people: figures with interval and counts, grids, and the sentences that belong to them."""
    rows = [_row(name, figure) for name, figure in outcome.figures]
    parts = [f"{kind.title}\n{source}", _table(HEADER, rows)]
    parts += [f"{grid.title}\n{_table(grid.header, _shown(grid))}" for grid in outcome.grids]
    parts.append("\n".join(_sentences(outcome)))
    return "\n\n".join(part for part in parts if part)


def warnings(outcome: Outcome) -> list[str]:
    """What the figures and the kind warn of, each sentence once."""
    said = [SENTENCE_END.split(one.warning) for _, one in outcome.figures if one.warning]
    return list(dict.fromkeys([*outcome.notes, *(sentence for warning in said for sentence in warning)]))


def _sentences(outcome: Outcome) -> Iterable[str]:
    methods: dict[str, None] = {}
    for _, figure in outcome.figures:
        if figure.method is not None and figure.level is not None:
            seed = "" if figure.seed is None else f", seed {figure.seed}"
            methods[f"Interval: {figure.level:.12g} confidence, {figure.method}{seed}."] = None
    yield from methods
    for name, figure in outcome.figures:
        if figure.reason is not None:
            yield f"{quoted(name)}: {figure.reason}"
    yield from warnings(outcome)


def _row(name: str, figure: Figure) -> tuple[str, ...]:
    value = "undefined" if figure.value is None else f"{figure.value:.4f}"
    limits = "" if figure.low is None or figure.high is None else f"{figure.low:.4f} to {figure.high:.4f}"
    return quoted(name), value, limits, f"{figure.n_units:,}", f"{figure.n_labels:,}", f"{figure.missing:,}"


def _shown(grid: Grid) -> list[Sequence[str]]:
    return [[quoted(cell) for cell in row] for row in grid.rows]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, the first to the left and the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )

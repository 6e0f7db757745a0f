"""What a kind of measurement is: the columns it reads, its options, and what it says."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from judging.agreement import Figure
from judging.measuring.reading import Sheet


class Column(NamedTuple):
    """A column of the file. ``meaning`` says what a cell holds, and whether it may be empty."""

    name: str
    meaning: str
    required: bool = True


class Grid(NamedTuple):
    """A plain table beside the figures: already written cells, the first column to the left."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Outcome:
    """What was measured.

    values   the numbers by their JSON names, None where undefined; lists and objects for more than numbers
    main     the JSON name of the figure that ``ci``, ``method``, ``n_units`` ... belong to
    figure   that figure
    figures  every figure with its JSON name, in the order of the printed table
    grids    printed below the figures
    notes    what a reader must know, beside the warnings of the figures
    """

    values: dict[str, Any]
    main: str
    figure: Figure
    figures: Sequence[tuple[str, Figure]]
    grids: Sequence[Grid] = ()
    notes: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True)
class Kind:
    """One kind of measurement; see ``kinds`` for all of them."""

    name: str
    title: str
    columns: Sequence[Column]
    add_options: Callable[[argparse.ArgumentParser], None]
    measure: Callable[[Sheet, argparse.Namespace], Outcome]
    notes: str = ""

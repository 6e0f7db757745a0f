"""Labels (unit, rater, value) of a file, and the shapes in which the agreement code takes them."""

from dataclasses import dataclass

import numpy as np

from judging.agreement import CrossTable, Histogram, Panel, Value
from judging.agreement.labels import shown
from judging.measuring.problems import BadInput, named, quoted
from judging.measuring.reading import Sheet
from judging.measuring.table import IntArray, Need, Scale, Table

COLUMNS = ("unit", "rater", "value")
# Cells of the table (units x values) that alpha is counted in: 400 MB.
MOST_CELLS = 50_000_000


@dataclass(frozen=True)
class Labels:
    """At most one label for each unit and rater.

    units, raters  names, sorted
    domain         all values that can occur, ascending
    table          (units, raters) places in the domain, -1 where there is no label
    empty          rows whose value is empty: somebody should have labelled, and did not
    """

    units: list[str]
    raters: list[str]
    domain: tuple[Value, ...]
    unit: IntArray
    rater: IntArray
    place: IntArray
    empty: int

    @classmethod
    def of(cls, sheet: Sheet, scale: Scale, need: Need = "any") -> "Labels":
        """Read them. Raises BadInput for every rule that the file breaks."""
        table = Table(sheet, COLUMNS)
        return cls.in_table(table, scale, need)

    @classmethod
    def in_table(cls, table: Table, scale: Scale, need: Need = "any") -> "Labels":
        """The labels of a table that was read already. Raises BadInput."""
        unit, rater = table.names("unit"), table.names("rater")
        values = table.values("value", scale, need)
        table.once("the label of", unit, rater)
        empty = int((values.places < 0).sum())
        return cls(unit.texts, rater.texts, values.domain, unit.codes, rater.codes, values.places, empty)

    def check_raters(self) -> None:
        """Raise BadInput if all labels are by one rater."""
        raters = np.unique(self.rater[self.place >= 0])
        if raters.size < 2:
            name = quoted(self.raters[int(raters[0])])
            raise BadInput(f"All labels are by one rater, {name}: agreement needs at least two.")

    def check_variation(self) -> None:
        """Raise BadInput if all labels have the same value."""
        used = np.unique(self.place[self.place >= 0])
        if used.size == 1:
            value = quoted(shown(self.domain[int(used[0])]))
            raise BadInput(f"Every label is {value}: without a second category agreement beyond chance is undefined.")

    def rater_named(self, name: str, option: str) -> int:
        """The place of a rater in ``raters``. Raises BadInput for a stranger."""
        if name not in self.raters:
            raise BadInput(f"{option}: there is no rater {quoted(name)}; the raters are {named(self.raters)}.")
        return self.raters.index(name)

    def histogram(self, without: int | None = None) -> Histogram:
        """Count patterns of all raters but one. Units without any label are in it, and count as missing."""
        width = len(self.domain)
        if len(self.units) * width > MOST_CELLS:
            raise BadInput(
                f"{width:,} different values on {len(self.units):,} units are more than fits into memory; "
                "round the values, or use --scale and whole numbers."
            )
        chosen = self.place >= 0
        if without is not None:
            chosen &= self.rater != without
        cells = self.unit[chosen] * width + self.place[chosen]
        counts = np.bincount(cells, minlength=len(self.units) * width).reshape(len(self.units), width)
        return Histogram.from_counts(counts, self.domain)

    def column(self, rater: int) -> IntArray:
        """(units,): the places of one rater's labels, -1 where there is none."""
        found = np.full(len(self.units), -1, dtype=np.int64)
        mine = self.rater == rater
        found[self.unit[mine]] = self.place[mine]
        return found

    def cross_table(self, first: IntArray, second: IntArray) -> CrossTable:
        """Two columns of places (units,) side by side; units without the first are left out."""
        width = len(self.domain)
        known = first >= 0
        both = known & (second >= 0)
        cells = np.bincount(first[both] * width + second[both], minlength=width * width).reshape(width, width)
        missing = np.bincount(first[known & (second < 0)], minlength=width)
        return CrossTable(self.domain, cells, missing)

    def panel(self, judge: int) -> Panel:
        """People and one judge side by side. The judge is never one of the people. Raises BadInput for too many."""
        people = [place for place in range(len(self.raters)) if place != judge]
        if len(self.units) * len(people) * len(self.domain) > MOST_CELLS:
            raise BadInput(
                f"{len(people):,} people on {len(self.units):,} units are more than fits into memory; take the labels "
                "of fewer people or units."
            )
        seat = np.full(len(self.raters), -1, dtype=np.int64)
        seat[people] = np.arange(len(people))
        places = np.full((len(self.units), len(people)), -1, dtype=np.int64)
        human = self.rater != judge
        places[self.unit[human], seat[self.rater[human]]] = self.place[human]
        return Panel(
            list(self.units), [self.raters[place] for place in people], self.domain, places, self.column(judge)
        )

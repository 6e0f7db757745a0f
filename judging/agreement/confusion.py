"""Two raters side by side: the cross table of their values, and what it says about each value.

Cohen's kappa, PLD and accuracy depend on the labels only through this table.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from judging.agreement.labels import Value, shown
from judging.agreement.patterns import checked_domain, listed, sorted_values
from judging.agreement.resampling import Combine, IntArray, Totals
from judging.agreement.result import Figure


class CrossTable:
    """How many units got value a from the first rater and value b from the second.

    cells    (values, values): rows are the first rater (people, gold), columns the second (judge, prediction)
    missing  units with a label of the first rater only, per value of the first rater, (values,)
    """

    def __init__(self, domain: Sequence[Value], cells: ArrayLike, missing: ArrayLike | None = None) -> None:
        self.domain = checked_domain(domain)
        width = len(self.domain)
        self.cells: IntArray = np.asarray(cells, dtype=np.int64)
        self.missing: IntArray = np.asarray([0] * width if missing is None else missing, dtype=np.int64)
        if self.cells.shape != (width, width) or self.missing.shape != (width,):
            raise ValueError(f"A cross table of {width} values has {width} rows and {width} columns.")
        if self.cells.min(initial=0) < 0 or self.missing.min(initial=0) < 0:
            raise ValueError("The cells of a cross table are counts of zero or more.")

    @classmethod
    def from_pairs(
        cls, pairs: Iterable[tuple[Value, Value | None]], domain: Sequence[Value] | None = None
    ) -> "CrossTable":
        """From one (first, second) per unit; None where the second rater gave nothing that can be read.

        Without a domain the sorted values that occur. Raises ValueError for a value outside the domain.
        """
        rows = list(pairs)
        if domain is None:
            domain = sorted_values(value for row in rows for value in row if value is not None)
        values = checked_domain(domain)
        place = {value: index for index, value in enumerate(values)}
        cells = np.zeros((len(values), len(values)), dtype=np.int64)
        missing = np.zeros(len(values), dtype=np.int64)
        for first, second in rows:
            for value in (first, second):
                if value is not None and value not in place:
                    raise ValueError(f"The value {shown(value)} is not one of {listed(values)}.")
            if second is None:
                missing[place[first]] += 1
            else:
                cells[place[first], place[second]] += 1
        return cls(values, cells, missing)

    @property
    def n_units(self) -> int:
        """Units that both raters labelled."""
        return int(self.cells.sum())

    def figure(self, name: str, value: float | None = None, reason: str | None = None) -> Figure:
        """A figure about these units, with their numbers filled in."""
        return Figure(
            name=name,
            value=value,
            reason=reason,
            n_units=self.n_units,
            n_labels=2 * self.n_units,
            missing=int(self.missing.sum()),
        )

    def statistic(self, combine: Combine) -> Totals:
        """A statistic of the cells: ``combine`` maps cells (B, values, values) to values (B,)."""
        width = len(self.domain)
        occupied = np.flatnonzero(self.cells)
        features = np.eye(width * width)[occupied]
        return Totals(features, self.cells.ravel()[occupied], lambda totals: combine(totals.reshape(-1, width, width)))


class ValueReport(NamedTuple):
    """How the second rater treats one value of the first; each share is None where it divides by nothing."""

    value: Value
    support: int
    precision: float | None
    recall: float | None
    f1: float | None


def value_reports(table: CrossTable) -> list[ValueReport]:
    """Precision, recall and F1 of the second rater (the prediction) for each value of the first (the
    truth).
    """
    reports = []
    for place, value in enumerate(table.domain):
        hits = int(table.cells[place, place])
        truly, said = int(table.cells[place].sum()), int(table.cells[:, place].sum())
        reports.append(
            ValueReport(
                value=value,
                support=truly,
                precision=hits / said if said else None,
                recall=hits / truly if truly else None,
                f1=2 * hits / (truly + said) if truly + said else None,
            )
        )
    return reports


def macro_f1(table: CrossTable) -> Figure:
    """The mean F1 over the values that either rater used, in [0, 1]."""
    scores = [report.f1 for report in value_reports(table) if report.f1 is not None]
    if not scores:
        return table.figure("macro F1", reason="Undefined: no unit has both labels.")
    return table.figure("macro F1", float(np.mean(scores)))

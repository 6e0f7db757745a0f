"""A judge beside people, and a judge and itself: how far they agree on the same units.

Only assembly: labels come from `judging.voices`, every figure from `judging.agreement`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from numpy.typing import ArrayLike

from judging.agreement import (
    Ceiling,
    CrossTable,
    Figure,
    Histogram,
    Measure,
    Method,
    MissingPolicy,
    Panel,
    Value,
    ac1,
    ac2,
    accuracy,
    alpha_with_interval,
    changed_with_order,
    cohen,
    fleiss,
    leave_one_out_ceiling,
    per_instruction,
    percent_agreement,
    pld,
    pld_between_people,
    plurality,
    pooled,
)
from judging.agreement.means import mean_figure
from judging.labels import PREFERENCE, Facet
from judging.voices import Crowd, Unit, Voice, consensus_of, mean_of, one_of, shared_domain

Written = Literal["coefficient", "share", "number"]

ROWS_DRAWN = 6_000_000  # rows that all resamples of one correlation may hold together
FEWEST_REPLICATES, MOST_REPLICATES = 200, 1000
INTERVAL: tuple[Method, float, int, int] = ("jackknife", 0.95, 42, 1000)  # as the engine's own figures have it
UNASKED = "pending"  # no answer yet, so nothing to hold against the judge


# -- a judge and people --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One measure: of the judge with the people, and where there is such a thing of the people among themselves.

    measure  its name in English, as exports have it
    """

    measure: str
    judge: Figure | None = None
    people: Figure | None = None
    written: Written = "coefficient"
    drawn: bool = False  # among the figures that tell most

    @property
    def title(self) -> str:
        """The measure in the language of the reader."""
        return gettext(self.measure)


class Cell(NamedTuple):
    """All units that are alike: what people said (sorted), and what the judge said or why nothing."""

    people: tuple[Value, ...]
    judge: Value | None
    gap: str


class MatrixRow(NamedTuple):
    """Units on which people say one value: how often the judge says each value, or nothing, and all together."""

    value: Value
    cells: list[tuple[Value, int]]
    missing: int
    total: int


@dataclass(frozen=True)
class Comparison:
    """One judge beside people on one facet.

    units   that the judge was to label
    table   people's consensus (rows) and the judge (columns); `missing` are units that the judge labelled in vain
    gaps    units that enter no comparison, by reason (a key of `live.GAPS`)
    people  labels of people on these units, whether or not the judge has labelled them yet
    alpha   of consensus and judge, and of people among themselves; one of the lines
    simulated  how many of the people's labels simulated annotators made
    """

    facet: Facet
    units: int
    table: CrossTable
    gaps: Counter[str]
    people: int
    alpha: Line
    lines: Sequence[Line]
    simulated: int = 0

    @property
    def compared(self) -> int:
        return self.table.n_units

    @property
    def matrix(self) -> list[MatrixRow]:
        """The confusion matrix by value of the people, in the order of the domain."""
        rows = zip(self.table.domain, self.table.cells.tolist(), self.table.missing.tolist(), strict=True)
        return [
            MatrixRow(value, list(zip(self.table.domain, counts, strict=True)), missing, sum(counts) + missing)
            for value, counts, missing in rows
        ]

    @property
    def column_totals(self) -> list[int]:
        """Below the matrix: units by value of the judge, those without one, and all."""
        missing = int(self.table.missing.sum())
        return [*self.table.cells.sum(axis=0).tolist(), missing, self.table.n_units + missing]


def compare(voice: Voice, crowd: Crowd) -> Comparison:
    """A judge beside the people, on the units that the judge was to label."""
    cells = _cells(voice, crowd)
    domain = shared_domain([voice], crowd)
    table, gaps = _cross_table(cells, voice.facet, domain)
    among = _among_people(cells, voice.facet, domain)
    lines = _equality(table, gaps, cells, voice.facet)
    if voice.facet == PREFERENCE:
        lines += _distances(table, gaps, among)
    alpha, *others = _beyond_chance(voice.facet, table, gaps, among)
    lines += [alpha, *others]
    labels = sum(len(cell.people) * units for cell, units in cells.items())
    told = (crowd.labels.simulated_on.get(unit, 0) for unit in voice.values.keys() | voice.gaps.keys())
    return Comparison(voice.facet, voice.units, table, gaps, labels, alpha, lines, sum(told))


def _cells(voice: Voice, crowd: Crowd) -> Counter[Cell]:
    nobody: list[Value] = []
    said = crowd.said
    alike: Counter[tuple[tuple[Value, ...], Value | None, str]] = Counter()
    for unit, value in voice.values.items():
        alike[tuple(said.get(unit, nobody)), value, ""] += 1
    for unit, gap in voice.gaps.items():
        alike[tuple(said.get(unit, nobody)), None, gap] += 1
    cells: Counter[Cell] = Counter()
    for (people, judge, gap), units in alike.items():
        cells[Cell(tuple(sorted(people)), judge, gap)] += units
    return cells


def _cross_table(cells: Mapping[Cell, int], facet: Facet, domain: Sequence[Value]) -> tuple[CrossTable, Counter[str]]:
    place = {value: number for number, value in enumerate(domain)}
    counts = np.zeros((len(domain), len(domain)), dtype=np.int64)
    missing = np.zeros(len(domain), dtype=np.int64)
    gaps: Counter[str] = Counter()
    for cell, units in cells.items():
        agreed = consensus_of(facet, cell.people)
        if cell.judge is not None and agreed is not None:
            counts[place[agreed], place[cell.judge]] += units
            continue
        gaps[cell.gap or ("people_tied" if cell.people else "people")] += units
        if agreed is not None and cell.gap != UNASKED:
            missing[place[agreed]] += units
    return CrossTable(domain, counts, missing), gaps


def _among_people(cells: Mapping[Cell, int], facet: Facet, domain: Sequence[Value]) -> Histogram:
    """The labels of people on the units of the judge, each on the domain of the consensus."""
    histogram = Histogram(domain)
    for cell, units in cells.items():
        given = Counter(one_of(facet, value) for value in cell.people)
        histogram.add([given[value] for value in domain], units)
    return histogram


def _equality(table: CrossTable, gaps: Counter[str], cells: Mapping[Cell, int], facet: Facet) -> list[Line]:
    """How often the judge says what the people say, by missing policy; and how often one of the people does."""
    out = gaps.total()
    left_out = replace(accuracy(_read(table), tie_credit=0.0), missing=out)
    lines = [Line(_("Equal to the consensus, missing left out"), left_out, None, "share", drawn=True)]
    policies: list[tuple[MissingPolicy, str]] = [("no", _("the same, missing counted as wrong"))]
    if facet == PREFERENCE:
        policies.insert(0, ("half", _("the same, missing counted as ties")))
    for policy, words in policies:
        figure = accuracy(table, policy, tie_credit=0.0)
        lines.append(Line(words, replace(figure, missing=out - int(table.missing.sum())), written="share"))
    if facet == PREFERENCE:
        credited = replace(accuracy(_read(table), tie_credit=0.5), missing=out)
        lines.append(Line(_("the same, a tie of the judge counted half"), credited, written="share"))
    if facet.kind != "score":
        lines.append(_ceiling(cells, facet))
    return lines


def _ceiling(cells: Mapping[Cell, int], facet: Facet) -> Line:
    """The human ceiling: every label of a person against most of the others on the unit, and the judge against the
    same. Units on which the others have no single most frequent value are left out."""
    tried: list[tuple[int, int, int, int]] = []  # people's hits, the judge's hits, how many were compared, units
    for cell, units in cells.items():
        if cell.judge is None:
            continue
        given = Counter(one_of(facet, value) for value in cell.people)
        hits = judge = compared = 0
        for value, number in given.items():
            top = plurality(list((given - Counter([value])).elements()))
            if top is not None:
                compared += number
                hits += number * (top == value)
                judge += number * (top == cell.judge)
        if compared:
            tried.append((hits, judge, compared, units))
    rows = np.array(sorted(tried), dtype=np.int64).reshape(-1, 4)
    compared_in, units_in = rows[:, 2].astype(np.float64), rows[:, 3]
    n = int(units_in.sum())
    template = Figure(
        name="accuracy against most of the others",
        value=0.0,
        n_units=n,
        n_labels=int(units_in @ rows[:, 2]),
        missing=sum(cells.values()) - n,
    )
    ours, theirs = (
        mean_figure(template, rows[:, side].astype(np.float64), units_in, *INTERVAL, highest=1.0, per=compared_in)
        for side in (1, 0)
    )
    return Line(_("Equal to most of the other people"), ours, theirs, "share", drawn=True)


def _distances(table: CrossTable, gaps: Counter[str], among: Histogram) -> list[Line]:
    """Preference label distance (paper 002, section 4)."""
    lines = []
    for ours, theirs in zip(pld(_read(table)), pld_between_people(among), strict=True):
        judge = replace(ours, missing=gaps.total())
        lines.append(Line(ours.name, judge, theirs, "number" if ours.name == "WPLD" else "share"))
    worst = pld(table, "no").wpld
    lost = gaps.total() - int(table.missing.sum())
    lines.append(Line(_("WPLD, missing counted as inverted"), replace(worst, missing=lost), written="number"))
    return lines


def _beyond_chance(facet: Facet, table: CrossTable, gaps: Counter[str], among: Histogram) -> list[Line]:
    """Coefficients that allow for chance, alpha first: of consensus and judge as two raters, and of the people."""
    both = two_raters(table, gaps.total())
    level = facet.level
    alphas = alpha_with_interval(both, level), alpha_with_interval(among, level)
    lines = [Line(_("Krippendorff’s α"), *alphas, drawn=True)]
    if facet.kind == "score":
        kappa = cohen(table, "quadratic")
        lines.append(Line(_("Cohen’s κ, quadratic weights"), replace(kappa, missing=gaps.total())))
        lines.append(Line(_("Gwet’s AC2, ordinal weights"), ac2(both), ac2(among)))
    else:
        kappa = replace(cohen(table), missing=gaps.total())
        lines.append(Line(_("κ (Cohen’s with the judge, Fleiss’ among people)"), kappa, fleiss(among)))
        lines.append(Line(_("Gwet’s AC1"), ac1(both), ac1(among)))
    lines.append(Line(_("Equal pairs of people"), None, percent_agreement(among), "share"))
    return lines


def _read(table: CrossTable) -> CrossTable:
    """The table without the units that the judge labelled in vain."""
    return CrossTable(table.domain, table.cells)


def two_raters(table: CrossTable, missing: int = 0) -> Histogram:
    """A cross table as count patterns of two raters, with units that lack a label of one of them."""
    histogram = Histogram(table.domain)
    width = len(table.domain)
    for first, second in np.argwhere(table.cells).tolist():
        pattern = [0] * width
        pattern[first] += 1
        pattern[second] += 1
        histogram.add(pattern, int(table.cells[first, second]))
    if missing:
        histogram.add((0,) * width, missing)
    return histogram


# -- scores as numbers ---------------------------------------------------------------------------------------------


def closeness(voice: Voice, crowd: Crowd, instructions: Mapping[Unit, Hashable]) -> list[Line]:
    """How near the judge's scores are to those of people, as numbers: means over repeats and over people, not rounded.

    instructions  what every unit belongs to; correlations are resampled and averaged over it
    """
    ours = {unit: mean_of(voice.said[unit]) for unit in voice.values}
    theirs = {unit: mean_of(said) for unit, said in crowd.said.items()}
    units = [unit for unit in ours if unit in theirs]
    judge = np.array([ours[unit] for unit in units], dtype=np.float64)
    people = np.array([theirs[unit] for unit in units], dtype=np.float64)
    left_out = voice.units - len(units)
    gap = judge - people
    means = _mean("mean of the judge", judge, left_out), _mean("mean of people", people, left_out)
    return [
        Line(_("Mean score"), *means, "number"),
        Line(_("Judge minus people, on average"), _mean("mean difference", gap, left_out), written="number"),
        Line(_("Mean absolute difference"), _mean("mean absolute difference", abs(gap), left_out), written="number"),
        *correlations(ours, theirs, instructions, left_out),
    ]


def correlations(
    ours: Mapping[Unit, float], theirs: Mapping[Unit, float], instructions: Mapping[Unit, Hashable], missing: int
) -> list[Line]:
    """Correlation of two numbers of the same units, over all units and within instructions."""
    units = [unit for unit in ours if unit in theirs]
    x, y = ([side[unit] for unit in units] for side in (ours, theirs))
    groups = [instructions.get(unit, unit) for unit in units]
    replicates = int(np.clip(ROWS_DRAWN // max(len(units), 1), FEWEST_REPLICATES, MOST_REPLICATES))
    spearman = pooled(x, y, "spearman", groups, replicates=replicates)
    pearson = pooled(x, y, "pearson", groups, replicates=replicates)
    return [
        Line(_("Spearman, pooled"), replace(spearman, n_units=len(units), missing=missing)),
        Line(_("Pearson, pooled"), replace(pearson, n_units=len(units), missing=missing)),
        Line(_("Spearman, mean per instruction"), per_instruction(x, y, groups)),
    ]


def _mean(name: str, values: ArrayLike, missing: int) -> Figure:
    found, units = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    template = Figure(name=name, value=0.0, n_units=int(units.sum()), n_labels=int(units.sum()), missing=missing)
    return mean_figure(template, found, units, *INTERVAL, lowest=-np.inf)


# -- person by person ----------------------------------------------------------------------------------------------


def ceilings(voice: Voice, crowd: Crowd) -> list[Ceiling]:
    """Each person against most of the others, beside the judge against the same others; of scores, the rank
    correlation with the mean of the others. People who share no unit with another one are undefined."""
    domain = shared_domain([voice], crowd)
    place = {value: number for number, value in enumerate(domain)}
    units = [unit for unit in voice.values if len(crowd.said.get(unit, ())) > 1]
    if not units:
        return []
    row = {unit: number for number, unit in enumerate(units)}
    judge = np.array([place[voice.values[unit]] for unit in units])
    seats = max(len(crowd.said[unit]) for unit in units)
    taken = [0] * len(units)
    raters: dict[Hashable, int] = {}
    where: list[tuple[int, int, int, int]] = []  # unit, seat, rater, place
    for unit, rater, value in crowd.labels.labels:
        number = row.get(unit)
        if number is not None:
            code = raters.setdefault(rater, len(raters))
            where.append((number, taken[number], code, place[one_of(voice.facet, value)]))
            taken[number] += 1
    filled = np.array(where)
    who, said = (np.full((len(units), seats), -1) for _side in range(2))
    who[filled[:, 0], filled[:, 1]], said[filled[:, 0], filled[:, 1]] = filled[:, 2], filled[:, 3]
    measure: Measure = "spearman" if voice.facet.kind == "score" else "accuracy"
    found = []
    for rater, code in raters.items():
        own = who == code
        kept = own.any(axis=1)
        others = np.where(own, -1, said)[kept]
        places = np.column_stack([said[own], others])
        # The person in the first column and the others as they sat, which is all that the ceiling needs to know.
        panel = Panel(list(range(len(places))), list(range(places.shape[1])), domain, places, judge[kept])
        found.append(leave_one_out_ceiling(panel, measure)[0]._replace(person=rater))
    return found


# -- a judge and itself --------------------------------------------------------------------------------------------


def consistency(voice: Voice) -> list[Line]:
    """How far the repeats of a judge agree with one another; of pairs, how often the order changes what it says."""
    lines = []
    if any(len(said) > 1 for said in voice.said.values()):
        repeats = histogram_of(voice.domain, Counter(map(tuple, voice.said.values())))
        if voice.units > len(voice.said):
            repeats.add([0] * len(voice.domain), voice.units - len(voice.said))
        alpha = alpha_with_interval(repeats, voice.facet.level)
        lines.append(Line(_("Krippendorff’s α, repeats as raters"), alpha, drawn=True))
        lines.append(Line(_("Units on which all repeats agree"), _unanimous(repeats), written="share"))
        lines.append(Line(_("Equal pairs of repeats"), percent_agreement(repeats), written="share"))
    if voice.orders:
        changed = changed_with_order(voice.orders.values())
        lines.append(Line(_("Pairs whose answer changes with the order"), changed, written="share"))
    return lines


def _unanimous(repeats: Histogram) -> Figure:
    counts, units, sizes = repeats.pairable()
    same = (counts.max(axis=1, initial=0) == sizes).astype(np.float64)
    return mean_figure(repeats.figure("all repeats agree", 0.0), same, units, *INTERVAL, highest=1.0)


def histogram_of(domain: Sequence[Value], said: Mapping[tuple[Value, ...], int]) -> Histogram:
    histogram = Histogram(domain)
    for values, units in said.items():
        given = Counter(values)
        histogram.add([given[value] for value in domain], units)
    return histogram

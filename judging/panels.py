"""Several judges beside each other on the same units: as raters, two by two, and as a panel that is one more judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from django.utils.translation import gettext_noop as _

from judging.agreement import (
    CrossTable,
    Figure,
    Value,
    ac1,
    ac2,
    alpha_with_interval,
    fleiss,
    percent_agreement,
    pld,
    pld_between_people,
    round_half_up,
)
from judging.comparison import Line, histogram_of, two_raters
from judging.labels import PREFERENCE, SCORE
from judging.voices import Unit, Voice, mean_of, shared_domain, verdict_of


class Pair(NamedTuple):
    """Two judges on the units that both labelled: how often they say the same, and how far their preferences lie
    apart (None for other facets)."""

    equal: Figure
    wpld: Figure | None


def among_judges(voices: Sequence[Voice]) -> list[Line]:
    """Judges as raters of all units that one of them was to label."""
    domain = shared_domain(voices)
    units: dict[Unit, list[Value]] = {unit: [] for voice in voices for unit in voice.gaps}
    for voice in voices:
        for unit, value in voice.values.items():
            units.setdefault(unit, []).append(value)
    raters = histogram_of(domain, Counter(map(tuple, units.values())))
    facet = voices[0].facet
    lines = [Line(_("Krippendorff’s α"), alpha_with_interval(raters, facet.level))]
    if facet.kind == "score":
        lines.append(Line(_("Gwet’s AC2, ordinal weights"), ac2(raters)))
    else:
        lines += [Line(_("Fleiss’ κ"), fleiss(raters)), Line(_("Gwet’s AC1"), ac1(raters))]
    lines.append(Line(_("Equal pairs of judges"), percent_agreement(raters), written="share"))
    if facet == PREFERENCE:
        lines.append(Line("WPLD", pld_between_people(raters).wpld, written="number"))
    return lines


def pair_of(first: Voice, second: Voice) -> Pair:
    """Two judges beside each other. Units that only one of them labelled, or was to label, are missing."""
    domain = shared_domain([first, second])
    both = Counter((value, second.values[unit]) for unit, value in first.values.items() if unit in second.values)
    place = {value: number for number, value in enumerate(domain)}
    cells = np.zeros((len(domain), len(domain)), dtype=np.int64)
    for (one, other), units in both.items():
        cells[place[one], place[other]] += units
    table = CrossTable(domain, cells)
    lost = len({*first.values, *second.values, *first.gaps, *second.gaps}) - both.total()
    wpld = replace(pld(table).wpld, missing=lost) if first.facet == PREFERENCE else None
    return Pair(percent_agreement(two_raters(table, lost)), wpld)


def panel_of_judges(voices: Sequence[Voice]) -> Voice:
    """Several judges as one more: the majority of their answers or preferences, the mean of their scores.

    A unit that none of them labelled, or on which their answers are evenly split, has no value.
    """
    facet = voices[0].facet
    said: dict[Unit, list[Value]] = {}
    for voice in voices:
        for unit, value in voice.values.items():
            said.setdefault(unit, []).append(mean_of(voice.said[unit]) if facet == SCORE else value)
    gaps = {unit: gap for voice in voices for unit, gap in voice.gaps.items() if unit not in said}
    gaps |= {unit: "tied" for unit, values in said.items() if verdict_of(facet, tuple(values)) is None}
    domain = shared_domain(voices)
    if facet == SCORE:
        domain = tuple(sorted({*domain, *(float(round_half_up(mean_of(values))) for values in said.values())}))
    return Voice(facet, said, domain, gaps)

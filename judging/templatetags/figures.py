"""Figures in words and charts: alpha with three decimals, shares in per cent, intervals drawn on one axis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from judging.agreement import Figure
from judging.live import RELIABLE, TENTATIVE
from judging.sentences import between, translated

register = template.Library()

MINUS = "\N{MINUS SIGN}"
ROW = 52  # height of one line of the chart: a line of words, and the interval below it
TOP = 8
MARGIN = 2.0  # per cent of the width, left free at both ends of the axis


@register.filter
def coefficient(value: float | None) -> str:
    """A coefficient such as alpha, with three decimals and a true minus sign; empty for None."""
    if value is None:
        return ""
    return f"{value:.3f}".replace("-0.000", "0.000").replace("-", MINUS)


@register.filter
def percentage(value: float | None) -> str:
    """A share in [0, 1] as per cent with one decimal; empty for None."""
    return "" if value is None else f"{100 * value:.1f} %".replace("-", MINUS)


@register.filter
def counts(counted: Iterable[tuple[str, int]]) -> str:
    """What was counted, in a row: "2 failed, 1 unreadable"; "0" where nothing was."""
    parts = [gettext("%(number)s %(what)s") % {"number": intcomma(number), "what": what} for what, number in counted]
    return between().join(parts) or "0"


@register.filter
def shares(given: Iterable[tuple[str, float]]) -> SafeString:
    """How often each value was given, in a row: "yes: 71.4 %, no: 28.6 %". No line breaks within one of them."""
    parts = (gettext("%(value)s: %(share)s") % {"value": value, "share": percentage(share)} for value, share in given)
    return format_html_join(between(), '<span class="nowrap">{}</span>', ((part,) for part in parts))


register.filter(translated)


@register.inclusion_tag("judging/partials/interval_chart.html")
def interval_chart(id: str, title: str, lines: Iterable[tuple[str, Figure]]) -> dict[str, Any]:
    """A line for every figure: a point at its value, a whisker from limit to limit.

    Places along the axis are per cent of the width, so that words keep their size on a narrow screen. The axis runs
    from 0 to 1, or from -1 where something lies below 0.
    """
    shown = list(lines)
    below = any(number is not None and number < 0 for _, figure in shown for number in (figure.value, figure.low))
    lowest = -1.0 if below else 0.0

    def place(value: float) -> str:
        share = (max(value, lowest) - lowest) / (1.0 - lowest)
        return f"{MARGIN + share * (100.0 - 2 * MARGIN):.2f}%"

    drawn = []
    for number, (label, figure) in enumerate(shown):
        top = TOP + number * ROW
        drawn.append(
            {
                "label": label,
                "figure": figure,
                "label_y": top - 2,
                "text_y": top + 12,
                "y": top + 27,
                "cap_top": top + 22,
                "cap_bottom": top + 32,
                "x": None if figure.value is None else place(figure.value),
                "low": None if figure.low is None else place(figure.low),
                "high": None if figure.high is None else place(figure.high),
            }
        )
    bottom = TOP + len(shown) * ROW
    marks = [(lowest, "start"), (TENTATIVE, "end"), (RELIABLE, "start"), (1.0, "end")]
    if below:
        marks.insert(1, (0.0, "middle"))
    return {
        "id": id,
        "title": title,
        "lines": drawn,
        "bottom": bottom,
        "height": bottom + 24,
        "words_y": bottom + 18,
        "marks": [
            {"x": place(value), "text": f"{value:g}".replace("-", MINUS), "anchor": anchor} for value, anchor in marks
        ],
        "from": place(lowest),
        "to": place(1.0),
    }

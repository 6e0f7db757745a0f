"""Agreement over time, drawn: time runs to the right, alpha upwards, an interval is a band around its line."""

from __future__ import annotations

from typing import Any

from django import template

from judging.curves import Curve, Line
from judging.live import RELIABLE, TENTATIVE
from judging.templatetags.figures import MINUS

register = template.Library()

MOST_LINES = 4  # what colour and dash can tell apart; the table holds the rest
WIDTH = 1000  # of the drawing, stretched to the width of the page
HEIGHT = 200  # pixels
LEGEND_ROW = 22  # pixels
GAP = 10  # pixels between the legend and the drawing


@register.inclusion_tag("judging/partials/curve_chart.html")
def curve_chart(id: str, title: str, curve: Curve) -> dict[str, Any]:
    """Up to four lines. The axis of alpha runs from 0 to 1, or from -1 where something lies below 0."""
    shown = list(curve.lines[:MOST_LINES])
    numbers = [number for line in shown for figure in line.figures for number in (figure.value, figure.low)]
    lowest = -1.0 if any(number is not None and number < 0 for number in numbers) else 0.0
    times = [point.at.timestamp() for point in curve.points]
    begin, length = times[0], (times[-1] - times[0]) or 1.0
    across = [f"{WIDTH * (time - begin) / length:.1f}" for time in times]

    def height(value: float) -> str:
        return f"{HEIGHT * (1.0 - max(value, lowest)) / (1.0 - lowest):.1f}"

    top = len(shown) * LEGEND_ROW + GAP
    marks = [lowest, TENTATIVE, RELIABLE, 1.0] + ([0.0] if lowest else [])
    return {
        "id": id,
        "title": title,
        "lines": [
            {
                "number": number,
                "words": line.words,
                "last": line.figures[-1],
                "y": (number - 1) * LEGEND_ROW + 14,
                "label_y": (number - 1) * LEGEND_ROW,
                "sample_y": (number - 1) * LEGEND_ROW + 10,
                "pieces": _pieces(line, across, height),
            }
            for number, line in enumerate(shown, start=1)
        ],
        "marks": [
            {"y": height(value), "text_y": f"{top + float(height(value)) + 4:.1f}", "text": _written(value)}
            for value in marks
        ],
        "left_out": len(curve.lines) - len(shown),
        "top": top,
        "width": WIDTH,
        "height": HEIGHT,
        "total": top + HEIGHT + 28,
        "words_y": top + HEIGHT + 20,
        "begin": curve.points[0].at,
        "end": curve.points[-1].at,
    }


def _pieces(line: Line, across: list[str], height: Any) -> list[dict[str, str]]:
    """Runs of moments at which the figure was defined: a line through the values, and the band between the limits."""
    runs: list[list[int]] = [[]]
    for place, figure in enumerate(line.figures):
        if figure.value is not None:
            runs[-1].append(place)
        elif runs[-1]:
            runs.append([])
    pieces = []
    for run in runs:
        points = [(across[place], line.figures[place]) for place in run]
        upper = [f"{x},{height(figure.high)}" for x, figure in points if figure.high is not None]
        lower = [f"{x},{height(figure.low)}" for x, figure in points if figure.low is not None]
        if len(points) == 1:  # a line needs two ends; a single moment becomes a dash of its own
            x, figure = points[0]
            points = [(f"{min(float(x), WIDTH - 4.0):.1f}", figure), (f"{min(float(x), WIDTH - 4.0) + 4:.1f}", figure)]
        if points:
            pieces.append(
                {
                    "line": " ".join(f"{x},{height(figure.value)}" for x, figure in points),
                    "band": " ".join(upper + lower[::-1]),
                }
            )
    return pieces


def _written(value: float) -> str:
    return f"{value:g}".replace("-", MINUS)

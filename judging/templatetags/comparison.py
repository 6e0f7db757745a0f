"""Values and figures of comparisons in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from django import template
from django.utils.translation import gettext as _

from judging.agreement import Value
from judging.agreement.labels import shown
from judging.comparison import Line
from judging.models import Run
from judging.sentences import between

register = template.Library()


@register.filter
def value_in_words(value: Value) -> str:
    """A value as a reader of a page knows it; a preference is about the first of two responses."""
    words = {
        "yes": _("yes"),
        "no": _("no"),
        "na": _("not applicable"),
        "win": _("the first is better"),
        "tie": _("no difference"),
        "loss": _("the second is better"),
    }
    return words.get(str(value), shown(value))


@register.filter
def step_in_words(value: Value) -> str:
    """A step of the sliding scale of preferences."""
    words = {
        1: _("the first is much better"),
        2: _("the first is better"),
        3: _("nearly the same"),
        4: _("the second is better"),
        5: _("the second is much better"),
    }
    return words.get(int(value), shown(value)) if not isinstance(value, str) else value_in_words(value)


@register.filter
def written(value: Value) -> str:
    """A value as it stands in an address: 3 and not 3.0."""
    return shown(value)


@register.filter
def share_in_words(share: float) -> str:
    """A share of few labels: "2/3" reads better than a percentage there."""
    fraction = Fraction(share).limit_denominator(100)
    return _("all") if fraction == 1 else str(fraction)


@register.filter
def margins(following: Iterable[tuple[Run, float]]) -> str:
    """Runs and the margins within which they tie, in a row: "run 3 with a margin of 0.5, run 4 with a margin of 0"."""
    sentence = _("run %(number)s with a margin of %(margin)s")
    return between().join(sentence % {"number": run.pk, "margin": margin} for run, margin in following)


@register.filter
def of(names: Mapping[Any, str], key: Any) -> str:
    """What stands under the key; "" where nothing does."""
    return names.get(key, "")


@register.inclusion_tag("judging/comparison_lines.html")
def figure_table(section: str, name: str, title: str, lines: Iterable[Line], unit: str) -> dict[str, Any]:
    """A table of figures: of the judge, and of the people where one of the lines has such a figure. Sections have
    tables of the same title, so it is called after the heading of its own (`{section}-title`) as well."""
    shown = list(lines)
    return {
        "heading": f"{section}-title",
        "id": f"{section}-{name}",
        "title": title,
        "lines": shown,
        "unit": unit,
        "with_people": any(line.people for line in shown),
    }

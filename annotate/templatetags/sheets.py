"""Figures of the annotator sheets, with a dash where there is nothing to count."""

from django import template

register = template.Library()


@register.filter
def share(value: float | None) -> str:
    """A share in [0, 1] as per cent with one decimal."""
    return "–" if value is None else f"{100 * value:.1f} %"


@register.filter
def decimals(value: float | None) -> str:
    """A number with two decimals."""
    return "–" if value is None else f"{value:.2f}"

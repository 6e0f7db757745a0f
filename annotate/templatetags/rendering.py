"""A text from a file or a model: `{{ text|prose }}` is safe HTML, `{{ text|opening:80 }}` how it begins."""

from django import template
from django.utils.safestring import SafeString

from annotate import rendering

register = template.Library()


@register.filter
def prose(text: object) -> SafeString:
    return rendering.prose(str(text or ""))


@register.filter
def opening(text: object, length: int) -> str:
    return rendering.opening(str(text or ""), length)

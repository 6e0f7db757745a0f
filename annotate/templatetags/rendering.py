"""`{{ text|prose }}`: a text from a file or a model, as safe HTML."""

from django import template
from django.utils.safestring import SafeString

from annotate import rendering

register = template.Library()


@register.filter
def prose(text: object) -> SafeString:
    return rendering.prose(str(text or ""))

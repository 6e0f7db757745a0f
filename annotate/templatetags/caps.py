"""`{% cap keys.back %}`: the key that does it, on its cap; nothing for an action without a key."""

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.simple_tag
def cap(key: str) -> SafeString:
    return mark_safe(f" <kbd>{escape(key.upper() if len(key) == 1 else key)}</kbd>" if key else "")  # noqa: S308

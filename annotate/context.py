"""What every page knows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

THEMES = ("light", "dark")


def site(request: HttpRequest) -> dict[str, Any]:
    theme = request.COOKIES.get("theme", "")
    return {"version": settings.VERSION, "theme": theme if theme in THEMES else "", "demo": settings.DEMO}

"""The sub-navigation of a project."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotate.models import Role

register = template.Library()

EVERY_ROLE = set(Role)
RESEARCHERS = {Role.CURATOR, Role.RESEARCHER}
TABS = [
    ("project", _("Overview"), EVERY_ROLE),
    ("items", _("Items"), RESEARCHERS),
    ("checklists", _("Checklists"), RESEARCHERS),
    ("rounds", _("Rounds"), RESEARCHERS),
    ("judges", _("Judges"), RESEARCHERS),
    ("runs", _("Runs"), RESEARCHERS),
    ("members", _("Members"), {Role.CURATOR}),
    ("project_settings", _("Settings"), {Role.CURATOR}),
]
BENEATH = {"checklists": "dimensions", "judges": "prompts"}  # pages with an address of their own, under whose tab


@register.inclusion_tag("annotate/project_tabs.html", takes_context=True)
def project_tabs(context: dict[str, Any]) -> dict[str, Any]:
    """The tabs that the reader's role may open; the one that the page lies under is the current one."""
    request = context["request"]
    tabs = []
    for name, label, roles in TABS:
        if request.membership.role not in roles:
            continue
        url = reverse(name, args=[request.membership.project.slug])
        current = ""
        if request.path == url:
            current = "page"
        elif name != "project" and request.path.startswith(_addresses(name, url)):  # all lie under the overview
            current = "true"
        tabs.append({"url": url, "label": label, "current": current})
    return {"tabs": tabs}


def _addresses(name: str, url: str) -> tuple[str, ...]:
    return (url, url.removesuffix(f"{name}/") + f"{BENEATH[name]}/") if name in BENEATH else (url,)

"""Words and badges for runs, calls and verdicts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import template

from judging.generators import POLICIES
from judging.models import Call, Run, Verdict
from judging.protocols import PROTOCOLS

register = template.Library()

CALL_BADGES = {
    Call.State.PLANNED: "draft",
    Call.State.LEASED: "running",
    Call.State.DONE: "finished",
    Call.State.FAILED: "failed",
}
VERDICT_BADGES = {
    Verdict.State.YES: "approved",
    Verdict.State.NO: "closed",
    Verdict.State.UNPARSED: "weak",
    Verdict.State.ERROR: "failed",
}


@register.filter
def method_title(run: Run) -> str:
    """The title of the run's protocol or policy; its bare name where the method is no longer there."""
    method: Any = {**PROTOCOLS, **POLICIES}.get(run.method)
    return str(method.title) if method else run.method


@register.inclusion_tag("partials/badge.html")
def call_badge(call: Call) -> dict[str, str]:
    return {"state": CALL_BADGES[Call.State(call.state)], "label": call.get_state_display()}


@register.inclusion_tag("partials/badge.html")
def verdict_badge(verdict: Verdict) -> dict[str, str]:
    """The answer, or the score itself; a sign of its own for what could not be read."""
    state = Verdict.State(verdict.state)
    label = f"{verdict.score:g}" if verdict.score is not None else verdict.get_state_display()
    return {"state": VERDICT_BADGES.get(state, "plain"), "label": label}


@register.inclusion_tag("partials/badge.html")
def run_badge(run: Run) -> dict[str, str]:
    return {"state": "retired" if run.state == Run.State.CANCELLED else run.state, "label": run.get_state_display()}


@register.filter
def dollars(value: Decimal) -> str:
    """A cost in US dollars: cents, or three significant digits where it is less than a dollar."""
    if not value:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${float(value):.3g}"


@register.filter
def seconds(milliseconds: int | None) -> str:
    """A latency in seconds; empty for None."""
    return "" if milliseconds is None else f"{milliseconds / 1000:.1f} s"

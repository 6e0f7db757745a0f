"""Words and badges for runs, calls and verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext, ngettext

from judging.generators import POLICIES
from judging.models import Call, Run, Verdict
from judging.pairs import preference_of
from judging.protocols import PROTOCOLS
from judging.sentences import between

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
    """The answer, the score itself, or which of the two was preferred; a sign of its own for what could not be read."""
    return {"state": _sign(verdict), "label": _in_words(verdict)}


@register.inclusion_tag("judging/partials/verdict_badges.html")
def verdict_badges(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """The verdicts of one call; those that say the same are counted."""
    counted = Counter((_sign(verdict), _in_words(verdict)) for verdict in verdicts)
    return {"badges": [(sign, f"{words} ×{n}" if n > 1 else words) for (sign, words), n in counted.items()]}


def _sign(verdict: Verdict) -> str:
    return VERDICT_BADGES.get(Verdict.State(verdict.state), "plain")


def _in_words(verdict: Verdict) -> str:
    if verdict.score is not None:
        return f"{verdict.score:g}"
    return verdict.get_choice_display() if verdict.choice else verdict.get_state_display()


@register.inclusion_tag("partials/badge.html")
def run_badge(run: Run) -> dict[str, str]:
    return {"state": "retired" if run.state == Run.State.CANCELLED else run.state, "label": run.get_state_display()}


@register.simple_tag
def shown_first(call: Call) -> str:
    """The system of a call; of a pair both, in the order in which the judge saw them."""
    if call.response is None or call.other is None:
        return call.response.system if call.response else ""
    pair = (call.response.system, call.other.system)
    return " / ".join(pair if call.order == "ab" else reversed(pair))


@register.filter
def turned_back(verdict: Verdict) -> str:
    """Which system a verdict prefers, whatever the order in which the two were shown; "" where it is no preference."""
    preference = preference_of(verdict)
    if preference is None or verdict.other is None:
        return ""
    if preference == "tie":
        return gettext("neither is better")
    better = verdict.response if preference == "win" else verdict.other
    return gettext("%(system)s is better") % {"system": better.system}


@register.simple_tag
def asked_as_a_whole(run: Run, call: Call) -> str:
    """What a call asks that is about no one question or dimension."""
    method = PROTOCOLS.get(run.method)
    if call.follows_id:
        return gettext("the better one, once more")
    if method and call.checklist_id and "answers" in method.yields:
        return gettext("all questions")
    return gettext("the pair") if call.other_id else gettext("the response")


@register.filter
def items_in_words(run: Run) -> str:
    """Of which items a run without a round is: "3 items, category letters"."""
    number = run.sample_size
    some = ngettext("at most %(n)s item", "at most %(n)s items", number) % {"n": intcomma(number)} if number else ""
    parts = [some or gettext("items")]
    if run.category:
        parts.append(gettext("category %(name)s") % {"name": run.category})
    if run.language:
        parts.append(gettext("language %(name)s") % {"name": run.language})
    return between().join(parts)


@register.filter
def dollars(value: Decimal) -> str:
    """A cost in US dollars: cents, or three significant digits where it is less than a dollar."""
    if not value:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${float(value):.3g}"


@register.filter
def duration(seconds: float) -> str:
    """A length of time in words, rounded up to minutes: "2 h 5 min"."""
    minutes = math.ceil(seconds / 60)
    if minutes <= 1:
        return gettext("a minute")
    if minutes < 60:
        return gettext("%(minutes)d min") % {"minutes": minutes}
    return gettext("%(hours)d h %(minutes)d min") % {"hours": minutes // 60, "minutes": minutes % 60}


@register.filter
def seconds(milliseconds: int | None) -> str:
    """A latency in seconds; empty for None."""
    return "" if milliseconds is None else gettext("%(seconds)s s") % {"seconds": f"{milliseconds / 1000:.1f}"}

"""A round as it would be: what it comes to, and the annotator's screen of one of its units. Nothing is stored."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from annotate.contents import Content
from annotate.models import Round, Task, User
from annotate.models.round import Extent
from annotate.screen import screen_of


class Preview(NamedTuple):
    """`screen` is the context of the screen's partial, None for a round without units; `unit` is its number, from 0."""

    extent: Extent
    screen: dict[str, Any] | None
    unit: int


def preview_of(round: Round, user: User, unit: int = 0) -> Preview:
    """What the round, saved or not, would label, and the screen of its unit with this number (over the end: the first).

    The person who looks at it takes the annotator's place, with their keys.
    """
    units, left_out = round.units()
    extent = round.extent(units, left_out)
    if not units:
        return Preview(extent, None, 0)
    number = unit % len(units)
    shown = units[number]
    seeming = copy.copy(round)
    seeming.size = len(units)
    task = Task(
        round=seeming,
        item=shown.item,
        response=shown.response,
        other=shown.other,
        swapped=False if shown.other else None,
        checklist=shown.checklist,
        position=number + 1,
    )
    screen = screen_of(task, user, Content())
    return Preview(extent, screen | {"progress": {"submitted": 0, "total": len(units)}, "version": 0}, number)

"""What annotators may see of a task after they submitted it, by the rule of the round; and the record that they looked.

The record stands in the annotation (`exposure["revealed"]`) before anything is shown, and in whatever else its author
says about the same texts: what they said already, when they look; what they say later, when they submit it. So a label
that was given or corrected afterwards can always be told from one that was not.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.contents import Content
from annotate.models import Annotation, Round, Task, User
from annotate.said import counted_about


class NotRevealed(Exception):
    """The rule of the round does not allow it, or not yet; the message is a sentence that says why."""


class Revealed(NamedTuple):
    """The systems behind the responses in the order of the screen, and what the others said, who are not named."""

    systems: list[str]
    others: list[Content]


class Look(NamedTuple):
    """What somebody saw of others who had said something about the texts of their own label, and when: in which round
    and task (None where that was not kept yet), how many labels and whether the systems. `version` is the one in which
    their label stood, 0 before it."""

    at: datetime
    round: Round | None
    task: int | None
    labels: int
    systems: bool
    version: int


def looks_of(annotation: Annotation) -> list[Look]:
    """All that are on record, the first one first. One query, or none."""
    looks = annotation.exposure.get("revealed", [])
    rounds = Round.objects.in_bulk({look["round"] for look in looks if "round" in look}) if looks else {}
    return [
        Look(
            datetime.fromisoformat(look["at"]),
            rounds.get(look.get("round")),
            look.get("task"),
            look["labels"],
            "systems" in look["what"],
            look["version"],
        )
        for look in looks
    ]


def why_not(round: Round) -> str:
    """The sentence that says why nothing of the round is revealed at present; "" where it is.

    A round with gold units reveals nothing: each is met by other people than the tasks are, so the number of those who
    said something about it, or the system, would tell it from a task.
    """
    if round.reveal == Round.Reveal.NEVER or round.is_training or round.gold_id is not None:
        return _("This round never tells who wrote what, or what others said.")
    if round.reveal == Round.Reveal.CLOSED and round.state != Round.State.CLOSED:
        return _("This round tells who wrote what, and what others said, once it is closed: come back then.")
    return ""


def reveal(annotation: Annotation) -> Revealed:
    """Record that the author of a submitted annotation looks, then return what there is to see. Raises NotRevealed."""
    if annotation.state != Annotation.State.SUBMITTED:
        raise NotRevealed(_("Only a task that you have submitted is shown with what others said."))
    if sentence := why_not(annotation.task.round):
        raise NotRevealed(sentence)
    seen = Revealed(
        [response.system for response in annotation.task.shown], counted_about(annotation.task, but=annotation)
    )
    _record(annotation, seen)
    return seen


def earlier_looks(annotation: Annotation) -> dict[str, Any]:
    """What the exposure of an annotation that is being submitted has to say of its author's looks at other tasks
    with the same texts; {} where there were none. One query, and none about somebody who never looked."""
    if not annotation.annotator.has_looked:
        return {}
    known = {look["at"]: look for look in annotation.exposure.get("revealed", [])}
    told = _about_the_same(annotation.task, annotation.annotator).filter(exposure__has_key="revealed")
    for exposure in told.values_list("exposure", flat=True):
        for look in exposure["revealed"]:
            known.setdefault(look["at"], {**look, "version": 0})
    return {"revealed": [known[at] for at in sorted(known)]} if known else {}


def _record(annotation: Annotation, seen: Revealed) -> None:
    """One entry for each look that showed something new, or came after another version of the annotation."""
    what = (["systems"] if seen.systems else []) + ["labels"]
    task = annotation.task
    entry: dict[str, Any] = {
        "what": what,
        "labels": len(seen.others),
        "round": task.round_id,
        "task": task.position,
    }
    theirs = _about_the_same(task, annotation.annotator).values("pk")
    with transaction.atomic():
        User.objects.filter(pk=annotation.annotator_id, has_looked=False).update(has_looked=True)
        stored = Annotation.objects.select_for_update().filter(Q(pk=annotation.pk) | Q(pk__in=theirs)).order_by("pk")
        by_number = {each.pk: each for each in stored}
        looks = by_number[annotation.pk].exposure.get("revealed", [])
        own = entry | {"version": by_number[annotation.pk].version}
        if any(own.items() <= look.items() for look in looks):
            return
        at = timezone.now().isoformat()
        for each in by_number.values():
            looks = each.exposure.get("revealed", [])
            each.exposure["revealed"] = [*looks, {**entry, "version": each.version, "at": at}]
        Annotation.objects.bulk_update(by_number.values(), ["exposure"])


def _about_the_same(task: Task, author: User) -> QuerySet[Annotation]:
    """What somebody said about other tasks with one of the responses, or about the item alone as this task is: in other
    rounds, and of pairs also in this one."""
    texts = [response for response in (task.response_id, task.other_id) if response is not None]
    with_them = Q(response__in=texts) | Q(other__in=texts) if texts else Q(item=task.item_id, response=None)
    return Annotation.objects.filter(task__in=Task.objects.filter(with_them).exclude(pk=task.pk), annotator=author)

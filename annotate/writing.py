"""Checklists that annotators wrote: which submission each is from, and what becomes of it when that counts no more."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q

from annotate.models import Annotation, Checklist
from annotate.models.checklist import trimmed


def discard(annotation: Annotation, *, delete: bool = False) -> bool:
    """Retire, or delete, the draft that was made of a submission which counts no more; whether it is deleted. What
    somebody else changed, approved or edited further meanwhile stays."""
    with transaction.atomic():
        number = annotation.written.get("checklist")
        drafts = Checklist.objects.filter(approved_at=None).select_for_update(of=("self",))  # retired ones as well
        draft = drafts.filter(pk=number).first() if number else None
        if draft is None or not is_as_written(draft, annotation):
            return False
        if not delete:
            draft.retire()
        elif not draft.children.exists():
            draft.delete()
            return True
    return False


def is_as_written(checklist: Checklist, annotation: Annotation) -> bool:
    """Whether the checklist asks what the annotation says, so that nobody else has changed it."""
    return [question.text for question in checklist.questions.all()] == trimmed(annotation.written.get("questions", ()))


def uncounted(checklists: Iterable[Checklist]) -> dict[int, Annotation]:
    """Of those of these checklists that were made of a withdrawn or surplus submission: it, by the checklist's id. One
    query."""
    by_number = {checklist.pk: checklist for checklist in checklists}
    said = Annotation.objects.filter(
        Q(state=Annotation.State.WITHDRAWN) | Q(surplus=True),
        task__item__in={checklist.item_id for checklist in by_number.values()},
        written__has_key="checklist",
    )
    return {each.written["checklist"]: each for each in said if each.written["checklist"] in by_number}

"""An annotator's own labels: what one submitted in a round, and what it tells afterwards where its rule allows that."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate import assignment, gold, reveal
from annotate.access import ANNOTATE, MemberRequest, members
from annotate.contents import Content, letters_of
from annotate.models import Annotation, Project, Round, Task
from annotate.said import in_short, side_by_side
from annotate.standing import standing_of

PAGE = 25


@require_safe
@never_cache
@members(*ANNOTATE)
def my_labels(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """What the reader submitted in a round, the newest first, each with what can be done with it."""
    round = get_object_or_404(project.rounds.for_labels().exclude(state=Round.State.DRAFT), pk=pk)
    page = Paginator(Annotation.objects.of_author(round, request.user), PAGE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "round": round,
        "page": page,
        "rows": [(annotation, in_short(annotation.task, Content.of(annotation))) for annotation in page],
        "standing": standing_of(round, request.user),
        "may_correct": assignment.may_work(round.pk, request.user),
        "why_not": reveal.why_not(round),
    }
    return render(request, "annotate/mine/labels.html", context)


@require_safe
@never_cache
@members(*ANNOTATE)
def revealed(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """One task that the reader submitted, with the systems' names and what others said, where the rule allows it."""
    task = gold.place(get_object_or_404(Task.objects.with_texts(), round__project=project, pk=pk), request.user)
    annotation = get_object_or_404(Annotation, task=task, annotator=request.user)
    annotation.task = task  # with its texts, and in the round that the annotator met it in
    try:
        seen = reveal.reveal(annotation)
    except reveal.NotRevealed as error:
        context = {"project": project, "round": task.round, "sentence": str(error)}
        return render(request, "annotate/mine/refused.html", context, status=403)
    context = {
        "project": project,
        "round": task.round,
        "task": task,
        "item": task.item,
        "language": task.item.language,
        "responses": list(zip(letters_of(task), seen.systems, (one.text for one in task.shown), strict=False)),
        "people": range(1, len(seen.others) + 1),
        "rows": side_by_side(task, [Content.of(annotation), *seen.others]),
        "may_correct": assignment.may_work(task.round_id, request.user) and not annotation.surplus,
    }
    return render(request, "annotate/mine/revealed.html", context)

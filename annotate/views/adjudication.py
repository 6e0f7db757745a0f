"""Adjudication: the units of a round on which people disagree, one of them with all answers, and the decision.

Blind as annotation is: no page here names a system or an annotator.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate import adjudication
from annotate.access import RESEARCH, MemberRequest, members
from annotate.addresses import number_in
from annotate.contents import Content, InvalidLabel, read_content
from annotate.models import Project, Round, Task, User
from annotate.said import counted_about, side_by_side
from annotate.screen import screen_of


@require_safe
@members(*RESEARCH)
def disagreements(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The undecided units of a round, or the decided ones, the largest disagreement first."""
    round = _round(project, pk)
    show: adjudication.Show = "decided" if request.GET.get("show") == "decided" else "undecided"
    listed = adjudication.disagreements(round, show, number_in(request.GET.get("page", ""), 1, digits=6))
    context = {
        "project": project,
        "round": round,
        "tab": "rounds",
        "show": show,
        "listed": listed,
        "page": listed.page,
        "can_disagree": adjudication.can_disagree(round),
    }
    return render(request, "annotate/adjudication/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@members(*RESEARCH)
def adjudicate(request: MemberRequest, project: Project, pk: int, position: int) -> HttpResponse:
    """One unit: texts, what everybody said, earlier decisions, the form for a new one. `go` leads to a neighbour."""
    task = get_object_or_404(Task.objects.with_texts(), round=_round(project, pk), position=position)
    if request.GET.get("go") in ("next", "previous"):
        return _go(request, project, task, request.GET["go"])
    content, error = Content(), ""
    if request.method == "POST":
        try:
            content = read_content(task, request.POST)
            adjudication.decide(task, request.user, content)
        except InvalidLabel as refused:
            content, error = refused.content or content, str(refused)
        else:
            messages.success(request, _("Decided: your decision is kept as a label of its own."))
            return _go(request, project, task, "next")
    context = _unit(project, task, content) | {"error": error}
    return render(request, "annotate/adjudication/unit.html", context, status=400 if error else 200)


def _go(request: MemberRequest, project: Project, task: Task, direction: str) -> HttpResponse:
    position = adjudication.neighbour(task, "previous" if direction == "previous" else "next")
    if position is None:
        messages.info(request, _("There is no other undecided unit in this direction."))
        return redirect("adjudication", project.slug, task.round_id)
    return redirect("adjudicate", project.slug, task.round_id, position)


def _unit(project: Project, task: Task, content: Content) -> dict[str, Any]:
    said = counted_about(task)
    decisions = list(task.adjudications.select_related("adjudicator"))
    # The form is the annotators' own, without the keys: its script is not on this page.
    return screen_of(task, User(keys={"off": True}), content) | {
        "project": project,
        "tab": "rounds",
        "people": range(1, len(said) + 1),
        "rows": side_by_side(task, said),
        "decisions": decisions,
        "decided": side_by_side(task, [Content.from_json(decision.content) for decision in decisions]),
    }


def _round(project: Project, pk: int) -> Round:
    return get_object_or_404(project.rounds.for_labels().exclude(state=Round.State.DRAFT), pk=pk)

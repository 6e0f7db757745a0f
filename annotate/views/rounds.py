"""Rounds: set up, open, watch, close."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from annotate.access import RESEARCH, MemberRequest, members
from annotate.forms.rounds import RoundForm
from annotate.models import Project, Round


@require_safe
@members(*RESEARCH)
def rounds(request: MemberRequest, project: Project) -> HttpResponse:
    found = project.rounds.with_progress()
    return render(request, "annotate/rounds/rounds.html", {"project": project, "rounds": found, "tab": "rounds"})


@members(*RESEARCH)
def round_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = RoundForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        form.instance.created_by = request.user
        made = form.save()
        return redirect("round", project.slug, made.pk)
    context = {"project": project, "form": form, "tab": "rounds"}
    return render(request, "annotate/rounds/create.html", context)


@members(*RESEARCH)
def round(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """One round: in draft its form and what it would label, later its progress and agreement."""
    found = get_object_or_404(Round.objects.with_progress(), project=project, pk=pk)
    form = RoundForm(project=project, instance=found)
    if request.method == "POST":
        action = request.POST.get("action")
        if action == "save" and found.state == Round.State.DRAFT:
            form = RoundForm(request.POST, project=project, instance=found)
            if form.is_valid():
                form.save()
                messages.success(request, "Saved.")
                return redirect("round", project.slug, pk)
        else:
            _act(request, found, action)
            return redirect("round", project.slug, pk)
    context = {"project": project, "round": found, "form": form, "tab": "rounds"}
    if found.state == Round.State.DRAFT:
        responses, left_out = found.units()
        context |= {
            "n_responses": len(responses),
            "n_left_out": left_out,
            "n_labels": len(responses) * found.overlap,
        }
    else:
        context |= {"workers": found.workers()}
    return render(request, "annotate/rounds/round.html", context)


def _act(request: MemberRequest, round: Round, action: str | None) -> None:
    try:
        if action == "open":
            tasks = round.open()
            messages.success(request, f"The round is open: {tasks} tasks wait for annotators.")
        elif action == "close":
            round.close()
            messages.success(request, "The round is closed. Labels that still arrive are kept as surplus.")
        elif action == "reopen":
            round.reopen()
            messages.success(request, "The round is open again.")
        else:
            messages.error(request, "That cannot be done in the round's present state: reload the page.")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))

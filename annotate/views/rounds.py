"""Rounds: set up with a preview, open, watch, close."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import supervision, training
from annotate.access import RESEARCH, MemberRequest, members
from annotate.addresses import number_in
from annotate.forms.rounds import RoundForm
from annotate.models import Project, Round
from annotate.preview import preview_of
from annotate.progress import moves_along, progress_of

SETUP = "annotate/rounds/setup.html"


@require_safe
@members(*RESEARCH)
def rounds(request: MemberRequest, project: Project) -> HttpResponse:
    context = {
        "project": project,
        "rounds": project.rounds.with_progress(),
        "experiments": project.experiments.annotate(n_arms=Count("arms")),
        "tab": "rounds",
    }
    return render(request, "annotate/rounds/rounds.html", context)


@members(*RESEARCH)
def round_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = RoundForm(request.POST or None, project=project)
    if _saves(request) and form.is_valid():
        form.instance.created_by = request.user
        made = form.save()
        messages.success(request, _("Saved as a draft."))
        return redirect("round", project.slug, made.pk)
    return _setup(request, project, form)


@members(*RESEARCH)
def round(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """One round: in draft its form and what it would label, later its progress and agreement."""
    found = get_object_or_404(Round.objects.select_related("experiment"), project=project, pk=pk)
    if found.state == Round.State.DRAFT and request.POST.get("action") not in ("close", "reopen"):
        return _draft(request, project, found)
    if request.method == "POST":
        _act(request, found, request.POST.get("action"))
        return redirect("round", project.slug, pk)
    context = {
        "project": project,
        "round": found,
        "progress": progress_of(found),
        "moves_along": moves_along(found),
        "qualification": training.tally(found) if found.qualification_id else None,
        "record": supervision.record_of(found),
    }
    return render(request, "annotate/rounds/round.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@members(*RESEARCH)
def round_discard(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Asks once more, and discards a draft."""
    found = get_object_or_404(Round, project=project, pk=pk)
    if request.method == "POST" or found.state != Round.State.DRAFT:
        try:
            found.discard()
        except ValidationError as error:
            messages.error(request, error.messages[0])
            return redirect("round", project.slug, pk)
        messages.success(request, _("The draft “%(name)s” is discarded.") % {"name": found.name})
        return redirect("rounds", project.slug)
    return render(request, "annotate/rounds/discard.html", {"project": project, "round": found})


@require_POST
@members(*RESEARCH)
def round_preview(request: MemberRequest, project: Project) -> HttpResponse:
    """What the form in the browser comes to, for the script; nothing is stored."""
    drafts = project.rounds.filter(state=Round.State.DRAFT)
    draft = drafts.filter(pk=number_in(request.POST.get("draft", ""))).first()
    form = RoundForm(request.POST, project=project, instance=draft)
    return render(request, f"{SETUP}#preview", _preview(request, form) | {"project": project, "form": form})


def _draft(request: MemberRequest, project: Project, draft: Round) -> HttpResponse:
    """Opening saves what is in the form, so that no change can be forgotten."""
    form = RoundForm(request.POST or None, project=project, instance=draft)
    if not (_saves(request) and form.is_valid()):
        return _setup(request, project, form)
    form.save()
    if request.POST.get("action") == "open":
        _act(request, draft, "open")
    else:
        messages.success(request, _("Saved."))
    return redirect("round", project.slug, draft.pk)


def _saves(request: MemberRequest) -> bool:
    return request.method == "POST" and request.POST.get("action", "save") in ("save", "open")


def _setup(request: MemberRequest, project: Project, form: RoundForm) -> HttpResponse:
    context = {"project": project, "form": form, "tab": "rounds"}
    return render(request, SETUP, context | _preview(request, form))


def _preview(request: MemberRequest, form: RoundForm) -> dict[str, Any]:
    """The context of the preview. The form's instance holds what was sent, as far as it can be read."""
    context: dict[str, Any] = {"faults": form.faults, "round": form.instance}
    if not form.shows_screen:
        return context
    number = number_in(request.POST.get("unit", ""), digits=8)
    preview = preview_of(form.instance, request.user, number + (request.POST.get("action") == "another"))
    context["preview"] = preview
    if preview.screen:
        context["screen"] = render_to_string("annotate/labels/task.html#screen", preview.screen, request)
    return context


def _act(request: MemberRequest, round: Round, action: str | None) -> None:
    try:
        if action == "open":
            tasks = round.open()
            sentence = ngettext(
                "The round is open: %(n)d task waits for annotators.",
                "The round is open: %(n)d tasks wait for annotators.",
                tasks,
            )
            messages.success(request, sentence % {"n": tasks})
        elif action == "close":
            supervision.close(round, request.user)
            messages.success(request, _("The round is closed. What is still submitted is kept as surplus."))
        elif action == "reopen":
            supervision.reopen(round, request.user)
            messages.success(request, _("The round is open again."))
        else:
            messages.error(request, _("That cannot be done in the round's present state: reload the page."))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))

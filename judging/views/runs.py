"""Runs: listed, started, watched, steered; and every call of a run with its prompt and reply."""

from __future__ import annotations

import zlib
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, Q
from django.http import HttpResponse, HttpResponseNotModified
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate.access import CURATE, RESEARCH, MemberRequest, members
from annotate.models import Item, Project
from judging import runs as engine
from judging.costs import standings
from judging.estimate import plan_of
from judging.forms import GenerationForm, LimitForm, RepeatForm, RunForm
from judging.models import Call, Run, Verdict

RUNS_A_PAGE = 25
CALLS_A_PAGE = 50
ITEMS_SHOWN = 20
LONG_TEXTS = (
    "prompt",
    "reply",
    "item__instruction",
    "item__history",
    "item__reference",
    "response__text",
    "other__text",
)
UNREADABLE = Verdict.objects.filter(call=OuterRef("pk"), state=Verdict.State.UNPARSED)
FILTERS = {
    "all": (_("All"), Q()),
    "failed": (_("Failed"), Q(state=Call.State.FAILED)),
    "unreadable": (_("Unreadable"), Q(Exists(UNREADABLE))),
    "waiting": (_("To be asked"), Q(state__in=[Call.State.PLANNED, Call.State.LEASED])),
}


@require_safe
@members(*RESEARCH)
def runs(request: MemberRequest, project: Project) -> HttpResponse:
    found = Run.objects.filter(project=project).select_related("judge", "round").order_by("-created_at", "-pk")
    page = Paginator(found, RUNS_A_PAGE).get_page(request.GET.get("page"))
    standing = standings(list(page))
    rows = [(run, standing[run.pk]) for run in page]
    return render(request, "judging/runs.html", {"project": project, "page": page, "rows": rows})


@require_http_methods(["GET", "POST"])
@members(*RESEARCH)
def run_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Two steps on one page: what the choice would send, then the start. A choice changed in between is shown again."""
    form = RunForm(request.POST or None, initial={"round": request.GET.get("round")}, project=project)
    context = {"project": project, "form": form, "has_items": Item.objects.filter(project=project).exists()}
    if request.method == "POST" and form.is_valid():
        try:
            drafts = engine.draft_panel(project, **form.choice, user=request.user)
            plan = plan_of(drafts)
            if request.POST.get("action") == "start" and request.POST.get("agreed") == plan.fingerprint:
                return _started(request, project, engine.start_panel(drafts))
            context["plan"] = plan
        except engine.PlanError as error:
            form.add_error(None, str(error))
    return render(request, "judging/run_create.html", context)


def _started(request: MemberRequest, project: Project, runs: list[Run]) -> HttpResponse:
    if len(runs) == 1:
        return redirect("run", project.slug, runs[0].pk)
    messages.success(request, gettext("%(number)d runs are started, one for each judge.") % {"number": len(runs)})
    return redirect("runs", project.slug)


@require_http_methods(["GET", "POST"])
@members(*CURATE)
def generate(request: MemberRequest, project: Project) -> HttpResponse:
    """Have a model write checklists: for the items named in the address, or for all without a live checklist."""
    named = [pk for pk in request.GET.getlist("item") if pk.isascii() and pk.isdecimal() and len(pk) < 18]
    items = Item.objects.filter(project=project)
    items = items.filter(pk__in=named) if named else items.without_checklist()
    form = GenerationForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            run = engine.plan_generation(project, chosen["judge"], chosen["policy"], items, user=request.user)
        except engine.PlanError as error:
            form.add_error(None, str(error))
        else:
            return redirect("run", project.slug, run.pk)
    number = items.count()
    context = {
        "project": project,
        "form": form,
        "items": items[:ITEMS_SHOWN],
        "n_items": number,
        "n_more": max(0, number - ITEMS_SHOWN),
        "named": bool(named),
        "has_items": Item.objects.filter(project=project).exists(),
    }
    return render(request, "judging/generate.html", context)


@require_http_methods(["GET", "POST"])
@members(*RESEARCH)
def run(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    found = _run(project, pk)
    if request.method == "POST":
        _steer(request, found)
        return redirect("run", project.slug, found.pk)
    show = request.GET.get("show", "all")
    show = show if show in FILTERS else "all"
    calls = (
        found.calls.filter(FILTERS[show][1])
        .select_related("item", "response", "other", "question", "dimension", "written")
        .prefetch_related("verdicts")
        .defer(*LONG_TEXTS)
        .order_by("position")
    )
    counts = found.progress()
    context = {
        **_progress(found, counts, engine.hold_up(found, counts, timezone.now())),
        "project": project,
        "page": Paginator(calls, CALLS_A_PAGE).get_page(request.GET.get("page")),
        "filters": [(name, label, name == show) for name, (label, _calls) in FILTERS.items()],
        "show": show,
    }
    return render(request, "judging/run.html", context)


@require_safe
@members(*RESEARCH)
def run_progress(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The polled part of a run's page. Once the run stands, the page is loaded again as a whole."""
    found = _run(project, pk)
    if found.state != Run.State.RUNNING and request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Refresh": "true", "Cache-Control": "no-store"})
    counts = found.progress()
    hold_up = engine.hold_up(found, counts, timezone.now())
    etag = _etag(found, counts, hold_up)
    response: HttpResponse
    if isinstance(get_conditional_response(request, etag=etag), HttpResponseNotModified):
        response = HttpResponseNotModified()
    else:
        response = render(
            request, "judging/run.html#progress", {**_progress(found, counts, hold_up), "project": project}
        )
    response.headers["ETag"] = etag
    patch_cache_control(response, private=True, no_cache=True)
    return response


@require_safe
@members(*RESEARCH)
def call(request: MemberRequest, project: Project, pk: int, position: int) -> HttpResponse:
    """One call with all that was kept of it."""
    found = _run(project, pk)
    asked = get_object_or_404(
        found.calls.select_related(
            "item", "response", "other", "question", "dimension", "checklist", "written", "follows"
        ),
        position=position,
    )
    beside = found.calls.values_list("position", flat=True)
    context = {
        "project": project,
        "run": found,
        "call": asked,
        "verdicts": asked.verdicts.select_related("question", "response", "other", "dimension"),
        "previous": beside.filter(position__lt=position).order_by("-position").first(),
        "next": beside.filter(position__gt=position).order_by("position").first(),
    }
    return render(request, "judging/call.html", context)


def _run(project: Project, pk: int) -> Run:
    return get_object_or_404(Run.objects.select_related("judge", "round"), project=project, pk=pk)


def _steer(request: MemberRequest, run: Run) -> None:
    """Do what the pressed button says, and say what came of it."""
    action = request.POST.get("action")
    try:
        if action == "pause" and engine.pause(run):
            messages.info(request, gettext("The run is paused. Calls that are under way are still stored."))
        elif action == "resume" and engine.resume(run):
            messages.success(request, gettext("The run goes on."))
        elif action == "cancel" and engine.cancel(run):
            messages.info(request, gettext("The run is cancelled. Its verdicts so far are kept."))
        elif action == "retry" and (number := engine.retry_failed(run)):
            sentence = ngettext(
                "%(number)s failed call is asked again.", "%(number)s failed calls are asked again.", number
            )
            messages.success(request, sentence % {"number": f"{number:,}"})
        elif action == "repeat":
            number = engine.add_repeats(run, _read(RepeatForm(request.POST), "more"))
            sentence = ngettext("%(number)s call is added.", "%(number)s calls are added.", number)
            messages.success(request, sentence % {"number": f"{number:,}"})
        elif action == "limit":
            engine.limit_spending(run, _read(LimitForm(request.POST), "spending_cap"))
            goes_on = engine.resume(run)
            sentence = gettext("The limit is set, and the run goes on.") if goes_on else gettext("The limit is set.")
            messages.success(request, sentence)
        else:
            messages.warning(request, gettext("Nothing was done: the run has moved on since this page was loaded."))
    except engine.PlanError as error:
        messages.error(request, str(error))


def _read(form: forms.Form, name: str) -> Any:
    """The value of the one field of a form. Raises PlanError where it is wrong."""
    if not form.is_valid():
        problem = form.errors[name].as_data()[0].messages[0]
        raise engine.PlanError(gettext("%(field)s: %(problem)s") % {"field": form[name].label, "problem": problem})
    return form.cleaned_data[name]


def _etag(run: Run, counts: dict[str, int], hold_up: str) -> str:
    """Changes whenever the progress of the run does, or what holds it up."""
    numbers = "-".join(str(number) for number in counts.values())
    return f'"{run.pk}-{run.state}-{numbers}-{zlib.crc32(hold_up.encode())}-{get_language()}"'


def _progress(run: Run, counts: dict[str, int], hold_up: str) -> dict[str, object]:
    finished = counts["done"] + counts["failed"]
    usage = run.usage()
    return {
        "run": run,
        "etag": _etag(run, counts, hold_up),
        "counts": counts,
        "finished": finished,
        "summary": engine.summary(run),
        "hold_up": hold_up,
        "failures": engine.failures(run) if counts["failed"] else [],
        "usage": usage,
        "cost": run.cost(usage),
        "from_cache": run.calls.filter(from_cache=True, state=Call.State.DONE).count(),
        "seconds_left": engine.seconds_left(run, counts, timezone.now()),
        "repeats_left": engine.MOST_REPEATS - run.repeats,
    }

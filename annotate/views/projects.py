"""The list of one's projects, a project's overview, and its settings."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate import overview
from annotate.access import CURATE, EVERYBODY, MemberRequest, members
from annotate.forms.projects import NewProjectForm, ProjectForm
from annotate.models import Membership, Project, Role, User
from annotate.rendering import prose

LATEST_RUNS = 5


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The reader's projects, each with what to do next."""
    memberships = (
        Membership.objects.filter(user=cast(User, request.user))
        .select_related("project", "user")
        .order_by("project__name", "pk")
    )
    rows = [(membership, overview.next_step(membership)) for membership in memberships]
    may_create = request.user.has_perm("annotate.add_project")
    return render(request, "annotate/home.html", {"rows": rows, "may_create": may_create})


@require_http_methods(["GET", "POST"])
def project_create(request: HttpRequest) -> HttpResponse:
    """A new project, whose creator becomes its curator. Others are told whom to ask."""
    if not request.user.has_perm("annotate.add_project"):
        return render(request, "annotate/project_refused.html", status=403)
    form = NewProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        project = form.save(commit=False)
        project.slug = form.cleaned_data["slug"]
        try:
            with transaction.atomic():
                project.save()
                Membership.objects.create(project=project, user=cast(User, request.user), role=Role.CURATOR)
        except IntegrityError:
            form.add_error("slug", _("Somebody has just taken this address: write another one here."))
        else:
            messages.success(request, _("The project is there, and you are its curator."))
            return redirect("project", project.slug)
    return render(request, "annotate/project_create.html", {"form": form})


@require_safe
@members(*EVERYBODY)
def project(request: MemberRequest, project: Project) -> HttpResponse:
    """The overview: where the project stands for its researchers, what there is to do for its annotators."""
    if request.membership.role == Role.ANNOTATOR:
        work = overview.work_for(project, request.user)
        mine = overview.worked_in(project, request.user)
        context = {"project": project, "work": work, "mine": mine, "guidelines": prose(project.guidelines)}
        return render(request, "annotate/project_annotator.html", context)
    return render(
        request,
        "annotate/project.html",
        {
            "project": project,
            "step": overview.next_step(request.membership),
            "counts": overview.counts_of(project),
            "rounds": project.rounds.with_progress(),
            "runs": [(run, run.progress()) for run in project.runs.select_related("judge", "round")[:LATEST_RUNS]],
        },
    )


@require_http_methods(["GET", "POST"])
@members(*CURATE)
def project_settings(request: MemberRequest, project: Project) -> HttpResponse:
    """Name, description, guidelines and scale."""
    form = ProjectForm(request.POST or None, instance=project)
    if request.method == "POST":
        if form.is_valid():
            form.save()
            messages.success(request, _("The settings are saved."))
            return redirect("project_settings", project.slug)
        # The page around the form shows the project as it is, not as it was typed.
        project.refresh_from_db()
    return render(request, "annotate/project_form.html", {"project": project, "form": form})

"""Dimensions: the qualities that every response of a project can be judged on, each with a checklist of its own."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate.access import CURATE, RESEARCH, MemberRequest, members
from annotate.addresses import number_in
from annotate.forms.dimensions import DimensionForm, DimensionQuestionsForm
from annotate.models import Checklist, Dimension, Project


@require_safe
@members(*RESEARCH)
def dimensions(request: MemberRequest, project: Project) -> HttpResponse:
    found = list(project.dimensions.with_drafts())
    approved = Checklist.objects.annotate(n_questions=Count("questions")).newest_of_dimensions(found)
    context = {
        "project": project,
        "rows": [(dimension, approved.get(dimension.pk)) for dimension in found if not dimension.archived],
        "archived": [dimension for dimension in found if dimension.archived],
        "curates": _curates(request),
    }
    return render(request, "annotate/dimensions/dimensions.html", context)


@require_http_methods(["GET", "POST"])
@members(*CURATE)
def dimension_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = DimensionForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        made = form.save()
        messages.success(request, _("The dimension is there. Write its questions next."))
        return redirect("dimension", project.slug, made.pk)
    return render(request, "annotate/dimensions/form.html", {"project": project, "form": form})


@require_http_methods(["GET", "POST"])
@members(*CURATE)
def dimension_edit(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Name, definition and scale."""
    found = get_object_or_404(Dimension, project=project, pk=pk)
    form = DimensionForm(request.POST or None, instance=found, project=project)
    if request.method == "POST":
        if form.is_valid():
            form.save()
            messages.success(request, _("The dimension is saved."))
            return redirect("dimension", project.slug, pk)
        found.refresh_from_db()  # the page around the form shows the dimension as it is, not as it was typed
    return render(request, "annotate/dimensions/form.html", {"project": project, "dimension": found, "form": form})


@require_http_methods(["GET", "POST"])
@members(*RESEARCH)
def dimension(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """A dimension with one version of its checklist: the newest one, or the one that the address names."""
    found = get_object_or_404(Dimension, project=project, pk=pk)
    shown = _shown(request, found)
    form = DimensionQuestionsForm(checklist=shown)
    if request.method == "POST":
        if not _curates(request):
            raise PermissionDenied(_("Researchers read dimensions; ask a curator of the project to change them."))
        action = request.POST.get("action", "save")
        if action in {"archive", "restore", "retire"}:
            _put_away(request, found, shown, action)
            return redirect("dimension", project.slug, pk)
        form = DimensionQuestionsForm(request.POST, checklist=shown)
        if form.is_valid():
            try:
                kept = _saved(request, found, shown, form, action)
            except ValidationError as error:  # somebody else approved or retired the draft meanwhile
                messages.error(request, error.messages[0])
                return redirect("dimension", project.slug, pk)
            return redirect(f"{reverse('dimension', args=[project.slug, pk])}?version={kept.version}")
    context = {
        "project": project,
        "dimension": found,
        "checklist": shown,
        "form": form,
        "versions": found.checklists.select_related("created_by", "parent")
        .annotate(n_questions=Count("questions"))
        .order_by("-version"),
        "curates": _curates(request),
    }
    return render(request, "annotate/dimensions/dimension.html", context)


def _shown(request: MemberRequest, dimension: Dimension) -> Checklist | None:
    version = request.GET.get("version")
    if version is None:
        return dimension.newest_checklist
    shown = dimension.checklists.select_related("parent", "approved_by")
    return get_object_or_404(shown, version=number_in(version, digits=9))


def _saved(
    request: MemberRequest, dimension: Dimension, shown: Checklist | None, form: DimensionQuestionsForm, action: str
) -> Checklist:
    """Save the questions, and approve them where the action says so. Raises ValidationError where the draft is no
    longer one."""
    texts, subdimensions = form.texts, form.subdimensions
    if shown is None:
        kept = Checklist.write(dimension, texts, subdimensions=subdimensions, created_by=request.user)
    elif form.changed or shown.state == Checklist.State.RETIRED:
        kept = shown.edit(texts, request.user, subdimensions=subdimensions)
    else:
        kept = shown
    if action == "approve":
        kept.approve(request.user)
        messages.success(request, _("Approved version %(version)d.") % {"version": kept.version})
    elif kept is shown and not form.changed:
        messages.info(request, _("Nothing was changed."))
    else:
        messages.success(request, _("Version %(version)d is saved as a draft.") % {"version": kept.version})
    return kept


def _put_away(request: MemberRequest, dimension: Dimension, shown: Checklist | None, action: str) -> None:
    if action == "archive":
        dimension.archive()
        messages.success(request, _("The dimension is archived: no new run judges by it."))
    elif action == "restore":
        dimension.restore()
        messages.success(request, _("The dimension is in use again."))
    elif shown is not None:
        shown.retire()
        messages.success(
            request, _("Retired version %(version)d: no new run will use it.") % {"version": shown.version}
        )


def _curates(request: MemberRequest) -> bool:
    return request.membership.role in CURATE

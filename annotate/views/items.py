"""Items: what is judged. Import them, find them, read one with its responses and checklists."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotate import importing
from annotate.access import CURATE, RESEARCH, MemberRequest, members
from annotate.forms.items import ItemFilter, UploadForm
from annotate.importing.load import ImportRefused, commit, preview
from annotate.models import Item, Project, Upload

PAGE = 50
EXAMPLES = Path(importing.__file__).parent / "examples"


@require_safe
@members(*RESEARCH)
def items(request: MemberRequest, project: Project) -> HttpResponse:
    form = ItemFilter(request.GET, project=project)
    found = project.items.with_overview()
    if form.is_valid():
        for name in ("category", "language"):
            if form.cleaned_data[name]:
                found = found.filter(**{name: form.cleaned_data[name]})
        if form.cleaned_data["q"]:
            found = found.matching(form.cleaned_data["q"])
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "form": form,
        "page": page,
        "filtered": any(request.GET.get(name) for name in form.fields),
    }
    return render(request, "annotate/items/items.html", context)


@require_safe
@members(*RESEARCH)
def item(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    found = get_object_or_404(Item, project=project, pk=pk)
    checklists = (
        found.checklists.select_related("created_by", "parent")
        .annotate(n_questions=Count("questions"))
        .order_by("-version")
    )
    context = {
        "project": project,
        "item": found,
        "metadata": json.dumps(found.metadata, ensure_ascii=False, indent=2) if found.metadata else "",
        "responses": found.responses.all(),
        "checklists": checklists,
        "plain": request.GET.get("text") == "plain",
    }
    return render(request, "annotate/items/item.html", context)


@members(*CURATE)
def import_items(request: MemberRequest, project: Project) -> HttpResponseBase:
    """Choose a file. One without errors is kept for its preview, in place of any earlier one of the same person."""
    if "example" in request.GET:
        return _example(request.GET["example"])
    if request.method != "POST":
        return _import_page(request, project, UploadForm())
    form = UploadForm(request.POST, request.FILES)
    if form.is_valid():
        file = form.cleaned_data["file"]
        content = file.read()
        errors = preview(project, file.name, content).errors
        if errors:
            return _import_page(request, project, form, file.name, errors)
        Upload.objects.filter(project=project, user=request.user).delete()
        upload = Upload.objects.create(project=project, user=request.user, filename=file.name, content=content)
        return redirect("import_preview", project.slug, upload.pk)
    return _import_page(request, project, form)


@members(*CURATE)
def import_preview(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """What the file would bring in; imports it or discards it."""
    upload = Upload.objects.filter(project=project, user=request.user, pk=pk).first()
    if upload is None:
        if request.method == "POST":  # pressed twice: the first press did it
            messages.info(request, _("This file was imported or discarded already."))
            return redirect("items", project.slug)
        raise Http404("This file was imported or discarded already.")
    content = bytes(upload.content)
    if request.method == "POST":
        upload.delete()
        if request.POST.get("action") != "import":
            messages.info(request, _("%(file)s was not imported.") % {"file": upload.filename})
            return redirect("import_items", project.slug)
        try:
            counts = commit(project, upload.filename, content, request.user)
        except ImportRefused as error:
            return _import_page(request, project, UploadForm(), upload.filename, error.errors)
        messages.success(request, _("Imported %(counts)s.") % {"counts": counts})
        return redirect("items", project.slug)
    seen = preview(project, upload.filename, content)
    if seen.errors:
        upload.delete()
        return _import_page(request, project, UploadForm(), upload.filename, seen.errors)
    return render(request, "annotate/items/preview.html", {"project": project, "upload": upload, "preview": seen})


def _import_page(
    request: MemberRequest, project: Project, form: UploadForm, filename: str = "", errors: Sequence[str] = ()
) -> HttpResponse:
    context = {
        "project": project,
        "form": form,
        "filename": filename,
        "errors": errors,
        "examples": [(path.name, path.read_text()) for path in _examples().values()],
    }
    return render(request, "annotate/items/import.html", context)


def _examples() -> dict[str, Path]:
    return {name: EXAMPLES / name for name in ("items.jsonl", "items.csv")}


def _example(name: str) -> FileResponse:
    path = _examples().get(name)
    if path is None:
        raise Http404("The examples are items.jsonl and items.csv.")
    return FileResponse(path.open("rb"), as_attachment=True, filename=name)

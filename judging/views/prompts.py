"""The prompts of a project: listed, read with a preview, replaced by the project's own, and taken back."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate.access import CURATE, RESEARCH, MemberRequest, members
from annotate.characters import printable
from annotate.models import Project
from judging import wording
from judging.forms.prompts import PromptForm
from judging.models import Prompt
from judging.prompts.placeholders import placeholders_of


@require_safe
@members(*RESEARCH)
def prompts(request: MemberRequest, project: Project) -> HttpResponse:
    return render(request, "judging/prompts/prompts.html", {"project": project, "rows": wording.overview(project)})


@require_http_methods(["GET", "POST"])
@members(*RESEARCH)
def prompt(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    """One prompt, in the version in use or in the one that the address names; curators may write another."""
    one = wording.wording(name)
    if one is None:
        raise Http404(_("There is no such prompt."))
    curates = request.membership.role in CURATE
    used = Prompt.objects.of(project, name)
    if request.method == "POST" and not curates:
        raise PermissionDenied(_("Researchers read prompts; ask a curator of the project to change them."))
    if request.method == "POST" and request.POST.get("action") == "use":
        again = Prompt.objects.pinned(project, name, request.POST.get("version", ""))
        if again is None:
            raise Http404(_("There is no such version."))
        return _use(request, project, name, again.source)
    shown = Prompt.objects.pinned(project, name, request.GET.get("version", "")) or used
    chosen = request.POST or request.GET
    source = request.POST.get("source", shown.source)
    saved = request.POST if request.POST.get("action") == "save" else None
    form = PromptForm(saved, project=project, name=name, source=source, seen=request.POST.get("seen", ""))
    if saved and form.is_valid():
        return _use(request, project, name, form.cleaned_data["source"])
    context = {
        "project": project,
        "one": one,
        "used": used,
        "shown": shown,
        "curates": curates,
        "form": form,
        "preview": wording.preview(
            project,
            one,
            source,
            item=_number(chosen, "item"),
            external_id=printable(chosen.get("external_id", "")).strip(),
            response=_number(chosen, "response"),
        ),
        "placeholders": placeholders_of(one.brought),
        "changes": wording.changes(one, shown),
        "versions": wording.versions(project, one),
    }
    return render(request, "judging/prompts/prompt.html", context)


def _use(request: MemberRequest, project: Project, name: str, source: str) -> HttpResponse:
    """Put a text into use, and say what came of it."""
    before = Prompt.objects.of(project, name).version
    now = Prompt.replace(project, name, source, request.user).version
    if now == before:
        messages.info(request, _("Nothing was done: this text is in use already."))
    else:
        sentence = _("Version %(version)s is in use, for runs that are started from now on.")
        messages.success(request, sentence % {"version": now})
    return redirect("prompt", project.slug, name)


def _number(chosen: QueryDict, name: str) -> int | None:
    given = chosen.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 18 else None

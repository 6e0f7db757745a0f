"""Checklists: the queue of drafts, and one checklist to review, edit, approve and retire."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import writing
from annotate.access import CURATE, RESEARCH, MemberRequest, members
from annotate.addresses import number_in
from annotate.differences import question_changes
from annotate.forms.checklists import QuestionsForm
from annotate.models import Checklist, Item, Project, Round
from annotate.models.checklist import ChecklistQuerySet
from annotate.reported import reports_of

PAGE = 25
MISSING = "missing"


@members(*RESEARCH)
def checklists(request: MemberRequest, project: Project) -> HttpResponse:
    """Drafts to review come first; the other tabs show what is approved, retired, or still missing.

    What was made of a withdrawn or surplus submission says so, and is not approved with all that a page shows."""
    everything = Checklist.objects.filter(item__project=project)
    if request.method == "POST":
        _require_curator(request)
        _approve_chosen(request, everything.drafts())
        return redirect(request.get_full_path())
    counts = dict.fromkeys(Checklist.State.values, 0) | dict(
        everything.order_by().values_list("state").annotate(n=Count("pk"))
    )
    missing = project.items.without_checklist()
    counts[MISSING] = missing.count()
    state = request.GET.get("state", Checklist.State.DRAFT)
    if state not in counts:
        state = Checklist.State.DRAFT
    listed = (
        missing
        if state == MISSING
        else everything.filter(state=state)
        .select_related("item", "created_by", "approved_by", "parent")
        .prefetch_related("questions")
        .order_by("pk" if state == Checklist.State.DRAFT else "-pk")
    )
    page = Paginator(listed, PAGE).get_page(request.GET.get("page"))
    marked = writing.uncounted(each for each in page if isinstance(each, Checklist))
    context = {
        "project": project,
        "state": state,
        "tabs": [
            (Checklist.State.DRAFT, _("To review"), counts[Checklist.State.DRAFT]),
            (Checklist.State.APPROVED, _("Approved"), counts[Checklist.State.APPROVED]),
            (Checklist.State.RETIRED, _("Retired"), counts[Checklist.State.RETIRED]),
            (MISSING, _("Items without a checklist"), counts[MISSING]),
        ],
        "page": page,
        "entries": [(each, marked.get(each.pk)) for each in page],
        "n_unmarked": len(page) - len(marked),
        "n_missing": counts[MISSING],
        "n_items": project.items.count(),
        "n_reported": len(reports_of(project)),
        # The machine side's runs, by their relation alone: nothing here imports it.
        "generating": project.runs.filter(kind="generation", state__in=["running", "paused"]),
        "curates": _curates(request),
    }
    return render(request, "annotate/checklists/checklists.html", context)


@members(*RESEARCH)
def checklist(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The instruction beside the questions. Approving saves what is in the box, so no edit can be forgotten."""
    found = get_object_or_404(
        Checklist.objects.select_related("item", "parent", "created_by", "approved_by"),
        item__project=project,
        pk=pk,
    )
    language = found.item.language if found.item else ""
    form = QuestionsForm(checklist=found, language=language)
    if request.method == "POST":
        _require_curator(request)
        action = request.POST.get("action", "save")
        if action == "retire":
            found.retire()
            messages.success(
                request, _("Retired version %(version)d: no new round will use it.") % {"version": found.version}
            )
            return redirect("checklist", project.slug, found.pk)
        form = QuestionsForm(request.POST, checklist=found, language=language)
        if form.is_valid():
            try:
                return _saved(request, project, found, form, action)
            except ValidationError as error:
                messages.error(request, error.messages[0])
                return redirect("checklist", project.slug, found.pk)
    return render(request, "annotate/checklists/checklist.html", _review(request, project, found, form))


@members(*CURATE)
def checklist_create(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Write a checklist by hand."""
    item = get_object_or_404(Item, project=project, pk=pk)
    form = QuestionsForm(request.POST if request.method == "POST" else None, language=item.language)
    if request.method == "POST" and form.is_valid():
        made = Checklist.write(item, form.cleaned_data["questions"], created_by=request.user)
        if request.POST.get("action") == "approve":
            made.approve(request.user)
        messages.success(
            request,
            _("Version %(version)d is %(state)s.")
            % {"version": made.version, "state": made.get_state_display().lower()},
        )
        return redirect("checklist", project.slug, made.pk)
    context = {"project": project, "item": item, "form": form}
    return render(request, "annotate/checklists/create.html", context)


def _saved(
    request: MemberRequest, project: Project, found: Checklist, form: QuestionsForm, action: str
) -> HttpResponse:
    """Save the questions, approve where asked, and go where the pressed button says.

    Raises ValidationError when somebody else approved or retired the draft meanwhile.
    """
    kept = found
    if form.changed or found.state == Checklist.State.RETIRED:
        kept = found.edit(form.cleaned_data["questions"], request.user)
    if action in {"approve", "next"}:
        kept.approve(request.user)
        messages.success(
            request,
            _("Approved version %(version)d of %(item)s.") % {"version": kept.version, "item": found.item},
        )
    elif kept.pk != found.pk:
        messages.success(
            request,
            _("Version %(new)d is a new draft; version %(old)d stays as it is.")
            % {"new": kept.version, "old": found.version},
        )
    else:
        messages.success(request, _("Saved.") if form.changed else _("Nothing was changed."))
    if action != "next":
        return redirect("checklist", project.slug, kept.pk)
    draft = _next_draft(project, kept)
    if draft is None:
        messages.success(request, _("That was the last draft."))
        return redirect("checklists", project.slug)
    return redirect("checklist", project.slug, draft.pk)


def _review(request: MemberRequest, project: Project, found: Checklist, form: QuestionsForm) -> dict[str, object]:
    parent, item = found.parent, found.item
    assert item is not None  # noqa: S101 - the address finds checklists of items
    versions = (
        item.checklists.select_related("created_by", "approved_by", "parent")
        .annotate(n_questions=Count("questions", distinct=True), n_rounds=Count("tasks__round", distinct=True))
        .order_by("-version")
    )
    return {
        "project": project,
        "checklist": found,
        "item": item,
        "form": form,
        "questions": form.stored,
        "changes": question_changes([q.text for q in parent.questions.all()], form.stored) if parent else [],
        "source": writing.uncounted([found]).get(found.pk),
        "versions": versions,
        "rounds": Round.objects.filter(tasks__checklist=found).distinct(),
        "next_draft": _next_draft(project, found),
        "n_drafts": Checklist.objects.filter(item__project=project).drafts().count(),
        "curates": _curates(request),
    }


def _next_draft(project: Project, after: Checklist) -> Checklist | None:
    """The draft that follows in the queue, from its beginning again after the last one."""
    drafts = Checklist.objects.filter(item__project=project).drafts().exclude(pk=after.pk).order_by("pk")
    return drafts.filter(pk__gt=after.pk).first() or drafts.first()


def _approve_chosen(request: MemberRequest, drafts: ChecklistQuerySet) -> None:
    """Approve the ticked drafts, or all that the page showed, whichever button was pressed."""
    name = "shown" if request.POST.get("action") == "approve_all" else "draft"
    chosen = {number_in(pk) for pk in request.POST.getlist(name)} - {0}
    approved = 0
    for draft in drafts.filter(pk__in=chosen):
        try:
            draft.approve(request.user)
        except ValidationError:  # somebody else was quicker
            continue
        approved += 1
    if not chosen:
        messages.warning(request, _("Nothing was approved: tick the checklists first."))
        return
    sentence = ngettext(
        "Approved %(approved)d of %(n)d checklist.", "Approved %(approved)d of %(n)d checklists.", len(chosen)
    )
    messages.success(request, sentence % {"approved": approved, "n": len(chosen)})


def _curates(request: MemberRequest) -> bool:
    return request.membership.role in CURATE


def _require_curator(request: MemberRequest) -> None:
    if not _curates(request):
        raise PermissionDenied(_("Researchers read checklists; ask a curator of the project to change them."))

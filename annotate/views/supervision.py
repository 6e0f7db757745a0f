"""What researchers see and do behind a round: its people, seats, labels, arms, and what annotators report."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from annotate import supervision
from annotate.access import CURATE, RESEARCH, MemberRequest, members
from annotate.addresses import number_in
from annotate.assignment import participation
from annotate.characters import printable
from annotate.contents import Content
from annotate.labelling import NotCorrectable
from annotate.models import Annotation, Assignment, Experiment, Project, Removal, Round, Task, User
from annotate.reported import reports_of
from annotate.reveal import looks_of
from annotate.said import Row, side_by_side
from annotate.sheets import sheet_of
from annotate.supervision import NotDone

TASKS_PAGE = 20
SEATS_PAGE = 50


@members(*RESEARCH)
def round_annotator(request: MemberRequest, project: Project, pk: int, person: int) -> HttpResponse:
    """The sheet of one annotator in a round, and what can be done about them."""
    round = _round_for_labels(project, pk)
    annotator = _annotator(round, person)
    if request.method == "POST":
        _act_on_annotator(request, round, annotator)
        if request.POST.get("back") == "round":
            return redirect("round", project.slug, pk)
        return redirect("round_annotator", project.slug, pk, person)
    context = {
        "project": project,
        "round": round,
        "annotator": annotator,
        "part": participation(round, annotator),
        "holdings": supervision.holdings(round, annotator),
        "sheet": sheet_of(round, annotator),
    }
    return render(request, "annotate/rounds/annotator.html", context)


@members(*RESEARCH)
def round_remove(request: MemberRequest, project: Project, pk: int, person: int) -> HttpResponse:
    """Says what a removal would touch, and removes."""
    round = _round_for_labels(project, pk)
    annotator = _annotator(round, person)
    chosen = request.POST.get("labels", "")
    if request.method == "POST" and chosen in Removal.Labels.values:
        try:
            supervision.remove(round, annotator, chosen, request.user, _reason(request))
            messages.success(request, _("%(name)s works in this round no more.") % {"name": annotator})
        except NotDone as error:
            messages.info(request, str(error))
        return redirect("round", project.slug, pk)
    context = {
        "project": project,
        "round": round,
        "annotator": annotator,
        "holdings": supervision.holdings(round, annotator),
        "error": _("Choose what happens to the labels.") if request.method == "POST" else "",
    }
    return render(request, "annotate/rounds/remove.html", context)


@members(*RESEARCH)
def round_seats(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The seats that annotators hold, to be released or given to somebody else."""
    round = _round_for_labels(project, pk)
    if request.method == "POST":
        _act_on_seats(request, round)
        return redirect(request.get_full_path())
    held = (
        Assignment.objects.in_round(round)
        .filter(state=Assignment.State.LEASED)
        .select_related("task__item", "annotator")
        .order_by("leased_until", "pk")
    )
    context = {
        "project": project,
        "round": round,
        "page": Paginator(held, SEATS_PAGE).get_page(request.GET.get("page")),
        "expired": supervision.expired(round),
        "annotators": supervision.annotators_of(project),
    }
    return render(request, "annotate/rounds/seats.html", context)


@require_safe
@members(*RESEARCH)
def round_labels(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The tasks of a round, with everything that was said about each."""
    round = _round(project, pk)
    said = Annotation.objects.handed_in(round).select_related("annotator").prefetch_related("answers")
    person = request.GET.get("annotator", "")
    if number_in(person):
        said = said.filter(annotator=number_in(person))
    only = {"comments": ~Q(comment=""), "flags": ~Q(flags={}), "uncounted": Q(surplus=True) | Q(state="withdrawn")}
    kept = request.GET.get("only", "")
    if kept in only:
        said = said.filter(only[kept])
    tasks = round.tasks.with_texts().filter(pk__in=said.order_by().values("task")).order_by("position")
    page = Paginator(tasks, TASKS_PAGE).get_page(request.GET.get("page"))
    by_task: dict[int, list[Annotation]] = {}
    for annotation in said.filter(task__in=list(page.object_list)).order_by("annotator__username"):
        by_task.setdefault(annotation.task_id, []).append(annotation)
    context = {
        "project": project,
        "round": round,
        "page": page,
        "rows": [(task, by_task[task.pk], _told(task, by_task[task.pk])) for task in page if task.pk in by_task],
        "annotators": User.objects.filter(annotations__in=Annotation.objects.handed_in(round)).distinct(),
        "person": person,
        "only": kept,
    }
    return render(request, "annotate/rounds/labels.html", context)


@members(*RESEARCH)
def round_label(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """One submission: what it says, what it said before, what its author had seen; and its withdrawal."""
    found = get_object_or_404(
        Annotation.objects.exclude(state=Annotation.State.DRAFT).select_related("annotator"),
        task__round__project=project,
        key_of=None,
        pk=pk,
    )
    task = Round.objects.get(tasks=found.task_id).tasks.with_texts().get(pk=found.task_id)
    if request.method == "POST":
        try:
            supervision.withdraw(found, _reason(request), request.user)
            messages.success(request, _("Withdrawn: the label is kept, and counted nowhere."))
        except (NotDone, NotCorrectable) as error:
            messages.error(request, str(error))
        return redirect("round_label", project.slug, pk)
    revisions = found.revisions.order_by("-version", "-pk")
    context = {
        "project": project,
        "round": task.round,
        "task": task,
        "annotation": found,
        "rows": _told(task, [found]),
        "looks": looks_of(found),
        "revisions": [
            (revision, side_by_side(task, [Content.from_json(revision.content)], named=True)) for revision in revisions
        ],
    }
    return render(request, "annotate/rounds/label.html", context)


@members(*RESEARCH)
def experiment(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The arms of an experiment, and who works in which."""
    found = get_object_or_404(Experiment, project=project, pk=pk)
    people = supervision.annotators_of(project)
    arms = found.arms.annotate(people=Count("placings")).order_by("pk")
    if request.method == "POST":
        person = User.objects.filter(pk=_number(request, "annotator")).first()
        arm = found.arms.filter(pk=_number(request, "arm")).first()
        try:
            if person is None or arm is None:
                raise NotDone(_("Choose an annotator and a round."))
            supervision.place(found, person, arm, request.user)
            messages.success(request, _("%(name)s works in “%(arm)s” from now on.") % {"name": person, "arm": arm})
        except NotDone as error:
            messages.error(request, str(error))
        return redirect("experiment", project.slug, pk)
    context = {
        "project": project,
        "experiment": found,
        "arms": arms,
        "placings": found.placings.select_related("annotator", "round").order_by("round", "annotator__username"),
        "annotators": people,
    }
    return render(request, "annotate/rounds/experiment.html", context)


@require_safe
@members(*RESEARCH)
def reported(request: MemberRequest, project: Project) -> HttpResponse:
    """The questions that annotators reported as wrong."""
    page = Paginator(reports_of(project), TASKS_PAGE).get_page(request.GET.get("page"))
    context = {"project": project, "page": page, "curates": request.membership.role in CURATE}
    return render(request, "annotate/checklists/reported.html", context)


def _act_on_annotator(request: MemberRequest, round: Round, annotator: User) -> None:
    action = request.POST.get("action")
    try:
        if action == "pause":
            supervision.pause(round, annotator, request.user)
            sentence = _("%(name)s gets no more tasks until you let them in again.")
            messages.success(request, sentence % {"name": annotator})
        elif action == "resume":
            supervision.resume(round, annotator, request.user)
            messages.success(request, _("%(name)s gets tasks again.") % {"name": annotator})
        elif action == "release":
            _say_released(request, supervision.release(round, request.user, annotator=annotator))
    except NotDone as error:
        messages.error(request, str(error))


def _act_on_seats(request: MemberRequest, round: Round) -> None:
    action = request.POST.get("action")
    if action == "release_expired":
        _say_released(request, supervision.release(round, request.user))
    elif action == "release":
        _say_released(request, supervision.release(round, request.user, seats=[_number(request, "seat")]))
    elif action == "reassign":
        seats = Assignment.objects.in_round(round).select_related("task__round__project", "annotator")
        seat = seats.filter(pk=_number(request, "seat")).first()
        to = User.objects.filter(pk=_number(request, "to")).first()
        try:
            if seat is None or to is None:
                raise NotDone(_("Choose who gets the seat."))
            supervision.reassign(seat, to, request.user)
            messages.success(request, _("%(name)s finds the task when they next come.") % {"name": to})
        except NotDone as error:
            messages.error(request, str(error))


def _say_released(request: MemberRequest, n: int) -> None:
    if n:
        sentence = ngettext("%(n)d seat is free again.", "%(n)d seats are free again.", n)
        messages.success(request, sentence % {"n": n})
    else:
        messages.info(request, _("Nothing was held any more: the seats were submitted or freed meanwhile."))


def _told(task: Task, annotations: Iterable[Annotation]) -> list[Row]:
    return side_by_side(task, [Content.of(annotation) for annotation in annotations], named=True)


def _reason(request: MemberRequest) -> str:
    return printable(request.POST.get("reason", "")).strip()


def _number(request: MemberRequest, name: str) -> int:
    """A number from the form; 0, which nothing has, where it cannot be read."""
    return number_in(request.POST.get(name, ""))


def _round(project: Project, pk: int) -> Round:
    rounds = project.rounds.exclude(state=Round.State.DRAFT)
    return get_object_or_404(rounds.select_related("project", "gold", "qualification", "experiment"), pk=pk)


def _round_for_labels(project: Project, pk: int) -> Round:
    """No training set: its people and seats have a page of their own, and no seat or label of it goes to others."""
    round = _round(project, pk)
    if round.is_training:
        raise Http404("This is a training set.")
    return round


def _annotator(round: Round, pk: int) -> User:
    """Somebody who annotates in the project, or did in the round."""
    found = User.objects.filter(Q(memberships__project=round.project) | Q(participations__round=round))
    return get_object_or_404(found.distinct(), pk=pk)

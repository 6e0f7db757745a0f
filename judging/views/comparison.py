"""A run beside people, judges beside each other, and the units on which they differ."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotate.access import RESEARCH, MemberRequest, members
from annotate.exporting.streams import download
from annotate.models import Project, Round, User
from judging import beside, disagreements
from judging.beside import Section
from judging.hearing import facets_beside
from judging.models import Run

UNITS_A_PAGE = 10


@require_safe
@members(*RESEARCH)
def run_comparison(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """A run beside the people of a round: of its own, or of the one that the address names."""
    run = _run(project, pk)
    rounds = beside.rounds_beside(run)
    round = _chosen(request, rounds)
    sections = beside.sections_of(run, round)
    names = {user.pk: user.display_name for user in _people(sections)}
    context = {
        "project": project,
        "run": run,
        "rounds": rounds,
        "round": round,
        "sections": sections,
        "names": names,
    }
    return render(request, "judging/comparison.html", context)


@require_safe
@members(*RESEARCH)
def export_comparison(request: MemberRequest, project: Project, pk: int, format: str) -> HttpResponseBase:
    """The figures of the page, one row for each."""
    run = _run(project, pk)
    round = _chosen(request, beside.rounds_beside(run))
    rows = beside.figure_rows(run, round, beside.sections_of(run, round))
    return download(rows, beside.FIGURE_COLUMNS, format, f"{project.slug}-run-{run.pk}-comparison")


@require_safe
@members(*RESEARCH)
def run_disagreements(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The units on which a run and people differ, or a run and another one (`?beside=RUN`)."""
    run = _run(project, pk)
    rounds = beside.rounds_beside(run)
    round = _chosen(request, rounds)
    named = request.GET.get("beside", "")
    other = _run(project, int(named)) if named.isascii() and named.isdecimal() and len(named) < 18 else None
    facets = facets_beside(run, round)
    if other:
        facets = [facet for facet in facets if facet in facets_beside(other, round)]
    facet = next((facet for facet in facets if facet.kind == request.GET.get("facet")), next(iter(facets), None))
    cell = request.GET.get("said", ""), request.GET.get("judged", "")
    listed = disagreements.Listed.of(run, other, round, facet, *cell) if facet and (other or round) else None
    page = Paginator(listed.differences if listed else [], UNITS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "run": run,
        "other": other,
        "round": round,
        "facets": facets,
        "facet": facet,
        "listed": listed,
        "page": page,
        "shown": listed.shown(list(page)) if listed else [],
        "cell": cell if all(cell) else None,
    }
    return render(request, "judging/comparison_disagreements.html", context)


@require_safe
@members(*RESEARCH)
def round_judges(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The judges of a round beside each other, and each of them and all together beside the people."""
    round = get_object_or_404(project.rounds.for_labels(), pk=pk)
    runs = beside.runs_on(round)
    chosen = _chosen_runs(request, round, runs)
    context = {
        "project": project,
        "round": round,
        "runs": [(run, run in chosen) for run in runs],
        "benches": beside.benches_of(round, chosen),
    }
    return render(request, "judging/comparison_judges.html", context)


def _run(project: Project, pk: int) -> Run:
    runs = Run.objects.select_related("judge", "round", "project").filter(kind=Run.Kind.JUDGING)
    return get_object_or_404(runs, project=project, pk=pk)


def _chosen(request: HttpRequest, rounds: Sequence[Round]) -> Round | None:
    """The round that the address names, else the first. Raises Http404 for one that does not stand beside the run."""
    named = request.GET.get("people", "")
    if not named:
        return rounds[0] if rounds else None
    for round in rounds:
        if str(round.pk) == named:
            return round
    raise Http404(_("This round has no unit of the run: choose another one."))


def _chosen_runs(request: HttpRequest, round: Round, runs: Sequence[Run]) -> list[Run]:
    """The runs that the address names; without any, those of the round that are finished."""
    named = set(request.GET.getlist("run"))
    if named:
        return [run for run in runs if str(run.pk) in named]
    return [run for run in runs if run.state == Run.State.FINISHED and run.round == round]


def _people(sections: Sequence[Section]) -> QuerySet[User]:
    raters = {str(ceiling.person) for section in sections for ceiling in section.ceilings}
    return User.objects.filter(pk__in=raters)

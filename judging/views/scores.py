"""What a run says about each response, as a page and as a download."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotate.access import RESEARCH, MemberRequest, members
from annotate.exporting.streams import download
from annotate.models import Project
from judging.costs import projection
from judging.exporting import WEIGHT_COLUMNS, score_columns, score_rows, weight_rows
from judging.forms.scores import ScoresForm
from judging.models import Run
from judging.scores import scores_of, weights_of

ROWS_A_PAGE = 50


@require_safe
@members(*RESEARCH)
def run_scores(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    run, form = _run(project, pk), _form(request)
    scores = scores_of(run, **form.choice)
    page = Paginator(scores.rows, ROWS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "run": run,
        "form": form,
        "scores": scores,
        "page": page,
        "rows": [(row, row.cells(scores.columns)) for row in page],
        "query": form.query,
        "weights": weights_of(scores, list(page)),
        "projection": projection(run),
    }
    return render(request, "judging/scores.html", context)


@require_safe
@members(*RESEARCH)
def export_scores(request: MemberRequest, project: Project, pk: int, format: str) -> HttpResponseBase:
    """The table by the same choice as on the page."""
    run, form = _run(project, pk), _form(request)
    scores = scores_of(run, **form.choice)
    rows = score_rows(run, scores, form.choice["missing"])
    return download(rows, score_columns(scores), format, f"{project.slug}-run-{run.pk}-scores")


@require_safe
@members(*RESEARCH)
def export_scores_weights(request: MemberRequest, project: Project, pk: int, format: str) -> HttpResponseBase:
    """What the questions weigh in the supervised scores."""
    run = _run(project, pk)
    rows = weight_rows(run, scores_of(run, supervised=True))
    return download(rows, WEIGHT_COLUMNS, format, f"{project.slug}-run-{run.pk}-weights")


def _run(project: Project, pk: int) -> Run:
    return get_object_or_404(Run.objects.select_related("judge", "round", "project"), project=project, pk=pk)


def _form(request: HttpRequest) -> ScoresForm:
    return ScoresForm(request.GET)

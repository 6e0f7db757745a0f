"""Downloads of what judges said."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotate.access import RESEARCH, MemberRequest, members
from annotate.exporting.streams import download
from annotate.models import Project
from judging.exporting import VERDICT_COLUMNS, verdict_rows
from judging.models import Run


@require_safe
@members(*RESEARCH)
def export_verdicts(request: MemberRequest, project: Project, pk: int, format: str) -> HttpResponseBase:
    run = get_object_or_404(Run.objects.select_related("judge", "round"), project=project, pk=pk)
    return download(verdict_rows(run), VERDICT_COLUMNS, format, f"{project.slug}-run-{run.pk}-verdicts")

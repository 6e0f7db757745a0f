"""Downloads of what people said."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotate.access import RESEARCH, MemberRequest, members
from annotate.exporting.labels import COLUMNS, label_rows
from annotate.exporting.streams import download
from annotate.models import Project, Round


@require_safe
@members(*RESEARCH)
def export_labels(request: MemberRequest, project: Project, pk: int, format: str) -> HttpResponseBase:
    round = get_object_or_404(Round, project=project, pk=pk)
    return download(label_rows(round), COLUMNS, format, f"{project.slug}-round-{round.pk}-labels")

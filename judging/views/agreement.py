"""The live panel of a round: how far people agree with one another, and every judge with the people."""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseNotModified
from django.shortcuts import get_object_or_404, render
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from annotate import progress
from annotate.access import RESEARCH, MemberRequest, members
from annotate.models import Project, Round
from judging import curves, live


@require_safe
@members(*RESEARCH)
def agreement(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The page, or for htmx the panel or the curve alone: 304 without reading any cell while nothing has changed.
    Beside the progress of the round, the panel brings that along."""
    round = get_object_or_404(project.rounds.for_labels(), pk=pk)
    if request.headers.get("HX-Request") and request.GET.get("part") == "curve":
        return _curve(request, project, round)
    all_questions = request.GET.get("questions") == "all"
    is_poll = bool(request.headers.get("HX-Request"))
    beside_progress = is_poll and request.GET.get("beside") == "progress" and progress.moves_along(round)
    moved = progress.version(round) if beside_progress else ""
    etag = _etag(f"{live.version(round, moved)}-{'all' if all_questions else 'worst'}")
    if is_poll and _is_known(request, etag):
        return _fresh(HttpResponseNotModified(headers={"ETag": etag}))
    panel = live.panel(round, all_questions=all_questions)
    context = {
        "project": project,
        "round": round,
        "panel": panel,
        "curve": None if is_poll else curves.curve(round, panel),
        "curve_etag": "" if is_poll else _etag(curves.version(round)),
        "all_questions": all_questions,
        "progress": progress.progress_of(round) if beside_progress else None,
        "etag": etag,
        "tentative": live.TENTATIVE,
        "reliable": live.RELIABLE,
    }
    response = render(request, f"judging/agreement.html{'#panel' if is_poll else ''}", context)
    if is_poll:
        response.headers["ETag"] = etag
    return _fresh(response)


def _curve(request: MemberRequest, project: Project, round: Round) -> HttpResponse:
    etag = _etag(curves.version(round))
    if _is_known(request, etag):
        return _fresh(HttpResponseNotModified(headers={"ETag": etag}))
    context = {
        "project": project,
        "round": round,
        "curve": curves.curve(round, live.panel(round)),
        "curve_etag": etag,
    }
    response = render(request, "judging/agreement.html#curve", context)
    response.headers["ETag"] = etag
    return _fresh(response)


def _etag(version: str) -> str:
    return f'"{version}-{get_language()}"'


def _is_known(request: MemberRequest, etag: str) -> bool:
    return isinstance(get_conditional_response(request, etag=etag), HttpResponseNotModified)


def _fresh(response: HttpResponse) -> HttpResponse:
    """Page and panel share an address: caches must tell them apart, and ask every time."""
    patch_vary_headers(response, ["HX-Request"])
    patch_cache_control(response, private=True, no_cache=True)
    return response

"""The live panel of a round: how far people agree with one another, and every judge with the people."""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseNotModified
from django.shortcuts import get_object_or_404, render
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from annotate.access import RESEARCH, MemberRequest, members
from annotate.models import Project, Round
from judging import live


@require_safe
@members(*RESEARCH)
def agreement(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The page, or for htmx the panel alone: 304 without reading any label while nothing has changed."""
    round = get_object_or_404(Round, project=project, pk=pk)
    all_questions = request.GET.get("questions") == "all"
    etag = f'"{live.version(round)}-{get_language()}-{"all" if all_questions else "worst"}"'
    is_poll = bool(request.headers.get("HX-Request"))
    if is_poll and isinstance(get_conditional_response(request, etag=etag), HttpResponseNotModified):
        return _fresh(HttpResponseNotModified(headers={"ETag": etag}))
    context = {
        "project": project,
        "round": round,
        "panel": live.panel(round, all_questions=all_questions),
        "all_questions": all_questions,
        "etag": etag,
        "tentative": live.TENTATIVE,
        "reliable": live.RELIABLE,
    }
    response = render(request, f"judging/agreement.html{'#panel' if is_poll else ''}", context)
    if is_poll:
        response.headers["ETag"] = etag
    return _fresh(response)


def _fresh(response: HttpResponse) -> HttpResponse:
    """Page and panel share an address: caches must tell them apart, and ask every time."""
    patch_vary_headers(response, ["HX-Request"])
    patch_cache_control(response, private=True, no_cache=True)
    return response

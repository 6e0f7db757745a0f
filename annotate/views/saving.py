"""What the pages share on which a form is saved while somebody else may have saved it too."""

from __future__ import annotations

from typing import TypedDict

from django.http import JsonResponse
from django.template.loader import render_to_string

from annotate.access import MemberRequest
from annotate.addresses import number_in
from annotate.characters import printable
from annotate.contents import Content
from annotate.labelling import StaleSave
from annotate.models import Task
from annotate.said import side_by_side


def version_of(request: MemberRequest) -> int:
    """The version that the form was made from; -1, which is never current, where it cannot be read."""
    return number_in(request.POST.get("version", ""), -1, digits=9)


class Sent(TypedDict):
    """What a save says of itself, beside its content: see `annotate.labelling`."""

    token: str
    version: int


def sent(request: MemberRequest) -> Sent:
    return {"token": printable(request.POST.get("token", ""))[:64], "version": version_of(request)}


def conflict(task: Task, content: Content, error: StaleSave) -> JsonResponse:
    """409 with the stored version, and what was sent and what is stored beside each other."""
    rows = side_by_side(task, [content, Content.of(error.stored)])
    both = {"comparison": rows, "language": task.item.language}
    body = {
        "error": str(error),
        "version": error.stored.version,
        "comparison": render_to_string("annotate/labels/comparison.html", both),
        "same": all(row.same for row in rows),
    }
    return JsonResponse(body, status=409)

"""The page for what nobody foresaw, and for a database that cannot be reached or is too busy."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

RETRY_AFTER_SECONDS = 5


def server_error(request: HttpRequest) -> HttpResponse:
    """503 where the database did not answer in time: the same request may work in a moment. Otherwise 500.

    The pages know nothing of the request, whose user and messages would have to be read from that database.
    """
    if isinstance(sys.exc_info()[1], (OperationalError, InterfaceError)):
        page = HttpResponse(render_to_string("503.html"), status=503)
        page.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return page
    return HttpResponse(render_to_string("500.html"), status=500)

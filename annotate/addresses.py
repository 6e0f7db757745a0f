"""What the query string of an address may hold, and the numbers in what is sent."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

NUL = "%00"
UNKNOWN = "%EF%BF%BD"  # the replacement character, U+FFFD


def number_in(text: str, otherwise: int = 0, *, digits: int = 18) -> int:
    """The whole number that somebody sent, of at most so many ASCII digits; `otherwise` where it is none.

    Of 18 digits, every number fits the 64 bits of an id; 0 is the id of nothing.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else otherwise


def without_nul(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """NUL in a query string becomes the replacement character: PostgreSQL refuses texts with NUL, so a value that has
    one names nothing, and is treated as any other unknown value."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        query = request.META.get("QUERY_STRING", "")
        if NUL in query or "\0" in query:
            request.META["QUERY_STRING"] = query.replace(NUL, UNKNOWN).replace("\0", UNKNOWN)
        return get_response(request)

    return respond

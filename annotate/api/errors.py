"""One shape for whatever goes wrong: {"detail": sentence}, and {"fields": {name: [sentences]}} about input."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError as ModelValidationError
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler

INVALID = _("Some values are wrong: see “fields”. Nothing was changed.")


class Conflict(exceptions.APIException):
    """The request is well formed, but the present state does not allow it."""

    status_code = status.HTTP_409_CONFLICT
    default_detail = _("The present state does not allow this.")
    default_code = "conflict"


def in_one_shape(error: Exception, context: dict[str, Any]) -> Response | None:
    """Exception handler of every view of the API."""
    response = exception_handler(error, context)
    if response is not None and isinstance(error, exceptions.ValidationError):
        response.data = _explained(response.data)
    return response


def input_error(error: ModelValidationError) -> exceptions.ValidationError:
    """What a model found wrong with the input, as an answer of the API."""
    return exceptions.ValidationError(
        {("detail" if name == "__all__" else name): texts for name, texts in error.message_dict.items()}
        if hasattr(error, "error_dict")
        else error.messages
    )


def _explained(data: Any) -> dict[str, Any]:
    if isinstance(data, list):
        return {"detail": " ".join(str(sentence) for sentence in data)}
    fields = dict(data)
    general = [*fields.pop("non_field_errors", []), *_as_list(fields.pop("detail", []))]
    shape: dict[str, Any] = {"detail": " ".join(str(sentence) for sentence in general) or str(INVALID)}
    if fields:
        shape["fields"] = fields
    return shape


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]

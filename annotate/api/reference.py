"""The reference of the API as a page: the schema that programs get, read for people.

Swagger UI, which could stand here, fails at WCAG 2.2 by its own markup and wants a script of 1.5 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A stretch of the description of a type; `is_object`: it is the name of an object of the reference."""

    text: str
    is_object: bool = False


@dataclass(frozen=True)
class Field:
    name: str
    type: Sequence[Part]
    required: bool
    about: str


@dataclass(frozen=True)
class Operation:
    """A request that the API answers. `body` and `answer` are empty where nothing is sent."""

    name: str
    group: str
    method: str
    path: str
    about: str
    parameters: Sequence[Field]
    body: Sequence[Part]
    status: str
    answer: Sequence[Part]


@dataclass(frozen=True)
class Object:
    name: str
    about: str
    fields: Sequence[Field]


@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    schema: Schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    groups = [(name, list(found)) for name, found in groupby(operations(schema), lambda one: one.group)]
    context = {"about": schema["info"]["description"], "groups": groups, "objects": list(objects(schema))}
    return render(request, "api_docs.html", context)


def operations(schema: Schema) -> Iterator[Operation]:
    """Every request, in the order of the addresses, which keeps groups together."""
    for path, methods in schema["paths"].items():
        for method, one in methods.items():
            (status, answer), *_others = one["responses"].items()
            yield Operation(
                name=one["operationId"],
                group=one["tags"][0],
                method=method.upper(),
                path=path,
                about=one.get("description", ""),
                parameters=[
                    Field(
                        parameter["name"],
                        type_of(schema, parameter["schema"]),
                        parameter.get("required", False),
                        parameter.get("description", ""),
                    )
                    for parameter in one.get("parameters", [])
                ],
                body=_content(schema, one.get("requestBody", {})),
                status=status,
                answer=_content(schema, answer),
            )


def objects(schema: Schema) -> Iterator[Object]:
    """Every JSON object that is sent or answered, by name."""
    for name, one in schema["components"]["schemas"].items():
        if "properties" in one:
            required = one.get("required", ())
            fields = [
                Field(field, type_of(schema, inner), field in required, inner.get("description", ""))
                for field, inner in one["properties"].items()
            ]
            yield Object(name, one.get("description", ""), fields)


def type_of(schema: Schema, one: Schema) -> list[Part]:
    """What a value is, in words: "list of", Question, "or null"."""
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        target = schema["components"]["schemas"][name]
        return [Part(name, is_object=True)] if "properties" in target else type_of(schema, target)
    parts = _choice(schema, one.get("allOf") or one.get("oneOf") or one.get("anyOf") or [])
    if not parts:
        parts = _plain(schema, one)
    return [*parts, Part(_("or null"))] if one.get("nullable") else parts


def _choice(schema: Schema, options: Sequence[Schema]) -> list[Part]:
    parts: list[Part] = []
    for option in options:
        parts += [Part(_("or"))] * bool(parts) + type_of(schema, option)
    return parts


def _plain(schema: Schema, one: Schema) -> list[Part]:
    if "enum" in one:
        return [Part(", ".join(str(value) or '""' for value in one["enum"]))]
    if one.get("type") == "array":
        return [Part(_("list of")), *type_of(schema, one["items"])]
    return [Part(one.get("format") or one.get("type") or _("any value"))]


def _content(schema: Schema, one: Schema) -> list[Part]:
    """The type of what a request or an answer carries."""
    return next((type_of(schema, content["schema"]) for content in one.get("content", {}).values()), [])

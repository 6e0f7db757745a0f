"""The reference of the API says to people all that the schema says to programs."""

from __future__ import annotations

import html
import re

from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from annotate.api.reference import Part, objects, type_of
from annotate.models import User

PLANT = {"type": "object", "properties": {"name": {"type": "string"}}}
SCHEMA = {"components": {"schemas": {"Plant": PLANT, "Kind": {"enum": ["tree", ""]}}}}


def test_every_request_and_every_field_of_the_schema_stands_on_the_page(client: Client, ann: User) -> None:
    client.force_login(ann)
    page = html.unescape(client.get("/api/docs/").text)
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    for path, methods in schema["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page
    parts = re.split(r'<h3 id="object-(\w+)">', page)
    described = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert {one.name for one in objects(schema)} == set(described)
    for name, text in described.items():
        assert set(re.findall(r'<th scope="row"><code>(\w+)</code>', text)) == set(
            schema["components"]["schemas"][name]["properties"]
        )
    assert set(re.findall(r'href="#object-(\w+)"', page)) <= set(described)


def test_types_are_said_in_words() -> None:
    ref = {"$ref": "#/components/schemas/Plant"}
    assert type_of(SCHEMA, {"type": "array", "items": ref}) == [Part("list of"), Part("Plant", is_object=True)]
    assert type_of(SCHEMA, {"allOf": [ref], "nullable": True}) == [Part("Plant", is_object=True), Part("or null")]
    assert type_of(SCHEMA, {"$ref": "#/components/schemas/Kind"}) == [Part('tree, ""')]
    assert type_of(SCHEMA, {"type": "string", "format": "date-time"}) == [Part("date-time")]
    assert type_of(SCHEMA, {"oneOf": [{"type": "integer"}, {"type": "string"}]}) == [
        Part("integer"),
        Part("or"),
        Part("string"),
    ]
    assert type_of(SCHEMA, {}) == [Part("any value")]

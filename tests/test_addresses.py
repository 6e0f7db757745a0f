"""NUL in an address names nothing, and never reaches the database."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from django.test import Client

from annotate.models import Project, User
from tests import build

pytestmark = pytest.mark.django_db

PAGES: Mapping[str, tuple[str, ...]] = {
    "items/": ("q", "category", "language", "page", "search"),
    "checklists/": ("state", "page"),
    "prompts/tick/": ("version", "item", "external_id", "response", "source"),
    "runs/": ("state", "judge", "method", "protocol", "page"),
    "runs/new/": ("round",),
    "agreement/": ("part", "questions"),
}


@pytest.mark.parametrize(("page", "name"), [(page, name) for page, names in PAGES.items() for name in names])
def test_a_nul_in_a_parameter_is_an_unknown_value(
    client: Client, project: Project, bob: User, page: str, name: str
) -> None:
    build.item(project, "moss")
    client.force_login(bob)
    assert client.get(f"/projects/garden/{page}", {name: "a\0b"}).status_code in (200, 302, 404)


def test_the_value_is_the_replacement_character(client: Client, project: Project, bob: User) -> None:
    client.force_login(bob)
    answer = client.get("/projects/garden/prompts/tick/", {"external_id": "a\0b"})
    assert answer.wsgi_request.GET["external_id"] == "a\ufffdb"


@pytest.mark.parametrize("name", ["cursor", "page_size", "state", "item"])
@pytest.mark.parametrize("listed", ["items", "runs", "judges", "rounds"])
def test_the_api_takes_it_so_as_well(client: Client, project: Project, bob: User, listed: str, name: str) -> None:
    client.force_login(bob)
    assert client.get(f"/api/projects/garden/{listed}/", {name: "\0"}).status_code in (200, 400, 404)


def test_a_number_that_is_far_too_long_names_nothing(client: Client, project: Project, bob: User) -> None:
    client.force_login(bob)
    practice = build.round(project, opened=False, purpose="training")
    build.item(project)
    practice.open()
    endless = "9" * 5000
    here = f"/projects/garden/rounds/{practice.pk}/training/"
    refused = client.post(here, {"annotator": endless, "action": "pass"}, follow=True)
    assert "Choose a member of the project." in refused.content.decode()
    assert client.post("/projects/garden/rounds/preview/", {"draft": endless}).status_code == 200

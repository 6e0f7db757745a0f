"""What people do on a phone or at 200 % zoom: lists that read as cards, and nothing that covers what is asked for."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate import assignment
from annotate.models import Project, User
from tests import build
from tests.browser.conftest import Visit

PHONE = {"width": 360, "height": 740}


def logged_in(visit: Visit, user: User, **options: object) -> Page:
    """A page of a fresh browser in which this person is logged in."""
    client = Client()
    client.force_login(user)
    page = visit(**options)
    cookies = [
        {"name": name, "value": value.value, "domain": "localhost", "path": "/"}
        for name, value in client.cookies.items()
    ]
    page.context.add_cookies(cookies)  # type: ignore[arg-type]
    return page


def roles(page: Page) -> list[str]:
    """The roles of the parts of tables, in order, as the browser tells them to screen readers."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    parts = {"table", "rowgroup", "row", "columnheader", "rowheader", "cell"}
    return [node["role"]["value"] for node in tree["nodes"] if not node["ignored"] and node["role"]["value"] in parts]


@pytest.mark.parametrize("name", ["my_labels", "round_seats"])
def test_lists_are_cards_on_a_phone(visit: Visit, project: Project, bob: User, ann: User, name: str) -> None:
    for number in range(2):
        build.item(project, f"a-rather-long-name-of-a-tree-{number}", systems=("Aster",))
    round = build.round(project, name="Pilot", order="fixed")
    build.submitted(round.tasks.get(position=1), ann, 4)
    assignment.next_task(round, ann)
    page = logged_in(visit, ann if name == "my_labels" else bob, viewport=PHONE)
    path = reverse(name, args=[project.slug, round.pk])
    page.goto(path)
    table = page.locator(".table-scroll")
    assert table.evaluate("region => region.scrollWidth <= region.clientWidth")
    heads = [head for head in page.locator("thead th").all_inner_texts() if head != "Actions"]
    named = page.locator("tbody [data-name]")
    beside = "cell => getComputedStyle(cell, '::before').content"
    assert [cell.evaluate(beside) for cell in named.all()] == [f'"{head}" / ""' for head in heads]
    for cell in page.locator("tbody :is(th, td)").all():
        assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")
    button = "Look and correct" if name == "my_labels" else "Release"
    expect(page.get_by_role("main").get_by_text(button, exact=True)).to_be_in_viewport()
    on_phone = sorted(roles(page))
    page.set_viewport_size({"width": 1400, "height": 900})
    assert sorted(roles(page)) == on_phone
    assert {"table", "row", "columnheader", "rowheader", "cell"} <= set(on_phone)

"""People come in by a link, and programs by an API whose pages work under the content security policy."""

from __future__ import annotations

from playwright.sync_api import expect

from annotate.models import Item, Project, User
from tests.browser.conftest import Visit


def test_the_api_is_tried_out_in_the_browser(visit: Visit, project: Project, alice: User, live_server: object) -> None:
    page = visit("alice")
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url))
    page.goto("/api/docs/")
    importing = page.locator(".opblock-post", has_text="/items/")
    importing.locator(".opblock-summary-control").click()
    importing.get_by_role("button", name="Try it out").click()
    importing.get_by_placeholder("slug").fill("garden")
    importing.locator("textarea").fill('{"external_id": "tea", "instruction": "Make tea.", "responses": []}')
    importing.get_by_role("button", name="Execute").click()
    expect(importing.locator(".live-responses-table .response-col_status").last).to_contain_text("201")
    assert Item.objects.get().external_id == "tea"
    assert foreign
    assert [url for url in foreign if not url.startswith((str(live_server), "data:"))] == []


def test_somebody_comes_in_by_an_invitation_link(visit: Visit, project: Project, alice: User) -> None:
    page = visit("alice")
    page.goto("/projects/garden/members/")
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("Copy the link now").input_value()
    guest = visit()
    guest.goto(link)
    guest.get_by_label("Username").fill("dora")
    guest.get_by_label("Password", exact=True).fill("garden gate 7")
    guest.get_by_label("Password confirmation").fill("garden gate 7")
    guest.get_by_role("button", name="Make the account and join").click()
    expect(guest.get_by_text("Welcome to Garden: you are annotator now.")).to_be_visible()
    expect(guest.get_by_text("Nothing to do at the moment")).to_be_visible()
    page.goto("/projects/garden/members/")
    expect(page.get_by_role("cell", name="dora", exact=True)).to_be_visible()

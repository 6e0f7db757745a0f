"""People come in by a link."""

from __future__ import annotations

from playwright.sync_api import expect

from annotate.models import Project, User
from tests.browser.conftest import Visit


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

"""Setting up a round beside the live preview."""

from __future__ import annotations

from playwright.sync_api import expect

from annotate.models import Project, Round, User
from tests import build
from tests.browser.conftest import Visit


def test_the_preview_follows_the_form(visit: Visit, project: Project, bob: User) -> None:
    build.checklist(build.item(project), "Does it name trees?")
    Project.objects.update(scale_anchors={"5": "Serves it fully"})
    page = visit("bob")
    page.goto("/projects/garden/rounds/new/")
    preview, form = page.locator("#preview"), page.locator("#round-form")
    expect(preview).to_contain_text("Does it name trees?")
    expect(form.get_by_label("Pairs with this system")).to_be_hidden()
    form.get_by_label("Preference: which").check()
    expect(preview).to_contain_text("A is much better")
    expect(form.get_by_label("Pairs with this system")).to_be_visible()
    expect(form.get_by_text("Lowest score")).to_be_hidden()
    expect(form.get_by_label("an answer is no", exact=True)).to_be_hidden()
    form.get_by_label("Direct scoring").check()
    form.get_by_label("Highest score").fill("3")
    expect(form.locator(".anchor")).to_have_count(3)
    expect(form.get_by_label("Meaning of the score 3")).to_have_value("Serves it fully")  # it stood at 5
    form.get_by_label("Meaning of the score 3").fill("splendid")
    expect(preview).to_contain_text("splendid")
    expect(form.get_by_label("Highest score")).to_have_value("3")
    form.get_by_label("or make a new experiment").fill("Two ways")
    expect(form.get_by_label("Seed of the draw")).to_be_visible()
    form.get_by_label("Training set").check()
    expect(form.get_by_text("Annotators per task")).to_be_hidden()
    assert not Round.objects.exists()

"""Practice in a browser: the way into a round, by keyboard alone."""

from __future__ import annotations

from playwright.sync_api import expect

from annotate.models import Annotation, Project, Round, User
from tests import build
from tests.annotate.test_training import training_set
from tests.browser.conftest import Visit, keys_ready


def test_practice_leads_into_the_round_by_keyboard_alone(visit: Visit, project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 4, 2)
    build.item(project, systems=("Aster",), category="work")
    round = build.round(project, category="work", qualification=practice, pass_mark=100, overlap=1)
    page = visit("ann")
    page.goto(f"/projects/garden/rounds/{round.pk}/annotate/")
    for number, score in ((1, 3), (2, 3)):  # next to what is expected
        expect(page.get_by_text(f"Practice {number} of 2")).to_be_visible()
        expect(page.get_by_role("button", name="Skip")).to_have_count(0)
        keys_ready(page)
        page.keyboard.press(str(score))
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", name="How your answers compare")).to_be_visible()
        expect(page.get_by_role("row", name="Score").get_by_text("met")).to_be_visible()
        expect(page.get_by_role("button", name="Next")).to_be_focused()
        page.keyboard.press("Enter")
    page.get_by_role("link", name="On to the round").press("Enter")
    keys_ready(page)
    expect(page.get_by_text("Practice")).to_have_count(0)
    page.keyboard.press("5")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("You have done everything in this round")).to_be_visible()
    assert Annotation.objects.counted(Round.objects.get(pk=round.pk)).get().score == 5

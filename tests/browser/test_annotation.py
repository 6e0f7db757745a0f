"""The annotation screen in a browser: keys, autosave, reload, lost connection, two tabs, no JavaScript."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from annotate.models import Annotation, Project, Round, User
from tests import build
from tests.browser.conftest import Visit, keys_ready


@pytest.fixture
def round(project: Project, ann: User) -> Round:
    for number in range(2):
        item = build.item(
            project, f"tree-{number}", systems=("Aster",), instruction="**Name** one tree.", language="en"
        )
        build.checklist(item, "Is it a tree?", "Is it one tree?")
    return build.round(project, "check_then_score", overlap=1, guidelines="Take your *time*.")


def start(page: Page, round: Round) -> None:
    page.goto(f"/projects/garden/rounds/{round.pk}/annotate/")
    expect(page.get_by_role("heading", name=round.name)).to_be_visible()


def saved(page: Page) -> None:
    expect(page.locator("#save-state")).to_have_class(re.compile("is-saved"))


def test_a_task_is_labelled_by_keyboard_alone(visit: Visit, round: Round) -> None:
    page = visit("ann")
    start(page, round)
    for _ in range(2):
        keys_ready(page)
        page.keyboard.press("y")
        page.keyboard.press("n")
        page.keyboard.press("4")
        page.keyboard.press("e")
        page.keyboard.press("c")
        page.keyboard.type("yes, no and a digit 5 are only text here")
        before = page.url
        page.keyboard.press("Control+Enter")
        expect(page).not_to_have_url(before)
    expect(page.get_by_text("You have done everything in this round")).to_be_visible()
    for annotation in Annotation.objects.counted(round):
        assert annotation.score == 4
        assert annotation.effect == "easier"
        assert [answer.value for answer in annotation.answers.all()] == ["yes", "no"]
        assert annotation.comment.endswith("text here")


def test_keys_rest_while_text_is_composed(visit: Visit, round: Round) -> None:
    page = visit("ann")
    start(page, round)
    page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'y', bubbles: true, isComposing: true}))"
    )
    expect(page.locator("input:checked")).to_have_count(0)


def test_a_draft_survives_a_reload_and_another_browser(visit: Visit, round: Round) -> None:
    page = visit("ann")
    start(page, round)
    page.get_by_label("Yes").first.check()
    page.get_by_label("Comment").fill("half way")
    saved(page)
    page.reload()
    expect(page.get_by_label("Comment")).to_have_value("half way")
    elsewhere = visit("ann")
    start(elsewhere, round)
    expect(elsewhere.get_by_label("Comment")).to_have_value("half way")
    expect(elsewhere.get_by_label("Yes").first).to_be_checked()


def test_what_is_written_without_a_connection_is_kept_and_sent_later(visit: Visit, round: Round) -> None:
    page = visit("ann")
    start(page, round)
    page.context.set_offline(True)
    page.get_by_label("Comment").fill("written offline")
    expect(page.locator("#save-state")).to_contain_text("not saved")
    page.context.set_offline(False)
    saved(page)
    assert Annotation.objects.get(comment="written offline").state == "draft"


def test_a_reload_while_the_server_does_not_take_saves_loses_nothing(visit: Visit, round: Round) -> None:
    page = visit("ann")
    start(page, round)
    page.route("**/save/", lambda route: route.abort())
    page.get_by_label("Comment").fill("never reached the server")
    expect(page.locator("#save-state")).to_contain_text("not saved")
    page.unroute("**/save/")
    page.reload()
    expect(page.get_by_label("Comment")).to_have_value("never reached the server")
    saved(page)


def test_two_tabs_offer_both_texts(visit: Visit, round: Round) -> None:
    page = visit("ann")
    start(page, round)
    other = page.context.new_page()
    other.goto(page.url)
    page.get_by_label("Comment").fill("from the first tab")
    saved(page)
    other.get_by_label("Comment").fill("from the second tab")
    expect(other.locator("#conflict")).to_contain_text("from the first tab")
    other.get_by_role("button", name="Keep what is here").click()
    saved(other)
    assert Annotation.objects.get(task__pk=int(page.url.rstrip("/").split("/")[-1])).comment == "from the second tab"


def test_a_form_that_is_not_complete_says_what_is_missing(visit: Visit, round: Round) -> None:
    page = visit("ann")
    start(page, round)
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#save-state")).to_contain_text("Still to answer: question 1, question 2, the score")


def test_it_works_without_javascript_on_a_phone(visit: Visit, round: Round) -> None:
    page = visit("ann", java_script_enabled=False, viewport={"width": 360, "height": 740})
    start(page, round)
    for label in page.get_by_label("Yes").all():
        label.check()
    page.locator("input[name=score][value='2']").check()
    page.get_by_label("No effect").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("1 submitted, 1 left for you")).to_be_visible()
    assert Annotation.objects.counted(round).get().score == 2


def test_guidelines_and_keys_open_and_close_by_keyboard(visit: Visit, round: Round) -> None:
    page = visit("ann")
    start(page, round)
    keys_ready(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("y")
    page.keyboard.press("Escape")
    expect(page.locator("input:checked")).to_have_count(0)
    page.get_by_role("button", name="Guidelines").click()
    expect(page.get_by_role("dialog", name="Guidelines").locator("em")).to_have_text("time")

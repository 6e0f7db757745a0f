"""Copies in the browser that cannot be read: nobody's words are lost, and what is nobody's does not stay."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.models import Annotation, Project, Round, User
from tests import build
from tests.browser.conftest import Visit, keys_ready
from tests.browser.test_small_screens import logged_in

KEPT = """() => Object.fromEntries(
  Object.keys(localStorage).filter((key) => key.startsWith("concord-task-"))
    .map((key) => [key.split(":")[1], localStorage[key]])
)"""
PUT = """(copies) => {
  const task = document.querySelector("[data-task]").dataset.task;
  for (const [name, text] of Object.entries(copies)) localStorage.setItem(`concord-task-${task}:${name}`, text);
}"""
BROKEN = '{"content": {"comment": "a thought that took an hour'


@pytest.fixture
def page(visit: Visit, project: Project, ann: User) -> Page:
    """Ann's page with a task."""
    build.item(project, systems=("Aster",))
    round = build.round(project, Round.Kind.DIRECT_SCORING, overlap=1)
    page = logged_in(visit, ann)
    page.goto(reverse("annotate", args=["garden", round.pk]))
    keys_ready(page)
    return page


def put(page: Page, copies: dict[str, str]) -> None:
    page.evaluate(PUT, copies)
    page.reload()
    keys_ready(page)


def test_what_holds_nobodys_words_is_removed(page: Page) -> None:
    put(page, {"a": "{", "b": "null", "c": "[]", "d": "", "e": '{"": [null, {}]}', "f": " "})
    assert page.evaluate(KEPT) == {}
    expect(page.locator("#unread")).to_be_hidden()


def test_any_other_text_is_offered_until_it_is_removed(page: Page) -> None:
    old = ['{"comment": "of an old format"}', '{"content": ["one"]}', '{"content": {"comment": {"text": "deep"}}}', "!"]
    put(page, {"broken": BROKEN} | {f"old-{number}": text for number, text in enumerate(old)})
    shown = page.locator("#unread textarea")
    for text in [BROKEN, *old]:
        assert text in shown.input_value()
    page.get_by_label("Comment").fill("written since")
    expect(page.locator("#save-state")).to_contain_text("saved")
    page.reload()
    keys_ready(page)
    assert page.evaluate(KEPT)["broken"] == BROKEN
    expect(page.get_by_label("Comment")).to_have_value("written since")
    page.get_by_role("button", name="Remove the kept text").click()
    expect(page.locator("#unread")).to_be_hidden()
    assert page.evaluate(KEPT) == {}
    assert Annotation.objects.get().comment == "written since"


def test_the_text_can_be_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    put(page, {"broken": BROKEN})
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.locator("#said")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == BROKEN


def test_what_can_be_read_comes_back_beside_what_cannot(page: Page) -> None:
    copy = '{"content": {"comment": "kept long ago"}, "version": "0", "token": "", "from": 5}'
    put(page, {"broken": BROKEN, "old": copy})
    expect(page.get_by_label("Comment")).to_have_value("kept long ago")
    expect(page.locator("#unread textarea")).to_have_value(BROKEN)
    expect(page.locator("#save-state")).to_contain_text("saved")
    assert Annotation.objects.get().comment == "kept long ago"
    assert page.evaluate(KEPT) == {"broken": BROKEN}

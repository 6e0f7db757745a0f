"""The annotation screen in a browser, for every kind of round: keys, taps, sheets, no JavaScript."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from annotate.models import Annotation, Assignment
from tests.browser.annotating import BY_KEYS, KIND, check, press, saved, stored
from tests.browser.conftest import Make, Open, keys_ready

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
WIDE = {"viewport": {"width": 1400, "height": 900}}


@pytest.mark.parametrize("kind", KIND.values)
def test_every_kind_is_labelled_by_keyboard_alone(at: Open, make: Make, kind: str) -> None:
    round = make(kind)
    page = at(round)
    for _ in range(2):
        keys_ready(page)
        press(page, *BY_KEYS[KIND(kind)], "Escape", "c")
        page.keyboard.type("yes, and 5 is only text here")
        before = page.url
        page.keyboard.press("Control+Enter")
        expect(page).not_to_have_url(before)
    expect(page.get_by_text("You have done everything in this round")).to_be_visible()
    assert Annotation.objects.counted(round).filter(comment__startswith="yes, and 5").count() == 2
    check(round)


@pytest.mark.parametrize("screen", [PHONE, WIDE], ids=["phone", "wide"])
@pytest.mark.parametrize("kind", KIND.values)
def test_every_kind_is_labelled_by_hand(at: Open, make: Make, kind: str, screen: dict[str, Any]) -> None:
    round = make(kind)
    page = at(round, **screen)
    keys_ready(page)

    def touch(what: Locator) -> None:
        if screen is PHONE:
            what.tap()
        else:
            what.click()

    for key, row in zip(
        (key for key in BY_KEYS[KIND(kind)] if key in "yn"), page.locator("[data-row]").all(), strict=False
    ):
        touch(row.locator(f".segment:has([value={'yes' if key == 'y' else 'no'}])"))
    if kind == KIND.CHECKLIST_WRITING:
        page.get_by_label("one question a line").fill("Is?")
    for value, name in (("4", "score"), ("2", "preference"), ("easier", "effect")):
        for label in page.locator(f"label:has([name={name}][value='{value}'])").all():
            touch(label)
    assert page.evaluate("document.documentElement.scrollWidth") <= screen["viewport"]["width"]
    before = page.url
    touch(page.get_by_role("button", name="Submit"))
    expect(page).not_to_have_url(before)
    expect(page.get_by_text("1 of 2 submitted")).to_be_visible()
    check(round)


def test_later_parts_wait_and_nothing_said_too_early_is_taken(at: Open, make: Make) -> None:
    page = at(make())
    keys_ready(page)
    page.locator(".scale-step").nth(2).click(force=True)
    press(page, "4", "e")
    expect(page.locator("input:checked")).to_have_count(0)
    expect(page.locator("#said")).to_have_text("First answer what comes before.")
    expect(page.get_by_text("Waits until every question is answered.")).to_be_visible()
    press(page, "y", "y")
    expect(page.locator("[name=score]").first).to_be_focused()
    expect(page.get_by_text("Waits until every question is answered.")).to_be_hidden()


def test_what_is_missing_is_said_and_found(at: Open, make: Make) -> None:
    page = at(make(comment_for=["no"]))
    keys_ready(page)
    press(page, "y", "Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text(
        "Still to answer: question 2, the score, whether the checklist helped"
    )
    expect(page.locator(".question").nth(1).locator("input").first).to_be_focused()
    press(page, "n", "4", "e", "Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("a comment, because an answer is no")
    expect(page.get_by_role("textbox", name="Comment (needed)")).to_be_focused()


def test_a_doubtful_score_is_asked_about_once(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    before = page.url
    press(page, "y", "y", "1", "o", "Control+Enter")
    expect(page.locator("#ask")).to_contain_text("yes to 2 of 2 questions and gave the score 1")
    expect(page).to_have_url(before)
    page.keyboard.press("2")
    expect(page.locator("#ask")).to_be_empty()
    press(page, "1", "Control+Enter")
    expect(page).not_to_have_url(before)
    assert stored(round).score == 1


def test_the_last_task_can_be_corrected(at: Open, make: Make) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    before = page.url
    press(page, "4", "Control+Enter")
    expect(page).not_to_have_url(before)
    following = page.url
    page.keyboard.press("b")
    expect(page).to_have_url(before)
    keys_ready(page)
    page.keyboard.press("5")
    expect(page.locator("#save-state")).to_contain_text("until you save the correction")
    page.reload()
    expect(page.locator("[name=score][value='5']")).to_be_checked()
    assert stored(round).score == 4
    page.get_by_role("button", name="Save the correction").click()
    expect(page).to_have_url(following)
    assert stored(round).score == 5
    assert stored(round).revisions.count() == 1


def test_a_correction_that_is_left_leaves_nothing_behind(at: Open, make: Make) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    before = page.url
    press(page, "4", "Control+Enter")
    expect(page).not_to_have_url(before)
    page.keyboard.press("b")
    expect(page).to_have_url(before)
    keys_ready(page)
    page.keyboard.press("5")
    page.get_by_role("link", name="Leave it as it was").click()
    expect(page).not_to_have_url(before)
    page.goto(before)
    keys_ready(page)
    expect(page.locator("[name=score][value='4']")).to_be_checked()
    assert stored(round).score == 4


def test_a_list_that_is_not_taken_is_led_to(at: Open, make: Make) -> None:
    page = at(make(KIND.CHECKLIST_WRITING))
    keys_ready(page)
    press(page, "y", "y")
    page.get_by_label("one question a line").fill("Is it short?\nIs it short?")
    page.get_by_label("Comment").focus()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("the same")
    expect(page.get_by_label("one question a line")).to_be_focused()


def test_a_passage_and_a_fault_are_attached_to_the_current_question(at: Open, make: Make) -> None:
    round = make(KIND.PAIRWISE_CHECKLIST)
    page = at(round)
    keys_ready(page)
    page.locator(".compare-side").nth(1).locator(".prose p").click(click_count=3)
    page.keyboard.press("q")
    passage = page.get_by_label("Passage as evidence B").first
    expect(passage).to_have_value(re.compile("^Text of tree-0"))
    press(page, "f")
    page.keyboard.type("It asks twice")
    saved(page)
    said = stored(round)
    assert said.task.checklist is not None
    question = said.task.checklist.questions.first()
    assert question is not None
    assert said.flags == {str(question.pk): "It asks twice"}
    assert list(said.quotes) == [str(question.pk) if said.task.swapped else f"{question.pk}-other"]
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#said")).to_have_text("Passage removed.")
    expect(passage).to_have_value("")


def test_a_key_may_come_before_the_browser_tells_of_the_selection(at: Open, make: Make) -> None:
    page = at(make(KIND.PAIRWISE_CHECKLIST))
    keys_ready(page)
    page.locator(".compare-side").nth(1).locator(".prose p").evaluate(
        """(text) => {
          getSelection().selectAllChildren(text);
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "q", bubbles: true }));
        }"""
    )
    expect(page.get_by_label("Passage as evidence B").first).to_have_value(re.compile("^Text of tree-0"))


def test_sheets_open_and_close_by_keyboard(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    for key, name in (("?", "Keys"), ("g", "Guidelines"), ("s", "Skip this task")):
        page.keyboard.press(key)
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        press(page, "y", "Escape")
        expect(page.get_by_role("dialog", name=name)).to_be_hidden()
    expect(page.locator("input:checked")).to_have_count(0)
    page.keyboard.press("r")
    expect(page.locator(".plain pre").first).to_have_text("**Name** one tree.")
    expect(page.locator(".prose").first).to_be_hidden()
    press(page, "r", "s")
    page.get_by_label("Why?").fill("I know the author")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Skipped: somebody else will get that task.")).to_be_visible()
    assert Assignment.objects.get(state="skipped").reason == "I know the author"


def test_a_key_right_after_a_sheet_closed_is_not_lost(at: Open, make: Make) -> None:
    page = at(make())
    keys_ready(page)
    page.keyboard.press("s")
    expect(page.get_by_label("Why?")).to_be_focused()
    # Before the browser draws again, the field of the closed sheet still has the focus.
    page.get_by_label("Why?").evaluate(
        """(field) => {
          field.closest("[popover]").hidePopover();
          document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "r", bubbles: true }));
        }"""
    )
    expect(page.locator(".prose").first).to_be_hidden()
    expect(page.locator(".plain pre").first).to_be_visible()


def test_only_active_time_counts_and_a_rest_is_proposed(at: Open, make: Make) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    active = page.locator("[name=active_seconds]")
    page.clock.install(time="2026-01-01T09:00:00")
    page.evaluate(
        "localStorage.setItem('concord-sitting', JSON.stringify({seconds: 2990, remindAt: 3000, at: Date.now()}))"
    )
    page.reload()
    keys_ready(page)
    page.clock.pause_at("2026-01-01T09:05:00")
    before = int(active.input_value())
    page.mouse.move(5, 5)
    page.clock.run_for("00:05")
    assert int(active.input_value()) - before == 5
    page.clock.run_for("05:00")  # nobody is there
    assert int(active.input_value()) - before in (59, 60)
    rest = page.locator("#rest").get_by_text("A short rest keeps your eye fresh")
    expect(rest).to_be_visible()
    page.locator("#rest").get_by_role("button", name="Close").click()
    page.clock.run_for("00:30")
    expect(rest).to_be_hidden()


def test_it_works_without_javascript_on_a_phone(at: Open, make: Make) -> None:
    round = make()
    page = at(round, java_script_enabled=False, viewport={"width": 360, "height": 740})
    for label in page.get_by_label("Yes").all():
        label.check()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Saved as a draft.")).to_be_visible()
    page.locator("input[name=score][value='2']").check()
    page.get_by_label("No effect").check()
    page.get_by_role("button", name="Guidelines").click()
    expect(page.get_by_role("dialog", name="Guidelines").locator("em")).to_have_text("time")
    page.get_by_role("dialog", name="Guidelines").get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("If you meant it, submit once more.")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("1 of 2 submitted")).to_be_visible()
    assert Annotation.objects.counted(round).get().score == 2
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name="Skip the task").click()
    expect(page.get_by_text("You have done everything in this round")).to_be_visible()

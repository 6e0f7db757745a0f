"""The annotation screen in a browser, for every kind of round: keys, taps, saving, two tabs, no JavaScript."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotate import assignment
from annotate.models import Annotation, Assignment, Project, Round, Task, User
from tests import build
from tests.browser.conftest import Visit, keys_ready

KIND = Round.Kind
SMALL = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
Open = Callable[..., Page]
Make = Callable[..., Round]


@pytest.fixture
def make(project: Project, ann: User) -> Make:
    """`make(kind)` is an open round of two items with one response, or of pairs, and two questions each."""

    def made(kind: str = KIND.CHECK_THEN_SCORE, **fields: Any) -> Round:
        pairs = kind in (KIND.PREFERENCE, KIND.PAIRWISE_CHECKLIST)
        for number in range(2):
            item = build.item(
                project,
                f"tree-{number}",
                systems=("Aster", "Briar") if pairs else ("Aster",),
                instruction="**Name** one tree.",
                language="en",
            )
            build.checklist(item, "Is it a tree?", "Is it one tree?")
        return build.round(project, kind, overlap=1, order="fixed", guidelines="Take your *time*.", **fields)

    return made


@pytest.fixture
def at(visit: Visit, ann: User, live_server: object) -> Open:
    """`at(round)` is Ann's page with the round's next task; options are those of a browser context."""
    client = Client()
    client.force_login(ann)
    session = {"name": settings.SESSION_COOKIE_NAME, "value": client.session.session_key, "url": str(live_server)}

    def opened(round: Round, **options: object) -> Page:
        page = visit(**options)
        page.context.add_cookies([session])  # type: ignore[list-item]
        start(page, round)
        return page

    return opened


def start(page: Page, round: Round) -> None:
    page.goto(f"/projects/garden/rounds/{round.pk}/annotate/")
    expect(page.get_by_role("heading", name=round.name)).to_be_visible()


def saved(page: Page) -> None:
    expect(page.locator("#save-state")).to_have_class(re.compile("is-saved"))


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def stored(round: Round) -> Annotation:
    return Annotation.objects.filter(task__round=round).order_by("task__position")[0]


def answers_of(annotation: Annotation) -> list[str]:
    return [answer.value for answer in annotation.answers.order_by("question__position", "about_other")]


BY_KEYS = {
    KIND.DIRECT_SCORING: ["4"],
    KIND.CHECK_THEN_SCORE: ["y", "n", "y", "4", "e"],  # the third answer has no question and changes nothing
    KIND.CHECKLIST_ANSWERING: ["k", "y", "n", "n"],
    KIND.PREFERENCE: ["2"],
    KIND.PAIRWISE_CHECKLIST: ["y", "n", "n", "n", "y", "2"],
    KIND.CHECKLIST_WRITING: ["y", "y", "I", "s", "?"],  # the last keys are written into the list
}


def check(round: Round) -> None:
    """What BY_KEYS says stands in every submitted annotation of the round."""
    for said in Annotation.objects.counted(round):
        if round.kind in (KIND.DIRECT_SCORING, KIND.CHECK_THEN_SCORE):
            assert said.score == 4
        if round.kind in (KIND.CHECK_THEN_SCORE, KIND.CHECKLIST_ANSWERING):
            assert answers_of(said) == ["yes", "no"]
        if round.kind in (KIND.PREFERENCE, KIND.PAIRWISE_CHECKLIST):
            assert said.preference == (4 if said.task.swapped else 2)  # on the screen, A was better
        if round.kind == KIND.PAIRWISE_CHECKLIST:
            a_first = ["yes", "no", "no", "no"]
            assert answers_of(said) == (["no", "yes", "no", "no"] if said.task.swapped else a_first)
        if round.kind == KIND.CHECKLIST_WRITING:
            assert said.written["questions"] == ["Is?"]


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


@pytest.mark.parametrize("kind", KIND.values)
def test_every_kind_is_labelled_by_hand_on_a_phone(at: Open, make: Make, kind: str) -> None:
    round = make(kind)
    page = at(round, **SMALL)
    keys_ready(page)
    for key, row in zip(
        (key for key in BY_KEYS[KIND(kind)] if key in "yn"), page.locator("[data-row]").all(), strict=False
    ):
        row.locator(f".segment:has([value={'yes' if key == 'y' else 'no'}])").tap()
    if kind == KIND.CHECKLIST_WRITING:
        page.get_by_label("one question a line").fill("Is?")
    for value, name in (("4", "score"), ("2", "preference"), ("easier", "effect")):
        for label in page.locator(f"label:has([name={name}][value='{value}'])").all():
            label.tap()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    before = page.url
    page.get_by_role("button", name="Submit").tap()
    expect(page).not_to_have_url(before)
    expect(page.get_by_text("1 of 2 submitted")).to_be_visible()
    check(round)


def test_keys_rest_while_japanese_is_composed(at: Open, make: Make) -> None:
    round = make()
    page = at(round, locale="ja")
    keys_ready(page)
    devtools = page.context.new_cdp_session(page)
    for key in ("y", "n", "Process"):  # what an input method sends while it composes
        devtools.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "key": key, "windowsVirtualKeyCode": 229})
    page.locator("#comment").focus()
    devtools.send("Input.imeSetComposition", {"text": "ねこ", "selectionStart": 2, "selectionEnd": 2})
    devtools.send("Input.insertText", {"text": "猫"})
    saved(page)
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    assert stored(round).comment == "猫"


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
    page.keyboard.press("Control+Enter")
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


def test_a_draft_survives_a_reload_and_another_browser(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    page.keyboard.press("n")
    page.get_by_label("Comment").fill("half way")
    saved(page)
    for shown in (page, at(round)):
        shown.reload()
        expect(shown.get_by_label("Comment")).to_have_value("half way")
        expect(shown.get_by_label("No").first).to_be_checked()


def test_what_is_written_offline_is_kept_and_sent_later(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    page.context.set_offline(True)
    page.keyboard.press("y")
    page.get_by_label("Comment").fill("written offline")
    expect(page.locator("#save-state")).to_have_text("offline, 2 changes kept here")
    page.context.set_offline(False)
    saved(page)
    assert stored(round).comment == "written offline"


def test_a_server_that_dies_while_it_saves_loses_nothing(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    page.route("**/save/", lambda route: (route.fetch(), route.abort()))  # stored, but the answer never arrives
    page.get_by_label("Comment").fill("first")
    expect(page.locator("#save-state")).to_have_text("the server is silent, 1 change kept here")
    page.unroute("**/save/")
    page.route("**/save/", lambda route: route.abort())
    page.get_by_label("Comment").fill("never reached the server")
    expect(page.locator("#save-state")).to_contain_text("kept here")
    page.unroute("**/save/")
    page.reload()
    expect(page.get_by_label("Comment")).to_have_value("never reached the server")


def test_whoever_is_logged_out_loses_nothing(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.get_by_label("Comment").fill("still here")
    expect(page.locator("#save-state")).to_contain_text("Log in again in another tab")
    page.context.add_cookies(cookies)  # type: ignore[arg-type]
    page.evaluate("window.dispatchEvent(new Event('online'))")
    saved(page)
    assert stored(round).comment == "still here"


@pytest.mark.parametrize(("button", "kept"), [("Keep what is here", "second"), ("Use what was saved there", "first")])
def test_two_tabs_show_both_texts_and_a_choice(at: Open, make: Make, button: str, kept: str) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    other = page.context.new_page()
    other.goto(page.url)
    keys_ready(other)
    page.keyboard.press("y")
    page.get_by_label("Comment").fill("first")
    saved(page)
    other.get_by_label("Comment").fill("second")
    row = other.get_by_role("dialog", name="Changed elsewhere").get_by_role("row", name="Comment")
    expect(row.get_by_role("cell")).to_have_text(["second", "first"])
    other.get_by_role("button", name=button).click()
    expect(other.get_by_label("Comment")).to_have_value(kept)
    expect(other.locator("#conflict")).to_be_hidden()
    other.keyboard.press("Control+Enter")  # says what is missing, once everything before it is saved
    expect(other.get_by_role("alert")).to_contain_text("Still to answer")
    assert stored(round).comment == kept


def silence(page: Page) -> None:
    """No page of this browser reaches the server with a save, also while it is left, until `speak`."""
    page.context.add_init_script("if (localStorage.silent) fetch = () => Promise.reject(new TypeError('silent'))")
    page.evaluate("localStorage.silent = true")
    page.reload()
    keys_ready(page)


def speak(page: Page) -> None:
    page.evaluate("localStorage.removeItem('silent')")
    page.reload()


COPIES = "Object.keys(localStorage).filter((key) => key.startsWith('concord-task-')).length"


def test_a_duplicated_tab_keeps_its_own_text(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    silence(page)
    comment = page.get_by_label("Comment")
    comment.fill("of the first tab")
    page.reload()
    expect(comment).to_have_value("of the first tab")
    with page.expect_popup() as opened:
        page.evaluate("void open(location.href)")  # which copies the session's store, as a duplicate does
    twin = opened.value
    expect(twin.get_by_label("Comment")).to_have_value("of the first tab")
    keys_ready(twin)
    twin.get_by_label("Comment").fill("of the second tab")
    for _ in range(2):
        for shown, text in ((page, "of the first tab"), (twin, "of the second tab")):
            shown.reload()
            expect(shown.get_by_label("Comment")).to_have_value(text)
    speak(page)
    saved(page)
    assert stored(round).comment == "of the first tab"
    twin.reload()
    twin.get_by_role("dialog", name="Changed elsewhere").get_by_role("button", name="Keep what is here").click()
    saved(twin)
    assert stored(round).comment == "of the second tab"
    assert twin.evaluate(COPIES) == 0


def test_what_a_closed_tab_left_comes_back_once(at: Open, make: Make) -> None:
    page = at(make())
    silence(page)
    page.get_by_label("Comment").fill("left behind")
    other = page.context.new_page()
    other.goto(page.url)
    page.close()
    for _ in range(2):
        expect(other.get_by_label("Comment")).to_have_value("left behind")
        other.reload()
    speak(other)
    saved(other)
    assert other.evaluate(COPIES) == 0


def test_a_duplicate_that_was_only_looked_at_leaves_nothing(at: Open, make: Make) -> None:
    page = at(make(KIND.DIRECT_SCORING))
    silence(page)
    comment, first = page.get_by_label("Comment"), page.url
    comment.fill("of the first")
    other = page.context.new_page()
    for _ in range(2):
        other.goto(first)
        keys_ready(other)
        expect(other.get_by_label("Comment")).to_have_value("of the first")
    other.close()
    comment.fill("of the first, and more")
    speak(page)
    saved(page)
    press(page, "4", "Control+Enter")
    expect(page.get_by_text("1 of 2 submitted")).to_be_visible()
    assert page.evaluate(COPIES) == 0
    page.goto(first)
    keys_ready(page)
    expect(comment).to_have_value("of the first, and more")
    expect(page.get_by_role("button", name="Save the correction")).to_be_visible()


def test_a_copy_of_an_earlier_version_comes_back_beside_one_that_cannot_be_read(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    page.evaluate(
        """(copies) => {
          const task = document.querySelector("[data-task]").dataset.task;
          copies.forEach((copy, n) => localStorage.setItem(`concord-task-${task}:${n}`, copy));
        }""",
        ["{", "null", "[]", '{"content": {"comment": "kept long ago"}, "version": "0", "token": "", "at": 1}'],
    )
    page.reload()
    expect(page.get_by_label("Comment")).to_have_value("kept long ago")
    saved(page)
    assert stored(round).comment == "kept long ago"


def test_a_task_submitted_in_another_tab_keeps_what_was_written_here(at: Open, make: Make) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    other = page.context.new_page()
    other.goto(page.url)
    keys_ready(other)
    press(page, "4", "Control+Enter")
    expect(page.get_by_text("1 of 2 submitted")).to_be_visible()
    other.keyboard.press("2")
    expect(other.get_by_role("dialog", name="This task is closed")).to_be_visible()
    other.get_by_role("button", name="Open what I submitted").click()
    expect(other.get_by_role("button", name="Save the correction")).to_be_visible()
    expect(other.locator("[name=score][value='2']")).to_be_checked()
    assert stored(round).score == 4


def test_a_submission_after_the_lease_is_kept_and_said_to_be_late(at: Open, make: Make, abe: User) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    Assignment.objects.filter(task__round=round, state="leased").update(
        leased_until=timezone.now() - datetime.timedelta(minutes=1)
    )
    assert assignment.next_task(round, abe) == Task.objects.get(round=round, position=1)
    press(page, "4", "Control+Enter")
    expect(page.locator(".notice")).to_contain_text("Kept, but not counted")
    assert Annotation.objects.get(annotator__username="ann", state="submitted").surplus


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

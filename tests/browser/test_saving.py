"""What an annotator writes is never lost: reloads, two tabs, a cut network, a dying server, a lost seat."""

from __future__ import annotations

import datetime

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from annotate import assignment
from annotate.models import Annotation, Assignment, Role, Round, Task, User
from tests import build
from tests.browser.annotating import BY_KEYS, KIND, check_one, press, saved, stored
from tests.browser.conftest import Make, Open, keys_ready


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


def stop_the_clock(page: Page) -> None:
    page.clock.install(time="2026-01-01T09:00:00")
    page.reload()
    keys_ready(page)
    page.clock.pause_at("2026-01-01T10:00:00")


def test_steady_typing_is_saved_within_a_second(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    stop_the_clock(page)
    page.get_by_label("Comment").focus()
    with page.expect_response("**/save/"):
        for letter in "steady":  # with no pause that is long enough by itself
            page.keyboard.type(letter)
            page.clock.run_for(200)
    assert stored(round).comment == "stea"


def compose(page: Page) -> None:
    """An input method composes 猫 in the comment, after keys that are meant for it."""
    devtools = page.context.new_cdp_session(page)
    for key in ("y", "n", "Process"):
        devtools.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "key": key, "windowsVirtualKeyCode": 229})
    page.locator("#comment").focus()
    devtools.send("Input.imeSetComposition", {"text": "ねこ", "selectionStart": 2, "selectionEnd": 2})
    devtools.send("Input.insertText", {"text": "猫"})


@pytest.mark.parametrize("kind", KIND.values)
def test_every_kind_keeps_what_is_written_whatever_happens(at: Open, make: Make, abe: User, kind: str) -> None:
    round = make(kind)
    page = at(round)
    keys_ready(page)

    def holds(comment: str) -> None:
        said = stored(round)
        assert said.comment == comment
        check_one(said, round)

    compose(page)
    saved(page)
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    assert stored(round).comment == "猫"

    page.context.set_offline(True)
    press(page, "Escape", *BY_KEYS[KIND(kind)])
    expect(page.locator("#save-state")).to_contain_text("offline")
    page.context.set_offline(False)
    saved(page)
    holds("猫")

    comment = page.locator("#comment")
    lose_answers(page)
    comment.fill("one")
    silent(page)
    cut(page)
    with page.expect_request("**/save/"):
        comment.fill("one two")
    page.unroute("**/save/")
    page.reload()
    expect(comment).to_have_value("one two")
    keys_ready(page)

    other = page.context.new_page()
    other.goto(page.url)
    keys_ready(other)
    comment.fill("here")
    saved(page)
    holds("here")
    other.locator("#comment").fill("there")
    other.locator("#keep-mine").click()
    saved(other)
    holds("there")

    expire(round)
    assert assignment.next_task(round, abe) is not None
    other.keyboard.press("Control+Enter")
    expect(other.locator(".notice:visible")).to_contain_text("Kept, but not counted")
    holds("there")


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


def test_a_submission_offline_says_what_becomes_of_it(at: Open, make: Make) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    page.context.set_offline(True)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Not submitted: something is still to answer.")).to_be_visible()
    press(page, "4", "Control+Enter")
    expect(page.locator("#save-state")).to_contain_text("offline: your submission is kept here")
    press(page, "3")
    expect(page.get_by_text("nothing was submitted, press it again")).to_be_visible()
    press(page, "Control+Enter")
    page.context.set_offline(False)
    expect(page.get_by_text("Tasks: 1 of 2 submitted")).to_be_visible()
    assert [said.score for said in Annotation.objects.counted(round)] == [3]


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


def lose_answers(page: Page) -> None:
    """What is saved from now on is stored, and the answer never arrives."""
    page.route("**/save/", lambda route: (route.fetch(), route.abort()))


def cut(page: Page) -> None:
    """Nothing reaches the server any more."""
    page.unroute("**/save/")
    page.route("**/save/", lambda route: route.abort())


def silent(page: Page) -> None:
    expect(page.locator("#save-state")).to_contain_text("the server is silent")


def test_who_types_on_after_a_lost_answer_is_in_no_conflict_with_themselves(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    comment = page.get_by_label("Comment")
    lose_answers(page)
    comment.fill("one")
    silent(page)
    assert stored(round).comment == "one"
    cut(page)
    for text in ("one two", "one two three"):
        with page.expect_request("**/save/"):
            comment.fill(text)
    page.unroute("**/save/")
    saved(page)
    assert stored(round).comment == "one two three"
    expect(page.locator("#conflict")).to_be_hidden()


def test_a_reload_after_a_lost_answer_leaves_nobody_in_conflict_with_themselves(at: Open, make: Make) -> None:
    round = make()
    page = at(round)
    keys_ready(page)
    comment = page.get_by_label("Comment")
    lose_answers(page)
    comment.fill("one")
    silent(page)
    cut(page)
    for before, text in (("one", "one two"), ("one two", "one two three")):
        page.reload()
        expect(comment).to_have_value(before)
        keys_ready(page)
        with page.expect_request("**/save/"):
            comment.fill(text)
    page.unroute("**/save/")
    saved(page)
    assert stored(round).comment == "one two three"
    expect(page.locator("#conflict")).to_be_hidden()


def hold(page: Page) -> list[Route]:
    """The server takes what is saved from now on and says nothing; the requests, as they come."""
    held: list[Route] = []
    page.route("**/save/", lambda route: held.append(route))
    return held


def test_a_server_that_never_answers_counts_as_silent(at: Open, make: Make) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    stop_the_clock(page)
    hold(page)
    with page.expect_request("**/save/"):
        page.get_by_label("Comment").fill("first")
        page.clock.run_for(1_000)
    page.clock.run_for(14_000)
    expect(page.locator("#save-state")).to_have_text("saving")
    page.clock.run_for(1_000)
    silent(page)
    page.unroute("**/save/")
    page.clock.run_for(5_000)
    saved(page)
    assert stored(round).comment == "first"
    hold(page)
    with page.expect_request("**/save/"):
        press(page, "Escape", "4", "Control+Enter")
    expect(page.locator("#answer")).to_have_js_property("inert", True)
    page.clock.run_for(15_000)
    silent(page)
    expect(page.locator("#answer")).to_have_js_property("inert", False)
    page.unroute("**/save/")
    before = page.url
    page.clock.run_for(5_000)
    expect(page).not_to_have_url(before)
    assert stored(round).score == 4


HIDE = """() => {
  Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.mark.parametrize("stored_first", [True, False])
def test_a_page_that_is_left_while_it_saves_sends_what_is_newer(at: Open, make: Make, stored_first: bool) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    held = hold(page)
    page.get_by_label("Comment").fill("one")
    while not held:
        page.wait_for_timeout(20)
    if stored_first:
        assert held[0].fetch().status == 200
    page.unroute("**/save/")
    page.get_by_label("Comment").fill("one two")
    with page.expect_response("**/save/") as reply:
        page.evaluate(HIDE)
    assert reply.value.status == 200
    if not stored_first:
        assert held[0].fetch().status == 409
    saved(page)
    assert stored(round).comment == "one two"
    expect(page.locator("#conflict")).to_be_hidden()


def test_a_reload_during_a_save_shows_what_was_saved(at: Open, make: Make) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    saves = hold(page)
    pages: list[Route] = []
    page.route(page.url, lambda route: pages.append(route))
    comment = page.get_by_label("Comment")
    comment.fill("one")
    while not saves:
        page.wait_for_timeout(20)
    page.evaluate("setTimeout(() => location.reload())")
    while not pages:
        page.wait_for_timeout(20)
    made_before = pages[0].fetch()
    with page.expect_event("requestfinished"):
        saves[0].continue_()
    page.unroute("**/save/")
    pages[0].fulfill(response=made_before)
    expect(page.locator("#said")).to_have_text("What you had written here is back.")
    expect(comment).to_have_value("one")
    saved(page)
    assert page.evaluate(COPIES) == 0
    comment.fill("one two")
    saved(page)
    assert stored(round).comment == "one two"
    expect(page.locator("#conflict")).to_be_hidden()


def test_what_is_taken_back_after_a_lost_answer_is_taken_back_on_the_server(at: Open, make: Make) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    lose_answers(page)
    page.get_by_label("Comment").fill("one")
    silent(page)
    page.unroute("**/save/")
    page.get_by_label("Comment").fill("")
    saved(page)
    assert stored(round).comment == ""


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


def expire(round: Round) -> None:
    Assignment.objects.filter(task__round=round, state="leased").update(
        leased_until=timezone.now() - datetime.timedelta(minutes=1)
    )


def test_whoever_lost_the_task_is_told_and_can_write_on(at: Open, make: Make, abe: User) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    first = page.url
    expire(round)
    task = assignment.next_task(round, abe)
    assert task is not None
    expect(page.locator("#lost")).to_be_hidden()
    page.get_by_label("Comment").fill("written on")
    expect(page.locator("#lost")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("no longer held for you")
    saved(page)
    page.reload()
    expect(page.locator("#lost")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("no longer held for you")
    assert assignment.skip(task, abe, "")
    page.get_by_label("Comment").fill("written on and on")
    expect(page.locator("#lost")).to_be_hidden()
    saved(page)
    expire(round)
    assert assignment.next_task(round, build.member(round.project, Role.ANNOTATOR)) == task
    page.get_by_label("Comment").fill("")
    page.locator("#lost").get_by_role("link", name="Go on to the next task").click()
    expect(page.locator("#lost")).to_be_hidden()
    expect(page).not_to_have_url(first)


def test_a_submission_after_the_lease_is_kept_and_said_to_be_late(at: Open, make: Make, abe: User) -> None:
    round = make(KIND.DIRECT_SCORING)
    page = at(round)
    keys_ready(page)
    expire(round)
    assert assignment.next_task(round, abe) == Task.objects.get(round=round, position=1)
    press(page, "4", "Control+Enter")
    expect(page.locator(".notice:visible")).to_contain_text("Kept, but not counted")
    assert Annotation.objects.get(annotator__username="ann", state="submitted").surplus

"""The live panel in a real browser: it follows the labels, costs a 304 while nothing changes, and rests when hidden."""

from __future__ import annotations

import pytest
from playwright.sync_api import Request, expect

from annotate.models import Project, Round, User
from judging.models import Run
from judging.runs import pause
from tests import build
from tests.browser.conftest import Visit
from tests.judging.build_runs import call, run_of


@pytest.fixture
def round(project: Project, bob: User) -> Round:
    build.checklist(build.item(project, "moss"), "Is it short?", "Is it true?")
    return build.round(project, Round.Kind.CHECK_THEN_SCORE, overlap=2)


def hide(hidden: bool) -> str:
    """A script that makes the page believe that its tab went to the back, or came to the front."""
    value = "true" if hidden else "false"
    return (
        f"Object.defineProperty(document, 'hidden', {{value: {value}, configurable: true}});"
        "document.dispatchEvent(new Event('visibilitychange'));"
    )


def test_the_panel_follows_the_labels_without_a_reload(visit: Visit, round: Round, ann: User, abe: User) -> None:
    page = visit("bob")
    page.goto(f"/projects/garden/rounds/{round.pk}/agreement/")
    expect(page.get_by_role("heading", name="No labels yet")).to_be_visible()
    with page.expect_response(lambda answer: "agreement" in answer.url and answer.status == 304):
        pass
    page.evaluate("window.neverReloaded = true")

    task = round.tasks.get(position=1)
    build.submitted(task, ann, 4)
    build.submitted(task, abe, 5)

    expect(page.get_by_role("row", name="Scores, ordinal")).to_contain_text("1")
    expect(page.get_by_role("img", name="Krippendorff")).to_be_visible()
    assert page.evaluate("window.neverReloaded") is True


def test_progress_moves_with_the_agreement_on_the_page_of_a_round(
    visit: Visit, round: Round, ann: User, abe: User
) -> None:
    page = visit("bob")
    page.goto(f"/projects/garden/rounds/{round.pk}/")
    expect(page.get_by_text("Nobody has started yet.")).to_be_visible()
    expect(page.locator("#agreement")).to_be_attached()
    page.evaluate("window.neverReloaded = true")

    task = round.tasks.get(position=1)
    build.submitted(task, ann, 4)
    expect(page.get_by_text("1 of 4: 2 tasks, 2 annotators each")).to_be_visible()
    # While the keyboard is among the people nothing moves beneath it; afterwards all of it comes.
    page.get_by_role("button", name="Pause ann").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    build.submitted(task, abe, 5)
    page.evaluate(
        """() => new Promise((resolve) => document.addEventListener("htmx:beforeRequest", (event) => {
            if (event.defaultPrevented) resolve();
        }))"""
    )
    expect(page.get_by_role("button", name="Pause ann")).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    expect(page.get_by_text("2 of 4: 2 tasks, 2 annotators each")).to_be_visible()
    expect(page.get_by_role("button", name="Pause abe")).to_be_visible()
    assert page.evaluate("window.neverReloaded") is True


def test_a_hidden_page_asks_nothing_and_catches_up_when_it_is_seen_again(
    visit: Visit, round: Round, ann: User, abe: User
) -> None:
    page = visit("bob")
    page.goto(f"/projects/garden/rounds/{round.pk}/agreement/")
    page.evaluate(hide(True))
    asked: list[Request] = []
    # The icon is the browser's own business, and comes when it likes.
    page.on("request", lambda request: None if request.url.endswith("favicon.svg") else asked.append(request))
    # Two polls that were due and held back: the test need not wait for nothing to happen.
    page.evaluate(
        """() => new Promise((resolve) => {
            let held = 0;
            document.addEventListener("htmx:beforeRequest", (event) => {
                if (event.defaultPrevented && ++held === 2) resolve();
            });
        })"""
    )
    assert asked == []

    task = round.tasks.get(position=1)
    build.submitted(task, ann, 4)
    build.submitted(task, abe, 5)
    page.evaluate(hide(False))

    expect(page.get_by_role("row", name="Scores, ordinal")).to_be_visible()


def test_a_run_that_pauses_shows_why_without_a_reload_by_hand(visit: Visit, round: Round) -> None:
    run: Run = run_of(round)
    response = round.tasks.get(position=1).response
    assert response is not None
    call(run, response, state="planned")
    page = visit("bob")
    page.goto(f"/projects/garden/runs/{run.pk}/")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()

    pause(run, "The key was refused. Resume the run when this is put right.")

    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    expect(page.get_by_text("The key was refused.")).to_be_visible()

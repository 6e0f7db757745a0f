"""A real Chromium for the tests that walk pages. Where there is none they are skipped, loudly."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from annotate.models import Project, Round, User
from tests import build

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Chromium's own services would call home, which a test machine need not allow.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 45_000  # for a machine that is busy with other tests


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mine = [item for item in items if HERE in item.path.parents]
    for item in mine:
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.django_db(transaction=True))
        if CHROMIUM is None:
            item.add_marker(pytest.mark.skip(reason="no Chromium found: install Debian's chromium package"))
    if mine and CHROMIUM is None:
        warnings.warn(f"{len(mine)} BROWSER TESTS ARE SKIPPED: no Chromium was found.", stacklevel=1)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    # Playwright keeps an event loop in this thread, which makes Django refuse its ordinary queries there. It ends with
    # the browser tests, because the tests of the engine start loops of their own.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def keys_ready(page: Page) -> None:
    """Wait until the annotation screen's script listens: it starts the clock."""
    expect(page.locator("#clock")).not_to_be_empty()


Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, live_server: object) -> Iterator[Visit]:
    """`visit("alice")` is a page of a fresh browser in which Alice is logged in. A complaint on the console fails."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        # A refused save answers 4xx on purpose, which Chromium mentions.
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def enter(username: str = "", **options: object) -> Page:
        context = browser.new_context(base_url=str(live_server), **options)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        if username:
            page.goto("/accounts/login/")
            page.locator("[name=username]").fill(username)
            page.locator("[name=password]").fill("correct horse")
            page.get_by_role("main").get_by_role("button", name="Log in").click()
            page.wait_for_url("**/")
        return page

    yield enter
    for context in contexts:
        context.close()
    assert not complaints


Open = Callable[..., Page]
Make = Callable[..., Round]


@pytest.fixture
def make(project: Project, ann: User) -> Make:
    """`make(kind)` is an open round of two items with one response, or of pairs, and two questions each."""

    def made(kind: str = Round.Kind.CHECK_THEN_SCORE, **fields: Any) -> Round:
        pairs = kind in (Round.Kind.PREFERENCE, Round.Kind.PAIRWISE_CHECKLIST)
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

"""Texts that want to be more than text, in every field, on every page: nothing runs, loads, moves or becomes markup."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Dialog, Error, Page, expect

from annotate import rendering
from annotate.exporting.streams import FORMULA, NUMBER
from annotate.models import Annotation, Round
from tests.browser.conftest import Visit
from tests.browser.filled import is_page, undone
from tests.browser.hostile import HostileWorld
from tests.browser.payloads import payloads
from tests.test_access import urls

TEMPLATES = "".join(path.read_text() for path in (settings.BASE_DIR / "templates").rglob("*.html"))
PATIENCE = 120_000  # milliseconds for a page, on a machine that does much besides
MOST_VIEWS = 8  # of a page: its tabs, filters and further pages
# The elements that our templates, texts in Markdown, and Django's widgets are made of.
TAGS = {
    *re.findall(r"<([a-z][a-z0-9]*)", TEMPLATES),
    *rendering.TAGS,
    *("input", "select", "optgroup", "option", "textarea", "label", "ul", "li"),
}
PARAMETERS = {
    name
    for app in ("annotate", "judging")
    for path in Path(settings.BASE_DIR, app, "views").glob("*.py")
    for name in re.findall(r'GET(?:\.get|\.getlist)?[\[(]"(\w+)"', path.read_text())
}
# Attributes that show a text, or that only a form sends back.
SHOWN = {"value", "aria-label", "title", "alt", "placeholder", "lang", "data-clash"}
READ = """
({ tags, shown, prose }) => {
  const never = /^(on|hx-on|data-hx-|style$|srcdoc$|formaction$|ping$|background$|http-equiv$)/;
  const strange = [], seen = { text: [], attribute: [], prose: [], textarea: [] };
  const marks = (text) => [...(text || "").matchAll(/pwn(\\d+)z/g)].map((found) => Number(found[1]));
  const tell = (what, element) => strange.push(`${what} ${element.cloneNode(false).outerHTML}`);
  for (const element of document.querySelectorAll("*")) {
    const within = element.parentElement?.closest(".prose");
    if (!(within ? prose : tags).includes(element.localName)) tell("the element", element);
    for (const { name, value } of element.attributes) {
      if (never.test(name)) tell(`${name} of`, element);
      if (!marks(value).length) continue;
      if (shown.includes(name)) seen.attribute.push(...marks(value));
      else if (name !== "href") tell(`${name} of`, element);
      else if (within ? !/^(https?|mailto):/.test(value) : element.origin !== location.origin) tell("a link", element);
    }
    if (element.localName === "textarea") seen.textarea.push(...marks(element.value));
    else if (element.matches(".prose")) seen.prose.push(...marks(element.textContent));
    else if (!within) for (const { data } of element.childNodes) seen.text.push(...marks(data));
  }
  for (const script of document.scripts) if (!script.src || script.text) tell("the script", script);
  return { strange, seen };
}
"""


class Guard:
    """Walks pages, and remembers what texts did there that they must not do, and in which kinds of places they are."""

    def __init__(self, page: Page, root: str) -> None:
        self.page, self.root = page, root
        self.where = ""
        self.faults: list[str] = []
        page.context.set_default_timeout(PATIENCE)
        self.seen: dict[str, set[int]] = defaultdict(set)
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.error('refused', event.blockedURI));"
        )
        page.on("dialog", self._dismiss)
        page.on("pageerror", lambda error: self.note(f"has a script that fails: {error}"))
        page.context.on("request", lambda request: self._check_request(request.url))
        page.context.on("page", lambda other: self.note(f"opened {other.url}"))

    def _dismiss(self, dialog: Dialog) -> None:
        self.note(f"ran: {dialog.message}")
        dialog.dismiss()

    @contextmanager
    def staying(self) -> Iterator[None]:
        """A page that leads away while it is opened or read has done what it must not do: that is noted, not raised."""
        try:
            yield
        except Error as error:
            if "navigation" not in error.message:
                raise
            self.note("went to another page while it was read")

    def note(self, fault: str) -> None:
        self.faults.append(f"{self.where}: {fault}")

    def become(self, client: Client) -> None:
        self.page.context.clear_cookies()
        self.page.context.add_cookies(
            [{"name": name, "value": morsel.value, "url": self.root} for name, morsel in client.cookies.items()]
        )

    def visit(self, path: str) -> list[str]:
        """Open a page, and return the other views of it (`?…`) that it links to."""
        self.where = path
        links: list[str] = []
        with self.staying():
            answer = self.page.goto(path)
            if answer is None or answer.status >= 500:
                self.note("breaks")
            self.read(path)
            links = self.page.eval_on_selector_all(
                "main a[href^='?']", "links => links.map((link) => link.pathname + link.search)"
            )
        return links

    def show(self, where: str, answer: Any) -> None:
        """A page that is no answer to a plain GET."""
        self.where = where
        headers = {**answer.headers, "Content-Type": "text/html; charset=utf-8"}
        self.page.route("**/shown/", lambda route: route.fulfill(body=answer.text, headers=headers))
        with self.staying():
            self.page.goto("/shown/")
            self.read("/shown/")
        self.page.unroute("**/shown/")

    def read(self, path: str = "") -> None:
        ours = {"tags": sorted(TAGS), "shown": sorted(SHOWN), "prose": sorted(rendering.TAGS)}
        found = self.page.evaluate(READ, ours)
        for strange in found["strange"]:
            self.note(f"holds {strange[:300]}")
        for kind, marks in found["seen"].items():
            self.seen[kind] |= set(marks)
        if path and self.page.url.removeprefix(self.root) != path:
            self.note(f"went to {self.page.url}")

    def _check_request(self, url: str) -> None:
        if not url.startswith((f"{self.root}/", "data:")) or re.search(r"pwn\d", url.partition("?")[0]):
            self.note(f"asked for {url}")


def replies(client: Client, paths: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The pages that come back when every parameter of an address, and every field of a form, holds a payload."""
    texts = cycle(payloads())
    for path in paths:
        asked = client.get(path, {name: next(texts) for name in sorted(PARAMETERS)})
        fields = set(re.findall(r' name="([\w-]+)"', client.get(path).text)) - {"action", "csrfmiddlewaretoken"}
        sent = undone(client, path, {name: next(texts) for name in sorted(fields)})
        for where, answer in ((f"{path} asked with payloads", asked), (f"{path} sent with payloads", sent)):
            if is_page(answer) and answer.status_code not in {403, 404}:
                yield where, answer


def screens_by_script(guard: Guard, world: HostileWorld) -> None:
    """What the annotation screen's script puts in the page: both texts after a clash, and the next task."""
    page, annotator = guard.page, world.people["annotator"]
    guard.where = "the clash of two saves"
    page.goto(reverse("task", args=[world.project.slug, world.task.pk]))
    Annotation.objects.filter(task=world.task, annotator=annotator).update(version=F("version") + 1)
    page.locator("#comment").fill("Mine.")
    expect(page.locator("#conflict-texts")).to_contain_text("pwn")
    guard.read()
    guard.where = "the next task"
    scored = next(task for task in world.kinds if task.round.kind == Round.Kind.DIRECT_SCORING)
    page.goto(reverse("task", args=[world.project.slug, scored.pk]))
    page.locator("input[name=score]").first.check()
    before = page.url
    page.locator("button[value=submit]").click()
    expect(page).not_to_have_url(before)
    guard.read()


def test_hostile_texts_stay_texts(visit: Visit, live_server: object) -> None:
    world = HostileWorld("garden")
    guard = Guard(visit(), str(live_server))
    table = world.arguments()
    named = [reverse(url.name, kwargs=table[url.name]()) for url in urls()]
    for who, more in world.states().items():
        client = world.client(who)
        guard.become(client)
        pages = [path for path in named if (answer := client.get(path)).status_code == 200 and is_page(answer)]
        waiting = pages + more
        views: dict[str, set[str]] = defaultdict(set)
        while waiting:
            for link in guard.visit(waiting.pop(0)):
                found = views[link.partition("?")[0]]
                if link not in found and len(found) < MOST_VIEWS and is_page(client.get(link)):
                    found.add(link)
                    waiting.append(link)
        for where, answer in replies(client, pages):
            guard.show(where, answer)
        if who == "annotator":
            screens_by_script(guard, world)
    assert not guard.faults, "\n".join(guard.faults)
    everything = set(range(1, len(payloads()) + 1))
    for kind in ("text", "attribute", "prose", "textarea"):
        assert not everything - guard.seen[kind], f"No page showed these in a place of this kind: {kind}."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<script>alert(/pwn1z/)</script>", "ran"),
        ("<img src=x onerror=alert(/pwn1z/)>", "ran"),
        ("<img src=https://pwn1z.invalid/>", "asked for https://pwn1z.invalid/"),
        ("<details open>pwn1z<iframe srcdoc=pwn1z></iframe></details>", "the element <iframe"),
        ("<div hx-get=/pwn1z>pwn1z</div>", "hx-get of <div"),
        ("<a href=javascript:alert(/pwn1z/)>pwn1z</a>", "a link <a"),
        ("<div class=prose><a href=/pwn1z>pwn1z</a></div>", "a link <a"),
        ("<meta http-equiv=refresh content='0;url=/pwn1z'>", "/pwn1z"),
    ],
)
def test_a_text_that_is_not_escaped_is_noticed(visit: Visit, live_server: object, text: str, fault: str) -> None:
    guard = Guard(visit(), str(live_server))
    guard.show("here", HttpResponse(f"<!doctype html><title>x</title><main>{text}</main>"))
    assert any(fault in found for found in guard.faults), guard.faults


def test_a_page_that_leads_away_while_it_is_read_is_noticed(
    visit: Visit, live_server: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = Guard(visit(), str(live_server))
    monkeypatch.setitem(globals(), "READ", "() => new Promise(() => {})")  # which reads until the page has gone
    guard.show("here", HttpResponse("<!doctype html><title>x</title><meta http-equiv=refresh content='0;url=/pwn1z'>"))
    assert "here: went to another page while it was read" in guard.faults


def test_downloads_hold_no_formula(live_server: object) -> None:
    world = HostileWorld("garden")
    client, table = world.client("curator"), world.arguments()
    downloads = [url.name for url in urls() if "format" in table[url.name]() or url.name.startswith("export_")]
    formulas, cells = [], 0
    for name in downloads:
        path = reverse(name, kwargs={**table[name](), "format": "csv"})
        text = b"".join(client.get(path)).decode("utf-8-sig")
        for row in csv.reader(text.splitlines(keepends=True)):
            cells += len(row)
            formulas += [cell for cell in row if FORMULA.match(cell) and not NUMBER.fullmatch(cell)]
    assert cells > 1000
    assert not formulas

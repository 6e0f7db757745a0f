"""Every page, in both themes and both languages, has no violation that axe can find, and fits a narrow window.

Which pages there are is read from the URL configuration: a page added later is looked at as well. Structure is looked
at once in each language, colours in both themes of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import translation
from playwright.sync_api import Page, ViewportSize

from tests.browser.conftest import Visit
from tests.browser.filled import FilledWorld, is_page, undone
from tests.test_access import urls

# WCAG 2.2, levels A and AA, and what axe finds good practice besides.
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations"],
    "preload": False,
    "selectors": False,
}
PATIENCE = 120_000  # milliseconds for a page, on a machine that does much besides
WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW = (640, 320)  # CSS pixels across: the wide window at 200 %, and at 400 %
LOOK = """
async ({ rules, theme, colours, menus }) => {
  const found = [];
  const look = async (part) => {
    for (const shown of colours ? [theme, theme === "light" ? "dark" : "light"] : [theme]) {
      document.documentElement.dataset.theme = shown;
      // Colours alone depend on the theme: the rest is looked at once.
      const some = { ...rules, runOnly: { type: "rule", values: ["color-contrast"] }, rules: {} };
      for (const { id, nodes } of (await axe.run(part, shown === theme ? rules : some)).violations) {
        for (const node of nodes) found.push(`${id}, ${shown}: ${node.html.slice(0, 200)} ${node.failureSummary}`);
      }
    }
  };
  // axe cannot tell the contrast of text on the shade at the edge of wide tables.
  const plain = new CSSStyleSheet();
  plain.replaceSync(".table-scroll { background: none !important; }");
  document.adoptedStyleSheets.push(plain);
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  await look(document);
  for (const part of document.querySelectorAll(`dialog, [popover]${menus ? "" : ":not(.menu)"}`)) {
    part.popover ? part.showPopover() : part.showModal();
    await look(part);
    part.popover ? part.hidePopover() : part.close();
  }
  return found;
}
"""


class Eye:
    """Looks at pages in one language and theme, and remembers what is wrong with them."""

    def __init__(self, page: Page, root: str, language: str, theme: str) -> None:
        self.page, self.root, self.language, self.theme = page, root, language, theme
        self.who = ""
        self.faults: list[str] = []
        self.menus: set[str] = set()  # whose menus were looked at, which are the same on every page
        page.context.set_default_timeout(PATIENCE)
        page.context.add_init_script(AXE_SCRIPT)

    def become(self, who: str, client: Client) -> None:
        self.who = who
        self.page.context.clear_cookies()
        cookies = {name: morsel.value for name, morsel in client.cookies.items()}
        cookies |= {"theme": self.theme, "django_language": self.language}
        self.page.context.add_cookies([{"name": n, "value": v, "url": self.root} for n, v in cookies.items()])

    def see(self, path: str, *, colours: bool = False) -> None:
        """`colours`: also those of the other theme."""
        self.page.set_viewport_size(WIDE)
        self.page.goto(path)
        if self.page.url != self.root + path:
            self._note(path, f"leads to {self.page.url}")
        if self.page.evaluate("document.documentElement.dataset.theme") != self.theme:
            self._note(path, "is not in the theme of the cookie")
        self._look(path, colours)

    def see_html(self, path: str, html: str) -> None:
        """A page that is no answer to GET."""
        self.page.set_viewport_size(WIDE)
        self.page.route("**/shown/", lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
        self.page.goto("/shown/")
        self.page.unroute("**/shown/")
        self._look(path, colours=False)

    def _look(self, path: str, colours: bool) -> None:
        menus = colours and self.who not in self.menus
        self.menus |= {self.who} if menus else set()
        look = {"rules": RULES, "theme": self.theme, "colours": colours, "menus": menus}
        for fault in self.page.evaluate(LOOK, look):
            self._note(path, fault)
        if (lang := self.page.evaluate("document.documentElement.lang")) != self.language:
            self._note(path, f"says that its language is {lang}")
        if (n := self.page.locator("h1").count()) != 1:
            self._note(path, f"has {n} h1")
        for width in NARROW:
            self.page.set_viewport_size({"width": width, "height": 640})
            if (wide := self.page.evaluate("document.scrollingElement.scrollWidth")) > width:
                self._note(path, f"is {wide} px wide in a window of {width}")

    def _note(self, path: str, fault: str) -> None:
        self.faults.append(f"{path} as {self.who} in {self.language}: {fault}")


def answers_to_forms(world: FilledWorld, who: str, client: Client) -> Iterator[tuple[str, str]]:
    """What comes back from every form that is sent empty, and from some that are filled in: address and page."""
    table = world.arguments()
    sent: list[tuple[str, dict[str, Any]]] = [(reverse(url.name, kwargs=table[url.name]()), {}) for url in urls()]
    if who == "curator":
        slug = [world.project.slug]
        plan = {"judges": [world.judge.pk], "protocol": "tick", "round": world.round.pk, "repeats": 2}
        wrong = {"file": SimpleUploadedFile("wrong.jsonl", b'{"external_id": 1}\n{')}
        sent += [
            (reverse("run_create", args=slug), plan),
            (reverse("import_items", args=slug), wrong),
            (reverse("members", args=slug), {"invite": "", "role": "annotator"}),
        ]
    if who == "annotator":
        sent.append((reverse("task", args=[world.project.slug, world.task.pk]), {"score": 3, "version": 0}))
    for path, data in sent:
        answer = undone(client, path, data)
        if is_page(answer) and answer.status_code not in {403, 404}:
            yield f"{path} sent with {data}", answer.text


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("ja", "dark")])
def test_every_page_is_accessible(visit: Visit, live_server: object, language: str, theme: str) -> None:
    world = FilledWorld("garden")
    page = visit(reduced_motion="reduce")
    eye = Eye(page, str(live_server), language, theme)
    table = world.arguments()
    named = [reverse(url.name, kwargs=table[url.name]()) for url in urls()]
    seen: set[str] = set()
    for who, more in world.states().items():
        client = world.client(who)
        client.cookies["django_language"] = language
        eye.become(who, client)
        # Beyond the start page and the projects, everybody who is logged in sees the same.
        for path in [path for path in named if path not in seen or path == "/" or path.startswith("/projects/")]:
            answer = client.get(path)
            if answer.status_code == 200 and is_page(answer):
                eye.see(path, colours=True)
                seen |= {path} if who != "anonymous" else set()
        if language == "en":  # other states of the same pages are made of the same parts in every language
            for path in more:
                eye.see(path)
            for path, html in answers_to_forms(world, who, client):
                eye.see_html(path, html)
    with translation.override(language):
        for template in ("400.html", "403_csrf.html", "500.html"):
            eye.see_html(template, render_to_string(template))
    assert not eye.faults, "\n".join(eye.faults)


def test_a_fault_is_noticed(visit: Visit, live_server: object) -> None:
    eye = Eye(visit(), str(live_server), "en", "light")
    pale = '<style>p { color: #aaa; width: 2000px }</style><p>Pale and wide</p><button style="width:8px;padding:0">'
    eye.see_html("here", f"<!doctype html><html lang=ja><title>x</title><main>{pale}</main></html>")
    found = "\n".join(eye.faults)
    for fault in ("color-contrast", "button-name", "page-has-heading-one", "has 0 h1", "language is ja", "px wide"):
        assert fault in found

"""What people do on a phone or at 200 % zoom: lists that read as cards, and nothing that covers what is asked for."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from annotate import assignment
from annotate.models import Annotation, Project, Round, User
from tests import build
from tests.browser.conftest import Visit, keys_ready

PHONE = {"width": 360, "height": 740}
# The first two, and both at 200 %.
WINDOWS = [(1400, 900), (360, 740), (700, 450), (360, 370)]


def logged_in(visit: Visit, user: User, **options: object) -> Page:
    """A page of a fresh browser in which this person is logged in."""
    client = Client()
    client.force_login(user)
    page = visit(**options)
    cookies = [
        {"name": name, "value": value.value, "domain": "localhost", "path": "/"}
        for name, value in client.cookies.items()
    ]
    page.context.add_cookies(cookies)  # type: ignore[arg-type]
    return page


def roles(page: Page) -> list[str]:
    """The roles of the parts of tables, in order, as the browser tells them to screen readers."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    parts = {"table", "rowgroup", "row", "columnheader", "rowheader", "cell"}
    return [node["role"]["value"] for node in tree["nodes"] if not node["ignored"] and node["role"]["value"] in parts]


@pytest.mark.parametrize("name", ["my_labels", "round_seats"])
def test_lists_are_cards_on_a_phone(visit: Visit, project: Project, bob: User, ann: User, name: str) -> None:
    for number in range(2):
        build.item(project, f"a-rather-long-name-of-a-tree-{number}", systems=("Aster",))
    round = build.round(project, name="Pilot", order="fixed")
    build.submitted(round.tasks.get(position=1), ann, 4)
    assignment.next_task(round, ann)
    page = logged_in(visit, ann if name == "my_labels" else bob, viewport=PHONE)
    path = reverse(name, args=[project.slug, round.pk])
    page.goto(path)
    table = page.locator(".table-scroll")
    assert table.evaluate("region => region.scrollWidth <= region.clientWidth")
    heads = [head for head in page.locator("thead th").all_inner_texts() if head != "Actions"]
    named = page.locator("tbody [data-name]")
    beside = "cell => getComputedStyle(cell, '::before').content"
    assert [cell.evaluate(beside) for cell in named.all()] == [f'"{head}" / ""' for head in heads]
    for cell in page.locator("tbody :is(th, td)").all():
        assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")
    button = "Look and correct" if name == "my_labels" else "Release"
    expect(page.get_by_role("main").get_by_text(button, exact=True)).to_be_in_viewport()
    on_phone = sorted(roles(page))
    page.set_viewport_size({"width": 1400, "height": 900})
    assert sorted(roles(page)) == on_phone
    assert {"table", "row", "columnheader", "rowheader", "cell"} <= set(on_phone)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize(("width", "height"), WINDOWS)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_question_of_doubt_and_its_score_are_both_in_view(
    visit: Visit, project: Project, ann: User, width: int, height: int, language: str, script: bool
) -> None:
    item = build.item(project, "tree", systems=("Aster",), instruction="Name one tree. " * 60, language="en")
    build.checklist(item, *(f"Does the response name tree number {number} in one sentence?" for number in range(8)))
    anchors = {str(score): "Does some of what was asked, or only a little of it" for score in range(1, 6)}
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE, overlap=1, scale_anchors=anchors)
    viewport = {"width": width, "height": height}
    page = logged_in(visit, ann, viewport=viewport, reduced_motion="reduce", java_script_enabled=script)
    page.context.add_cookies([{"name": "django_language", "value": language, "domain": "localhost", "path": "/"}])
    page.goto(reverse("annotate", args=["garden", round.pk]))
    if script:
        keys_ready(page)
    for answer in page.locator('.segment:has([value="yes"])').all():
        answer.click()
    page.locator('.scale-step:has([name=score][value="1"])').click()
    page.locator('.scale-step:has([value="none"]), .segment:has([value="none"])').click()
    page.locator("[name=comment]").fill("far from the score")
    submit = page.locator("#submit")
    submit.click()
    expect(page.locator("#ask")).not_to_be_empty()
    expect(page.locator("#ask")).to_be_in_viewport(ratio=1)
    score = page.locator(".scale-step:has(:checked)").first
    for part in (score, submit):
        expect(part).to_be_in_viewport(ratio=1)
        assert uncovered(page, part)
    submit.click()
    expect(page.locator("#answer")).to_have_count(0)
    assert Annotation.objects.counted(round).get().score == 1


def uncovered(page: Page, part: Locator) -> bool:
    """Whether nothing lies over the part's corners, as it stands now."""
    box = part.bounding_box()
    assert box is not None
    left, right = box["x"] + 2, box["x"] + box["width"] - 2
    top, bottom = box["y"] + 2, box["y"] + box["height"] - 2
    corners = [(x, y) for x in (left, right) for y in (top, bottom)]
    at = "([part, x, y]) => part.contains(document.elementFromPoint(x, y))"
    return all(page.evaluate(at, [part.element_handle(), x, y]) for x, y in corners)


def test_evidence_stands_beside_the_answers_about_either_response(visit: Visit, project: Project, ann: User) -> None:
    build.checklist(build.item(project), "Is it short?")
    round = build.round(project, "pairwise_checklist")
    page = logged_in(visit, ann, viewport=PHONE)
    page.goto(reverse("annotate", args=[project.slug, round.pk]))
    keys_ready(page)
    rows = page.locator(".question-row").all()
    assert len(rows) == 2
    for row in rows:
        answers, evidence = row.locator(".segmented").bounding_box(), row.locator("summary").first.bounding_box()
        assert answers is not None
        assert evidence is not None
        assert (
            answers["y"] <= evidence["y"] < evidence["y"] + evidence["height"] <= answers["y"] + answers["height"] + 4
        )
        assert evidence["x"] > answers["x"] + answers["width"]

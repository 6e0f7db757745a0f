"""The main job, walked in a browser by a curator, a researcher and three annotators."""

from __future__ import annotations

import csv
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import krippendorff
import numpy as np
from django.db import connection
from playwright.sync_api import Page, expect

from annotate.models import Annotation, Checklist, Project, Response, Role, Round, User
from judging import work
from judging.models import Run, Verdict
from tests import build
from tests.browser.conftest import Visit, keys_ready
from tests.scripted_endpoint import Request, ScriptedEndpoint

ITEMS = [
    {
        "external_id": f"walk-{number}",
        "instruction": f"Name {number} trees.",
        "language": "en",
        "responses": [
            {"system": "Aster", "text": "Oak, ash, elm."},
            {"system": "Briar", "text": "I like trees <b>a lot</b>."},
        ],
    }
    for number in (1, 2)
]
# What the three people say about the four responses, in the order of the responses' ids.
SCORES = {"ann": [5, 2, 4, 1], "abe": [5, 1, 4, 2], "amy": [4, 2, 4, 1]}


def reply(request: Request) -> str:
    """A model that writes two questions, and likes responses that name an oak."""
    if "[[" in request.prompt:
        return "The reader wants trees.\n[[Does it name trees?]]\n[[Is it brief?]]"
    return f"It was read.\nVerdict: {'YES' if 'Oak, ash' in request.prompt else 'NO'}"


def test_the_main_job(
    visit: Visit, project: Project, alice: User, bob: User, ann: User, abe: User, tmp_path: Path
) -> None:
    build.member(project, Role.ANNOTATOR, "amy")
    with ScriptedEndpoint(reply) as endpoint:
        build.judge(project, endpoint.base_url, name="Oracle")
        import_items(visit("alice"), tmp_path)
        have_checklists_written(visit("alice"))
        researcher = visit("bob")
        round = open_round(researcher)
        for username, scores in SCORES.items():
            label(visit(username), round, scores)
        judge(researcher, round)
    see_agreement(researcher, round)
    export(researcher, round)


def carry_out(run: Run) -> None:
    """What a worker does when it is rung for; in a thread of its own, because this one has the browser's event loop."""

    def in_thread() -> None:
        try:
            work.work(run.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(in_thread).result()


def import_items(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(json.dumps(item) for item in ITEMS))
    page.goto("/projects/garden/")
    page.get_by_role("main").get_by_role("link", name="Import").first.click()
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Check the import")
    page.get_by_role("button", name="Import 2 items").click()
    expect(page.get_by_role("link", name="walk-1")).to_be_visible()


def have_checklists_written(page: Page) -> None:
    page.goto("/projects/garden/checklists/")
    page.get_by_role("link", name=re.compile("Generate")).first.click()
    page.get_by_role("button", name="Write 2 checklists").click()
    run = Run.objects.get(kind=Run.Kind.GENERATION)
    carry_out(run)
    page.reload()
    page.get_by_role("link", name="Review the checklists").click()
    page.get_by_role("link", name="Review one by one").click()
    for _ in range(2):
        expect(page.get_by_role("main")).to_contain_text("Does it name trees?")
        page.get_by_role("button", name=re.compile("[Aa]pprove")).first.click()
    assert Checklist.objects.approved().filter(policy="ticking").count() == 2


def open_round(page: Page) -> Round:
    page.goto("/projects/garden/rounds/new/")
    page.get_by_label("Name").fill("Walk")
    page.get_by_label(re.compile("Check, then score")).check()
    page.get_by_role("button", name="Save the draft").click()
    expect(page.locator(".figure", has_text="Tasks to submit in all")).to_contain_text("12")
    page.get_by_role("button", name="Open the round").click()
    expect(page.get_by_text("The round is open: 4 tasks wait for annotators.")).to_be_visible()
    return Round.objects.get(name="Walk")


def label(page: Page, round: Round, scores: list[int]) -> None:
    order = list(Response.objects.order_by("pk").values_list("pk", flat=True))
    page.goto("/projects/garden/")
    page.get_by_role("link", name="Start").click()
    for _ in scores:
        keys_ready(page)
        task = round.tasks.get(pk=int(page.url.rstrip("/").split("/")[-1]))
        assert task.response_id is not None
        score = scores[order.index(task.response_id)]
        page.keyboard.press("y" if score > 2 else "n")
        page.keyboard.press("y")
        page.keyboard.press(str(score))
        page.keyboard.press("e")
        before = page.url
        page.keyboard.press("Control+Enter")
        expect(page).not_to_have_url(before)
    expect(page.get_by_text("You have done everything in this round")).to_be_visible()


def judge(page: Page, round: Round) -> None:
    page.goto(f"/projects/garden/rounds/{round.pk}/")
    page.get_by_role("link", name="Let a judge label it").first.click()
    page.get_by_label("TICK: one call per question").check()
    page.get_by_role("button", name="See what it would send").click()
    expect(page.get_by_text("This will send 8 calls to Oracle")).to_be_visible()
    page.get_by_role("button", name="Start the run").click()
    run = Run.objects.get(kind=Run.Kind.JUDGING)
    carry_out(run)
    expect(page.get_by_text("8 judged")).to_be_visible()
    assert Verdict.objects.filter(run=run, state__in=["yes", "no"]).count() == 8


def see_agreement(page: Page, round: Round) -> None:
    page.goto(f"/projects/garden/rounds/{round.pk}/")
    panel = page.locator("#agreement")
    expect(panel).to_contain_text("Among people")
    table = np.array(list(SCORES.values()))
    alpha = krippendorff.alpha(reliability_data=table, level_of_measurement="ordinal")
    expect(panel).to_contain_text(f"{alpha:.3f}")
    expect(panel).to_contain_text("Oracle")


def export(page: Page, round: Round) -> None:
    page.goto(f"/projects/garden/rounds/{round.pk}/")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()))
    scores = [row for row in rows if row["facet"] == "score"]
    answers = [row for row in rows if row["facet"] == "question"]
    assert (len(scores), len(answers)) == (12, 24)
    assert sorted(int(row["value"]) for row in scores) == sorted(one for said in SCORES.values() for one in said)
    assert Annotation.objects.counted(round).count() == 12

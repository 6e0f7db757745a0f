"""The agreement page: every figure with its interval, n and missing; polled cheaply; never for annotators."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotate import supervision
from annotate.contents import Content, Written
from annotate.models import Project, Response, Role, Round, User
from judging import live, runs
from judging.agreement import Figure
from judging.templatetags.figures import coefficient, interval_chart, percentage
from tests import build
from tests.judging.build_runs import run_of, verdict

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


@pytest.fixture
def round(project: Project) -> Round:
    for name in ("moss", "fern", "oak"):
        build.checklist(build.item(project, name), f"Is {name} <named>?", "Is it true?")
    return build.round(project, Round.Kind.CHECK_THEN_SCORE, overlap=2)


@pytest.fixture
def labelled(round: Round, ann: User, abe: User) -> Round:
    for task in round.tasks.order_by("position"):
        assert task.checklist is not None
        first, second = task.checklist.questions.all()
        build.submitted(task, ann, 1 + task.position % 5, {first.pk: "yes", second.pk: "no"})
        build.submitted(task, abe, 1 + task.position % 4, {first.pk: "yes", second.pk: "yes"})
    return round


def address(round: Round) -> str:
    return f"/projects/garden/rounds/{round.pk}/agreement/"


def test_the_page_shows_every_figure_with_interval_n_and_missing(page: Client, labelled: Round) -> None:
    text = page.get(address(labelled)).text

    assert "Krippendorff’s α with its 95 % interval" in text
    assert "Is moss &lt;named&gt;?" in text
    assert "jackknife-t over units" in text
    for part in live.panel(labelled).people:
        assert part.alpha.low is not None
        assert f'<td class="num">{coefficient(part.alpha.value)} <span' in text
        assert f"{coefficient(part.alpha.low)} to {coefficient(part.alpha.high)}" in text
        assert f'<td class="num">{coefficient(part.gwet.value)} <span' in text
        for share in part.shares["people"].values():
            assert f": {percentage(share)}</span>" in text
    for word in ("Missing", "Labels used", "Equal pairs", "AC1, AC2", "Of all labels", "ordinal", "nominal"):
        assert word in text


def test_it_works_without_javascript(page: Client, labelled: Round) -> None:
    assert '<noscript><a href="">Load the page again' in page.get(address(labelled)).text


def test_htmx_gets_the_panel_alone_and_304_while_nothing_changes(page: Client, labelled: Round, ann: User) -> None:
    first = page.get(address(labelled), headers=HTMX)
    etag = first.headers["ETag"]

    assert first.text.strip().startswith('<section id="agreement"')
    assert f'data-etag="{etag.replace(chr(34), "&quot;")}"' in first.text
    assert 'hx-trigger="every 2s, refresh"' in first.text
    assert "HX-Request" in first.headers["Vary"]
    again = page.get(address(labelled), headers={**HTMX, "If-None-Match": etag})
    assert again.status_code == 304
    assert again.content == b""

    run = run_of(labelled)
    verdict(run, Response.objects.earliest("pk"), "score", score=2)
    changed = page.get(address(labelled), headers={**HTMX, "If-None-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != etag


def test_a_poll_without_change_costs_few_queries(
    page: Client, labelled: Round, django_assert_max_num_queries: Any
) -> None:
    etag = page.get(address(labelled), headers=HTMX).headers["ETag"]

    with django_assert_max_num_queries(8):  # session, user, membership, round, and four for the version
        assert page.get(address(labelled), headers={**HTMX, "If-None-Match": etag}).status_code == 304


def test_beside_the_progress_of_a_round_the_panel_brings_it_along(
    page: Client, round: Round, ann: User, abe: User, django_assert_max_num_queries: Any
) -> None:
    first_task, *_, last_task = round.tasks.order_by("position")
    build.submitted(first_task, ann, 3)
    there = f"{address(round)}?beside=progress"
    assert f'hx-get="{there}"' in page.get(f"/projects/garden/rounds/{round.pk}/").text
    first = page.get(there, headers=HTMX)
    etag = first.headers["ETag"]
    assert f'hx-get="{there}"' in first.text
    assert 'data-poll="progress"' in first.text
    assert '<div id="progress" hx-swap-oob="true">' in first.text
    assert "1 of 12: 6 tasks, 2 annotators each" in first.text
    assert 'id="progress"' not in page.get(address(round), headers=HTMX).text
    with django_assert_max_num_queries(9):  # one more than without the progress
        assert page.get(there, headers={**HTMX, "If-None-Match": etag}).status_code == 304

    supervision.pause(round, ann, ann)  # moves no figure
    paused = page.get(there, headers={**HTMX, "If-None-Match": etag})
    assert "Paused" in paused.text

    build.submitted(last_task, abe, 3)
    moved = page.get(there, headers={**HTMX, "If-None-Match": paused.headers["ETag"]})
    assert "2 of 12: 6 tasks, 2 annotators each" in moved.text
    assert "abe" in moved.text


def test_the_progress_of_a_round_too_large_to_count_in_passing_stays(
    page: Client, labelled: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotate.progress.COUNTED_UP_TO", labelled.size - 1)
    assert "beside=progress" not in page.get(f"/projects/garden/rounds/{labelled.pk}/").text
    assert 'id="progress"' not in page.get(f"{address(labelled)}?beside=progress", headers=HTMX).text


def test_the_page_is_never_answered_from_the_entity_tag_of_the_panel(page: Client, labelled: Round) -> None:
    etag = page.get(address(labelled), headers=HTMX).headers["ETag"]

    answer = page.get(address(labelled), headers={"If-None-Match": etag})

    assert answer.status_code == 200
    assert "<h1>" in answer.text


def test_judges_stand_beside_the_people_with_what_is_missing(page: Client, labelled: Round) -> None:
    run = run_of(labelled)
    run.judge.is_weak = True
    run.judge.save()
    task = labelled.tasks.get(position=1)
    assert task.checklist is not None
    assert task.response is not None
    first, second = task.checklist.questions.all()
    verdict(run, task.response, "unparsed", question=first)
    verdict(run, task.response, "yes", question=second)

    text = page.get(address(labelled)).text

    assert f"/projects/garden/runs/{run.pk}/" in text
    assert "is-weak" in text
    assert "2: 1 unreadable, 1 with people evenly split" in text
    assert "no unit has both a consensus of people and a value of the judge" in text


def test_labels_of_simulated_annotators_are_announced(page: Client, project: Project, round: Round, ann: User) -> None:
    robot = build.member(project, Role.ANNOTATOR, "robot", is_simulated=True, is_active=False)
    task = round.tasks.get(position=1)
    build.submitted(task, robot, 4)
    assert "All 3 labels come from simulated annotators" in page.get(address(round)).text

    build.submitted(task, ann, 4)
    assert "3 of 6 labels come from simulated annotators" in page.get(address(round)).text


def test_a_round_without_labels_says_what_is_to_come(page: Client, round: Round) -> None:
    assert "Nobody has submitted a task." in page.get(address(round)).text

    draft = build.round(round.project, opened=False)
    text = page.get(address(draft)).text
    assert "The round is a draft. Open it" in text


def test_all_questions_are_shown_on_demand_and_polled_so(
    page: Client, labelled: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.live.SHOWN_QUESTIONS", 2)

    assert "Show all 6 questions" in page.get(address(labelled)).text
    text = page.get(f"{address(labelled)}?questions=all").text
    assert "6 of 6 questions" in text
    assert f'hx-get="{address(labelled)}?questions=all"' in text


def test_agreement_is_never_for_annotators_or_outsiders(
    client: Client, labelled: Round, ann: User, charlie: User
) -> None:
    for person, status in ((ann, 403), (charlie, 404)):
        client.force_login(person)
        assert client.get(address(labelled)).status_code == status
        assert client.get(address(labelled), headers=HTMX).status_code == status


def test_rounds_of_another_project_are_not_found(page: Client) -> None:
    elsewhere = build.project("meadow")
    build.item(elsewhere)

    assert page.get(address(build.round(elsewhere))).status_code == 404


def test_numbers_are_written_with_a_true_minus_sign() -> None:
    assert coefficient(-0.12345) == "−0.123"
    assert coefficient(-0.0001) == "0.000"
    assert coefficient(None) == ""
    assert percentage(0.666666) == "66.7 %"


def test_two_pairs_on_which_people_turn_round_bear_no_verdict_and_no_interval(
    page: Client, project: Project, ann: User, abe: User
) -> None:
    build.item(project)
    build.item(project)
    made = build.round(project, "preference", overlap=2)
    for task, steps in zip(made.tasks.all(), ((1, 5), (5, 1)), strict=True):
        for person, step in zip((ann, abe), steps, strict=True):
            build.said(task, person, Content(preference=step))
    text = page.get(address(made)).text
    assert "All resamples agree on this value" in text
    assert "The interval says" not in text
    assert "WPLD 2.000 (0 is full agreement" in text


def test_a_long_name_is_whole_in_the_chart_and_cut_by_the_browser_where_there_is_no_room(
    page: Client, labelled: Round
) -> None:
    run = run_of(labelled, judge=build.judge(labelled.project, name="SmolLM2 135M (packaged, and told to be strict)"))
    verdict(run, Response.objects.earliest("pk"), "score", score=2)
    chart = page.get(address(labelled)).text.split('<g class="chart">')[1].split("</figure>")[0]
    assert ">SmolLM2 135M (packaged, and told to be strict) and people, " in chart


def test_the_axis_of_a_chart_reaches_below_zero_only_where_it_must() -> None:
    good = Figure(name="alpha", value=0.5, low=0.4, high=0.6)
    bad = Figure(name="alpha", value=0.1, low=-0.3, high=0.5)
    none = Figure(name="alpha", reason="Undefined: there are no labels.")

    chart = interval_chart("c", "Alpha", [("One", good), ("None", none)])
    assert [mark["text"] for mark in chart["marks"]] == ["0", "0.667", "0.8", "1"]
    assert chart["lines"][0]["x"] == "50.00%"
    assert chart["lines"][1]["x"] is None

    chart = interval_chart("c", "Alpha", [("One", good), ("Two", bad)])
    assert [mark["text"] for mark in chart["marks"]] == ["−1", "0", "0.667", "0.8", "1"]
    assert chart["lines"][0]["x"] == "74.00%"


SAID: dict[str, set[str]] = {
    Round.Kind.CHECK_THEN_SCORE: {"score", "answers", "effect"},
    Round.Kind.DIRECT_SCORING: {"score"},
    Round.Kind.CHECKLIST_ANSWERING: {"answers"},
    Round.Kind.PREFERENCE: {"preference"},
    Round.Kind.PAIRWISE_CHECKLIST: {"answers", "other_answers", "preference"},
    Round.Kind.CHECKLIST_WRITING: {"written"},
}
UNITS = {
    "score": "A unit of the scores is a response.",
    "answers": "A unit of the answers is a question about a response.",
    "preference": "A unit of the preferences is two responses to the same instruction.",
}
ROWS = {"score": "Scores, ordinal", "answers": "Answers, nominal", "preference": "Preferences, ordinal"}


@pytest.mark.parametrize("kind", Round.Kind)
def test_every_kind_of_round_shows_what_people_can_agree_on_and_nothing_else(
    page: Client, project: Project, ann: User, abe: User, kind: str
) -> None:
    questions = build.checklist(build.item(project)).questions.all()
    answers = {question.pk: "yes" for question in questions}
    content: dict[str, Any] = {
        "score": 4,
        "answers": answers,
        "other_answers": answers,
        "preference": 2,
        "effect": "none",
        "written": Written("yes", "yes", ("Is it short?",)),
    }
    made = build.round(project, kind, overlap=2)
    before = page.get(address(made)).text
    for task in made.tasks.all():
        for person in (ann, abe):
            build.said(task, person, Content(**{part: content[part] for part in SAID[kind]}))
    whole, polled = page.get(address(made)), page.get(address(made), headers=HTMX)

    assert (whole.status_code, polled.status_code) == (200, 200)
    for part, row in ROWS.items():
        assert (row in polled.text) == (part in SAID[kind])
        assert (UNITS[part] in polled.text) == (part in SAID[kind])
    assert ("Question by question" in polled.text) == ("answers" in SAID[kind])
    writes = kind == Round.Kind.CHECKLIST_WRITING
    for text in (before, whole.text, polled.text):
        assert ("In this round people write checklists. Nobody labels a response" in text) == writes
    assert ("No labels yet" in before) != writes
    assert ("Let a judge label it" in whole.text) != writes
    assert ("Over time" in whole.text) != writes


def test_no_judge_is_asked_where_people_write_checklists(page: Client, project: Project) -> None:
    build.item(project)
    writing = build.round(project, Round.Kind.CHECKLIST_WRITING)
    build.judge(project)

    with pytest.raises(runs.PlanError, match="In this round people write checklists: choose one where they label"):
        runs.draft(project, build.judge(project), "direct", writing)
    assert writing not in page.get("/projects/garden/runs/new/").context["form"].fields["round"].queryset
    assert "Let a judge label it" not in page.get(f"/projects/garden/rounds/{writing.pk}/").text

"""Agreement over time: a snapshot where something moved, and a chart with its table, thinned to what can be seen."""

from __future__ import annotations

import datetime
import re
from itertools import pairwise
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from annotate.models import Project, Response, Round, User
from judging import curves, live
from judging.curves import Curve, Line, Noted, Point
from judging.models import Snapshot
from judging.tasks import snapshot
from judging.templatetags.curves import curve_chart
from tests import build
from tests.judging.build_runs import run_of, verdict

pytestmark = pytest.mark.django_db

NOON = datetime.datetime(2026, 3, 1, 12, 0, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)


@pytest.fixture
def round(project: Project) -> Round:
    for name in ("moss", "fern", "oak"):
        build.item(project, name)
    return build.round(project, overlap=2)


def label(round: Round, position: int, **scores: int) -> None:
    for username, score in scores.items():
        build.submitted(round.tasks.get(position=position), User.objects.get(username=username), score)


def test_a_snapshot_holds_the_figures_of_the_panel(round: Round, ann: User, abe: User) -> None:
    label(round, 1, ann=2, abe=2)
    label(round, 2, ann=4, abe=5)
    run = run_of(round, "direct")
    verdict(run, Response.objects.earliest("pk"), "score", score=3)

    assert curves.take(NOON) == 1

    stored = Snapshot.objects.get()
    alpha = live.panel(round).people[0].alpha
    assert stored.taken_at == NOON
    assert stored.figures.keys() == {"people/score", f"run/{run.pk}/score"}
    assert stored.figures["people/score"] == {
        "value": alpha.value,
        "low": alpha.low,
        "high": alpha.high,
        "n_units": 2,
        "n_labels": 4,
        "missing": 4,
    }


def test_nothing_is_noted_where_nothing_moved(round: Round, ann: User, abe: User) -> None:
    assert curves.take(NOON) == 0  # no label yet
    label(round, 1, ann=2, abe=2)
    assert curves.take(NOON) == 1
    assert curves.take(NOON + MINUTE) == 0
    label(round, 2, ann=2)
    assert curves.take(NOON + 2 * MINUTE) == 1
    assert Snapshot.objects.count() == 2


def test_the_beat_asks_for_snapshots_each_minute(round: Round, ann: User) -> None:
    entry = settings.CELERY_BEAT_SCHEDULE["snapshot"]
    assert (entry["task"], entry["schedule"]) == (snapshot.name, 60.0)
    label(round, 1, ann=2)
    before = timezone.now()

    snapshot()

    assert Snapshot.objects.get().taken_at >= before


def test_a_long_history_is_thinned_evenly_and_keeps_both_ends(round: Round, ann: User) -> None:
    label(round, 1, ann=2)
    Snapshot.objects.bulk_create(
        Snapshot(round=round, taken_at=NOON + n * MINUTE, revision=n, figures={"people/score": {"value": n / 1000}})
        for n in range(500)
    )

    points = curves.curve(round, live.panel(round)).points

    assert len(points) == curves.MOST_POINTS
    assert (points[0].at, points[-1].at) == (NOON, NOON + 499 * MINUTE)
    gaps = {(later.at - earlier.at) // MINUTE for earlier, later in pairwise(points)}
    assert gaps == {10, 11}


def test_a_judge_that_came_later_has_no_figure_before(round: Round, ann: User, abe: User) -> None:
    label(round, 1, ann=2, abe=3)
    curves.take(NOON)
    verdict(run_of(round, "direct"), Response.objects.earliest("pk"), "score", score=3)
    curves.take(NOON + MINUTE)

    found = curves.curve(round, live.panel(round))

    assert [line.words.split(",")[1] for line in found.lines] == [" scores", " scores"]
    assert found.lines[1].figures[0] == Noted()
    assert found.lines[1].figures[1].n_labels is not None


def chart(*values: float | None, low: float | None = None, lines: int = 1) -> dict[str, Any]:
    figures = [Noted(value, low, None if low is None else value, 5, 10, 0) for value in values]
    points = [Point(NOON + n * MINUTE, [figure] * lines) for n, figure in enumerate(figures)]
    drawn: dict[str, Any] = curve_chart("c", "Alpha", Curve([Line("People", figures)] * lines, points))
    return drawn


def test_a_line_is_broken_where_the_figure_was_undefined() -> None:
    [line] = chart(0.0, 0.5, None, 1.0)["lines"]

    assert [piece["line"] for piece in line["pieces"]] == ["0.0,200.0 333.3,100.0", "996.0,0.0 1000.0,0.0"]
    assert [piece["band"] for piece in line["pieces"]] == ["", ""]


def test_the_band_lies_between_the_limits() -> None:
    [line] = chart(0.5, 1.0, low=0.25)["lines"]

    assert line["pieces"][0]["band"] == "0.0,100.0 1000.0,0.0 1000.0,150.0 0.0,150.0"


def test_the_axis_reaches_below_zero_only_where_it_must() -> None:
    assert [mark["text"] for mark in chart(0.5, 0.6)["marks"]] == ["0", "0.667", "0.8", "1"]
    below = chart(0.5, -0.5)["marks"]
    assert {mark["text"]: mark["y"] for mark in below} == {
        "−1": "200.0",
        "0.667": "33.3",
        "0.8": "20.0",
        "1": "0.0",
        "0": "100.0",
    }


def test_no_more_lines_are_drawn_than_can_be_told_apart() -> None:
    drawn = chart(0.5, 0.6, lines=6)

    assert len(drawn["lines"]) == 4
    assert drawn["left_out"] == 2


def test_the_page_shows_the_curve_with_its_table_and_polls_it_apart(
    client: Client, round: Round, bob: User, ann: User, abe: User
) -> None:
    client.force_login(bob)
    address = f"/projects/garden/rounds/{round.pk}/agreement/"
    label(round, 1, ann=2, abe=2)
    label(round, 2, ann=4, abe=5)
    curves.take(NOON)
    assert "A curve appears here once labels have come in" in client.get(address).text
    label(round, 3, ann=1, abe=1)
    curves.take(NOON + MINUTE)

    page = client.get(address).text
    assert "Krippendorff’s alpha over time" in page
    assert page.count('<polyline class="chart-line"') == 1
    etag = re.search(r'id="curve".*data-etag="&quot;(.*?)&quot;"', page)
    assert etag is not None
    headers = {"HX-Request": "true"}
    part = client.get(f"{address}?part=curve", headers=headers)
    assert part.text.strip().startswith('<section id="curve"')
    assert part.headers["ETag"] == f'"{etag[1]}"'
    rows = re.findall(r'<th class="nowrap" scope="row">(.*?)</th>', part.text)
    assert len(rows) == 2
    known = {**headers, "If-None-Match": part.headers["ETag"]}
    assert client.get(f"{address}?part=curve", headers=known).status_code == 304
    label(round, 4, ann=3, abe=1)
    curves.take(NOON + 2 * MINUTE)
    assert client.get(f"{address}?part=curve", headers=known).status_code == 200


def test_the_curve_is_never_for_annotators(client: Client, round: Round, ann: User, charlie: User) -> None:
    address = f"/projects/garden/rounds/{round.pk}/agreement/?part=curve"
    for person, status in ((ann, 403), (charlie, 404)):
        client.force_login(person)
        assert client.get(address, headers={"HX-Request": "true"}).status_code == status

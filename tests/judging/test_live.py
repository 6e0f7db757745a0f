"""The live panel: people among themselves, judges against people, and a version that costs next to nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import krippendorff
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate import labelling
from annotate.contents import Content
from annotate.models import Annotation, Checklist, Project, Response, Role, Round, User
from judging import claims, live, runs
from judging.agreement import Figure, Histogram, ac2
from judging.labels import QUESTIONS, SCORE, Facet
from judging.live import standing
from judging.models import Call, Judge
from judging.protocols import Outcome
from tests import build
from tests.judging.build_runs import call, run_of, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def round(project: Project) -> Round:
    for name in ("moss", "fern", "oak"):
        build.checklist(build.item(project, name), "Is it short?", "Is it true?")
    return build.round(project, Round.Kind.CHECK_THEN_SCORE, overlap=3)


@pytest.fixture
def people(project: Project) -> list[User]:
    return [build.member(project, Role.ANNOTATOR, name) for name in ("ann", "abe", "amy")]


def label(round: Round, people: list[User], scores: list[list[int]], answers: list[str] | None = None) -> None:
    """Each row of `scores` holds what the people gave the task at that position; `answers` are yes or no by person."""
    for task, row in zip(round.tasks.order_by("position"), scores, strict=False):
        assert isinstance(task.checklist, Checklist)
        for place, (person, score) in enumerate(zip(people, row, strict=False)):
            said = answers[place] if answers else "yes"
            build.submitted(task, person, score, {question.pk: said for question in task.checklist.questions.all()})


def test_alpha_of_the_scores_is_the_published_ones(round: Round, people: list[User]) -> None:
    scores = [[1, 2, 3], [4, 4, 5], [2, 2, 1], [5, 5, 5], [3, 1, 2], [4, 3, 4]]
    label(round, people, scores)

    alpha = live.panel(round).people[0].alpha

    expected = krippendorff.alpha([list(row) for row in zip(*scores, strict=True)], level_of_measurement="ordinal")
    assert alpha.value == pytest.approx(expected, abs=1e-12)
    assert (alpha.n_units, alpha.n_labels, alpha.missing) == (6, 18, 0)
    assert alpha.low is not None
    assert alpha.value is not None
    assert alpha.low < alpha.value


def test_units_with_fewer_than_two_labels_are_missing(round: Round, people: list[User]) -> None:
    label(round, people, [[1, 2, 3], [4]])

    alpha = live.panel(round).people[0].alpha

    assert (alpha.n_units, alpha.missing) == (1, 5)


def test_without_labels_every_figure_says_why_it_has_no_value(round: Round) -> None:
    panel = live.panel(round)

    assert [part.alpha.value for part in panel.people] == [None, None]
    assert all(part.alpha.reason for part in panel.people)
    assert panel.judges == []
    assert panel.question_count == 6


def test_no_variation_is_undefined_and_not_perfect(round: Round, people: list[User]) -> None:
    label(round, people, [[3, 3, 3], [3, 3, 3]])

    scores = live.panel(round).people[0]

    assert scores.alpha.reason == "Undefined: every rating is 3."
    assert scores.percent.value == 1.0


def test_a_judge_never_enters_a_figure_about_people(round: Round, people: list[User]) -> None:
    label(round, people, [[1, 2, 3], [4, 4, 5], [2, 2, 1]], ["yes", "no", "yes"])
    before = live.panel(round)
    run = run_of(round)
    for response in Response.objects.all():
        for question in response.item.checklists.get().questions.all():
            verdict(run, response, "no", question=question)
    direct = run_of(round, "direct")
    for response in Response.objects.all():
        verdict(direct, response, "score", score=5)

    after = live.panel(round)

    assert after.people == before.people
    assert after.questions == before.questions
    assert {row.agreement.facet for row in after.judges} == {SCORE, QUESTIONS}


def test_a_judge_is_compared_with_the_majority_of_the_people(round: Round, people: list[User]) -> None:
    label(round, people, [[3, 3, 3]] * 6, ["yes", "yes", "no"])
    run = run_of(round)
    responses = list(Response.objects.order_by("pk"))
    for response in responses[:5]:
        first, second = response.item.checklists.get().questions.all()
        verdict(run, response, "yes", question=first)
        verdict(run, response, "no", question=second)
    last = responses[5].item.checklists.get().questions.all()
    verdict(run, responses[5], "unparsed", question=last[0])
    call(run, responses[5], question=last[1], state="failed", error="The endpoint answered 500.")

    [row] = live.panel(round).judges

    assert row.agreement.percent.value == 0.5
    assert row.agreement.percent.n_units == 10
    assert row.agreement.percent.missing == 2
    assert dict(row.agreement.gaps) == {"failed": 1, "unreadable": 1}


def test_units_on_which_people_split_evenly_are_left_out_and_counted(round: Round, people: list[User]) -> None:
    label(round, people[:2], [[3, 4]], ["yes", "no"])
    run = run_of(round)
    task = round.tasks.get(position=1)
    other = round.tasks.get(position=2)
    assert task.checklist is not None
    assert task.response is not None
    assert other.checklist is not None
    assert other.response is not None
    verdict(run, task.response, "yes", question=task.checklist.questions.all()[0])
    verdict(run, other.response, "yes", question=other.checklist.questions.all()[0])

    [row] = live.panel(round).judges

    assert dict(row.agreement.gaps) == {"people_tied": 1, "people": 1}
    assert row.agreement.alpha.reason == "Undefined: no unit has both a consensus of people and a value of the judge."


def test_scores_of_a_judge_are_compared_with_the_mean_of_the_people(round: Round, people: list[User]) -> None:
    label(round, people[:2], [[1, 2], [4, 5], [2, 2]])
    run = run_of(round, "direct")
    golds = [2, 5, 2]
    for task, gold in zip(round.tasks.order_by("position"), golds, strict=False):
        assert task.response is not None
        verdict(run, task.response, "score", score=gold)

    [row] = live.panel(round).judges

    assert row.agreement.alpha.value == 1.0
    assert row.agreement.alpha.n_units == 3
    assert live.histogram(round, SCORE, run).n_units == 3


def test_a_tick_run_on_a_round_of_scores_has_nobody_to_agree_with(project: Project) -> None:
    item = build.item(project)
    checklist = build.checklist(item)
    round = build.round(project)
    run = run_of(round)
    verdict(run, item.responses.all()[0], "yes", question=checklist.questions.all()[0])

    [row] = live.panel(round).judges

    assert row.agreement.alpha.reason == "Undefined: no person has given an answer yet."
    assert dict(row.agreement.gaps) == {"people": 1}


def test_questions_come_with_the_least_agreement_first(round: Round, people: list[User]) -> None:
    tasks = list(round.tasks.order_by("position"))
    split, *_ = tasks
    for place, person in enumerate(people):
        for task in tasks:
            assert task.checklist is not None
            first, second = task.checklist.questions.all()
            doubtful = "yes" if place else "no"
            same = task.item_id == split.item_id
            build.submitted(task, person, 3, {first.pk: "yes", second.pk: doubtful if same else "yes"})

    panel = live.panel(round)

    worst = panel.questions[0]
    assert (worst.item, worst.position) == (split.item_id, 2)
    assert worst.percent.value == pytest.approx(1 / 3)
    assert worst.yes == pytest.approx(2 / 3)
    assert panel.questions[1].alpha.reason == "Undefined: every rating is yes."


def test_gwet_and_the_shares_of_values_stand_beside_alpha(round: Round, people: list[User]) -> None:
    scores = [[1, 2, 3], [4, 4, 5], [2, 2, 1]]
    label(round, people, scores, ["yes", "no", "yes"])

    first, second = live.panel(round).people

    counts = [[row.count(value) for value in range(1, 6)] for row in scores]
    expected = ac2(Histogram.from_counts([*counts, *[[0] * 5] * 3], [1, 2, 3, 4, 5]), "ordinal")
    assert first.gwet == expected
    assert first.shares == {"people": {1.0: 2 / 9, 2.0: 3 / 9, 3.0: 1 / 9, 4.0: 2 / 9, 5.0: 1 / 9}}
    # Two values, since this round offers no "na": chance is 2 x 2/3 x 1/3, and a third of the pairs is equal.
    assert second.gwet.value == pytest.approx((1 / 3 - 4 / 9) / (1 - 4 / 9))
    assert second.shares == {"people": {"yes": 2 / 3, "no": 1 / 3}}
    assert all(row.gwet.value == second.gwet.value for row in live.panel(round).questions if row.yes is not None)


def test_the_shares_of_a_judge_stand_beside_those_of_the_people(round: Round, people: list[User]) -> None:
    label(round, people, [[3, 3, 3]] * 6, ["yes", "yes", "no"])
    run = run_of(round)
    for number, response in enumerate(Response.objects.order_by("pk")):
        question = response.item.checklists.get().questions.all()[0]
        verdict(run, response, "no" if number < 2 else "yes", question=question)

    [row] = live.panel(round).judges

    assert row.agreement.shares == {"people": {"yes": 1.0, "no": 0.0}, "judge": {"yes": 4 / 6, "no": 2 / 6}}
    assert row.agreement.gwet.n_units == 6
    assert [who for who, _ in row.agreement.shares_in_words] == ["The people", "The judge"]


def test_the_number_of_questions_is_kept_and_not_counted(round: Round, people: list[User]) -> None:
    label(round, people, [[3, 3, 3]])
    with CaptureQueriesContext(connection) as captured:
        assert live.panel(round).question_count == 6

    assert not any("COUNT(" in query["sql"] for query in captured.captured_queries)


def test_the_worst_questions_are_found_by_their_index(round: Round) -> None:
    """Among so few rows a database would rather read them all, so it is told that reading them is dear."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
    plan = live.worst_questions(round)[: live.SHOWN_QUESTIONS].explain()

    assert "series_worst_first" in plan
    assert "sort" not in plan.lower().replace("cost", "")
    assert "TEMP B-TREE" not in plan


def test_the_table_is_cut_unless_all_questions_are_asked_for(
    round: Round, people: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SHOWN_QUESTIONS", 2)

    assert len(live.panel(round).questions) == 2
    assert len(live.panel(round, all_questions=True).questions) == 6
    assert live.panel(round).question_count == 6


def test_simulated_annotators_are_counted(project: Project, round: Round, people: list[User]) -> None:
    robot = build.member(project, Role.ANNOTATOR, "robot", is_simulated=True, is_active=False)
    label(round, [people[0], robot], [[2, 3]])

    panel = live.panel(round)

    assert (panel.labels, panel.simulated) == (6, 3)


def test_cancelled_runs_and_checklist_writing_are_not_shown(round: Round) -> None:
    cancelled = run_of(round, state="cancelled")
    verdict(cancelled, Response.objects.earliest("pk"), "score", score=3)

    assert live.panel(round).judges == []


def test_the_panel_asks_as_many_queries_whatever_it_holds(
    round: Round, people: list[User], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(7):
        live.panel(round)

    label(round, people, [[1, 2, 3]] * 6)
    for _ in range(2):
        run = run_of(round)
        for response in Response.objects.all():
            for question in response.item.checklists.get().questions.all():
                verdict(run, response, "yes", question=question)
    with django_assert_num_queries(7):
        assert len(live.panel(round).judges) == 2
    with django_assert_num_queries(2):
        live.version(round)


def test_the_panel_reads_no_label(round: Round, people: list[User]) -> None:
    label(round, people, [[1, 2, 3]])
    with CaptureQueriesContext(connection) as captured:
        live.panel(round, all_questions=True)
        live.version(round)

    read = " ".join(query["sql"] for query in captured.captured_queries)
    assert "judging_cell" in read
    for table in ("annotate_annotation", "annotate_answer", "judging_verdict", "judging_call", "annotate_task"):
        assert table not in read


def test_the_histogram_of_one_question(round: Round, people: list[User]) -> None:
    label(round, people, [[3, 3, 3]], ["yes", "no", "yes"])
    task = round.tasks.get(position=1)
    assert task.checklist is not None
    question = task.checklist.questions.all()[0]

    found = live.histogram(round, Facet("question", question.pk))

    assert found.domain == ("yes", "no")
    assert found.patterns == {(0, 0): 1, (2, 1): 1}
    round.allow_na = True
    assert live.histogram(round, Facet("question", question.pk)).domain == ("yes", "no", "na")


def test_the_version_changes_with_everything_that_the_panel_shows(round: Round, people: list[User]) -> None:
    seen = [live.version(round)]

    def changed() -> bool:
        seen.append(live.version(round))
        return seen[-1] not in seen[:-1]

    assert live.version(round) == seen[0]
    label(round, people, [[3, 3, 3]])
    assert changed()
    stored = Annotation.objects.filter(annotator=people[0]).get()
    answers = {answer.question_id: answer.value for answer in stored.answers.all()}
    labelling.correct(stored.task, people[0], Content(4, answers, "none"), token="c", version=1)
    assert changed()
    labelling.withdraw(stored, "a test")
    assert changed()
    run = run_of(round)
    assert changed()
    made = call(run, Response.objects.earliest("pk"), state="failed", error="No answer.")
    assert changed()
    runs.retry_failed(run)
    assert changed()
    [claimed] = claims.claim(run, 1, timezone.now())
    claims.settle([claims.done(claimed, [Outcome("score", score=2)])], timezone.now())
    assert changed()
    runs.cancel(run)
    assert changed()
    assert Call.objects.get(pk=made.pk).state == "done"
    Judge.objects.filter(pk=run.judge_id).update(name="Another name")
    assert not changed()  # a cancelled run is not shown


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.8, 0.99, "reliable"), (0.667, 0.99, "tentative"), (0.66, 0.99, "open"), (0.1, 0.6, "low"), (None, None, "")],
)
def test_thresholds_look_at_the_lower_bound(low: float | None, high: float | None, word: str) -> None:
    figure = Figure(name="alpha", value=0.95, low=low, high=high, n_units=20)

    assert standing(figure).split(",")[0] == word


def test_few_units_and_an_interval_of_no_width_bear_no_verdict() -> None:
    few = Figure(name="alpha", value=-0.417, low=-0.9, high=0.1, n_units=4)
    assert standing(few) == "nothing yet, with fewer than 5 units"
    assert standing(replace(few, n_units=5)) == "low, all of it below 0.667"
    assert standing(replace(few, low=-0.417, high=-0.417)) == ""
    assert standing(replace(few, value=1.0, low=1.0, high=1.0, n_units=500)) == ""

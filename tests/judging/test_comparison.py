"""A judge beside people and beside judges: figures worked out by hand, and the pages that show them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotate import labelling
from annotate.models import Annotation, Item, Project, Response, Round, Task, User
from judging import beside, disagreements, recount
from judging.agreement import Figure, Label, Value
from judging.comparison import Line, ceilings, closeness, compare, consistency
from judging.hearing import voices_beside, voices_of
from judging.labels import ANSWERS, PREFERENCE, QUESTIONS, SCORE, Facet, Labels
from judging.models import Call, Run, Verdict
from judging.panels import among_judges, pair_of, panel_of_judges
from judging.voices import Crowd, Voice, numbers_of, preferences_from
from tests import build
from tests.judging.build_runs import call, run_of, verdict

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SCALE: tuple[Value, ...] = (1.0, 2.0, 3.0, 4.0, 5.0)


def crowd(facet: Facet, said: Mapping[Any, list[Value]], units: int | None = None) -> Crowd:
    labels = [
        Label(unit, rater, value) for unit, values in said.items() for rater, value in zip("abc", values, strict=False)
    ]
    domain = SCALE if facet.numeric else ANSWERS
    return Crowd.of(facet, Labels(labels, domain, units or len(said)), with_na=False)


def voice(facet: Facet, said: Mapping[Any, list[Value]], **fields: Any) -> Voice:
    domain = {"score": SCALE, "preference": ("loss", "tie", "win"), "questions": ("yes", "no")}[facet.kind]
    return Voice(facet, {unit: tuple(values) for unit, values in said.items()}, domain, **fields)


def by_measure(lines: list[Line] | tuple[Line, ...] | Any) -> dict[str, Line]:
    return {line.measure: line for line in lines}


def value(figure: Figure | None) -> float:
    assert figure is not None
    assert figure.value is not None, figure.reason
    return figure.value


PEOPLE = crowd(
    QUESTIONS,
    {
        "u1": ["yes", "yes", "no"],
        "u2": ["yes", "yes", "yes"],
        "u3": ["no", "no", "yes"],
        "u4": ["no", "no", "no"],
        "u5": ["yes", "no"],
        "u7": ["yes", "yes"],
    },
)
JUDGE = voice(
    QUESTIONS,
    {"u1": ["yes"], "u2": ["no"], "u3": ["no"], "u5": ["yes"], "u6": ["yes"]},
    gaps={"u4": "unreadable", "u7": "pending"},
)


def test_answers_beside_the_majority_of_the_people() -> None:
    found = compare(JUDGE, PEOPLE)
    lines = by_measure(found.lines)

    assert found.units == 7
    assert found.compared == 3
    assert found.gaps == Counter(unreadable=1, pending=1, people_tied=1, people=1)
    assert found.people == 16
    assert found.table.domain == ("yes", "no")
    assert found.table.cells.tolist() == [[1, 1], [0, 1]]
    assert found.table.missing.tolist() == [0, 1]  # what is only pending is not held against the judge
    kappa = lines["κ (Cohen’s with the judge, Fleiss’ among people)"]
    assert value(kappa.judge) == pytest.approx(0.4)  # (2/3 - 4/9) / (1 - 4/9)
    assert value(found.alpha.judge) == pytest.approx(1 - 5 * 2 / 18)
    assert value(lines["Gwet’s AC1"].judge) == pytest.approx(1 / 3)  # chance is 1/2
    assert found.alpha.people is not None
    assert (found.alpha.people.n_units, found.alpha.people.missing) == (6, 1)


def test_both_missing_policies_are_figures_of_their_own() -> None:
    lines = by_measure(compare(JUDGE, PEOPLE).lines)
    left_out = lines["Equal to the consensus, missing left out"].judge
    wrong = lines["the same, missing counted as wrong"].judge

    assert left_out is not None
    assert wrong is not None
    assert value(left_out) == pytest.approx(2 / 3)
    assert (left_out.n_units, left_out.missing) == (3, 4)
    assert value(wrong) == pytest.approx(2 / 4)
    assert (wrong.n_units, wrong.missing) == (4, 3)
    assert wrong.warning is not None
    assert "1 missing answer was counted as wrong." in wrong.warning


def test_the_human_ceiling_is_on_the_units_of_the_judge_against_the_same_others() -> None:
    line = by_measure(compare(JUDGE, PEOPLE).lines)["Equal to most of the other people"]
    # u1: only the "no" has others who agree; u2: all three; u3: only the "yes"; u5: both, each against the other.
    assert value(line.people) == pytest.approx(3 / 7)
    assert value(line.judge) == pytest.approx(3 / 7)

    each = ceilings(JUDGE, PEOPLE)
    assert [one.person for one in each] == ["a", "b", "c"]
    hits = sum(value(one.of_person) * one.of_person.n_units for one in each)
    judged = sum(value(one.of_judge) * one.of_judge.n_units for one in each)
    assert [hits, judged] == pytest.approx([3, 3])
    assert sum(one.of_person.n_units for one in each) == 7


def test_a_judge_whom_nobody_stands_beside_has_reasons_and_no_figures() -> None:
    found = compare(JUDGE, crowd(QUESTIONS, {}))

    assert found.compared == 0
    assert found.gaps == Counter(people=5, unreadable=1, pending=1)
    for line in found.lines:
        assert all(figure.reason for figure in (line.judge, line.people) if figure), line.measure
    assert ceilings(JUDGE, crowd(QUESTIONS, {})) == []


SCORES = crowd(SCORE, {"u1": [4.0, 4.0, 5.0], "u2": [2.0, 3.0], "u3": [5.0, 5.0, 5.0]})
SCORER = voice(SCORE, {"u1": [3.0, 4.0], "u2": [1.0, 1.0], "u3": [5.0], "u4": [2.0]})


def test_scores_as_rounded_means_and_as_numbers() -> None:
    found = compare(SCORER, SCORES)
    assert found.table.cells[3, 3] == 1  # 3.5 and 4.33 are both a 4
    assert found.table.cells[2, 0] == 1  # 2.5 of people is a 3
    assert found.table.cells[4, 4] == 1
    assert found.gaps == Counter(people=1)
    assert value(by_measure(found.lines)["Equal to the consensus, missing left out"].judge) == pytest.approx(2 / 3)

    lines = by_measure(closeness(SCORER, SCORES, {}))
    assert value(lines["Mean score"].judge) == pytest.approx((3.5 + 1 + 5) / 3)
    assert value(lines["Mean score"].people) == pytest.approx((13 / 3 + 2.5 + 5) / 3)
    assert value(lines["Judge minus people, on average"].judge) == pytest.approx((-5 / 6 - 1.5) / 3)
    assert value(lines["Mean absolute difference"].judge) == pytest.approx((5 / 6 + 1.5) / 3)
    spearman = lines["Spearman, pooled"].judge
    assert spearman is not None
    assert value(spearman) == pytest.approx(1.0)
    assert (spearman.n_units, spearman.missing) == (3, 1)


def test_repeats_are_raters_of_a_judge_with_itself() -> None:
    lines = by_measure(consistency(SCORER))
    same = lines["Units on which all repeats agree"].judge

    assert same is not None
    assert value(same) == pytest.approx(1 / 2)  # u1 and u2 have two repeats
    assert (same.n_units, same.missing) == (2, 2)
    assert value(lines["Equal pairs of repeats"].judge) == pytest.approx(1 / 2)
    assert consistency(JUDGE) == []


STEPS = crowd(
    PREFERENCE,
    {"p1": [1.0, 2.0, 2.0], "p2": [3.0, 3.0, 3.0], "p3": [5.0, 4.0, 4.0], "p4": [2.0, 3.0, 2.0]},
)
CHOOSER = voice(
    PREFERENCE,
    {"p1": ["win", "win"], "p2": ["loss", "loss"], "p3": ["win", "win"], "p4": ["win", "loss"]},
    orders={"p1": ("win", "win"), "p2": ("loss", "loss"), "p3": ("win", "win"), "p4": ("win", "loss")},
)


def test_pairs_by_the_distance_of_preferences_and_with_half_credit_for_ties() -> None:
    found = compare(CHOOSER, STEPS)
    lines = by_measure(found.lines)

    assert found.table.cells.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 1]]
    assert [value(lines[name].judge) for name in ("PLD-0", "PLD-1", "PLD-2", "WPLD")] == [0.25, 0.5, 0.25, 1.0]
    assert value(lines["Equal to the consensus, missing left out"].judge) == 0.25
    assert value(lines["the same, a tie of the judge counted half"].judge) == 0.375
    # Among people only p4 has different bins: two of its three pairs are at distance 1, and all pairs are twelve.
    assert value(lines["WPLD"].people) == pytest.approx(2 / 12)


def test_the_share_of_pairs_whose_answer_changes_with_the_order() -> None:
    line = by_measure(consistency(CHOOSER))["Pairs whose answer changes with the order"]
    assert value(line.judge) == 0.25


def test_judges_as_raters_in_pairs_and_as_a_panel() -> None:
    first = voice(QUESTIONS, {"u1": ["yes"], "u2": ["no"], "u3": ["no"]})
    second = voice(QUESTIONS, {"u1": ["yes"], "u2": ["yes"]}, gaps={"u3": "failed"})
    third = voice(QUESTIONS, {"u1": ["yes"], "u2": ["yes"], "u3": ["yes"]})
    people = crowd(QUESTIONS, {"u1": ["yes"], "u2": ["yes"], "u3": ["yes"]})

    equal = by_measure(among_judges([first, second, third]))["Equal pairs of judges"].judge
    assert value(equal) == pytest.approx((1 + 1 / 3 + 0) / 3)
    pair = pair_of(first, second)
    assert pair.wpld is None
    assert (value(pair.equal), pair.equal.n_units, pair.equal.missing) == (0.5, 2, 1)
    panel = panel_of_judges([first, second, third])
    assert panel.values == {"u1": "yes", "u2": "yes"}
    assert panel.gaps == {"u3": "tied"}
    assert compare(panel, people).table.cells.tolist() == [[2, 0], [0, 0]]


def test_a_panel_of_scores_is_the_mean_of_the_means() -> None:
    panel = panel_of_judges([SCORER, voice(SCORE, {"u1": [5.0], "u4": [3.0]})])
    assert panel.said["u1"] == [3.5, 5.0]
    assert panel.values == {"u1": 4.0, "u2": 1.0, "u3": 5.0, "u4": 3.0}


def test_preferences_follow_from_scores_and_from_pass_rates() -> None:
    scores, gaps = numbers_of(voice(SCORE, {"a": [3.0, 4.0], "b": [3.0], "c": [3.5]}, gaps={"d": "failed"}))
    made = preferences_from(scores, gaps, [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("a", "never asked")])
    assert made.values == {("a", "b"): "win", ("a", "c"): "tie", ("b", "c"): "loss"}
    assert made.gaps == {("a", "d"): "failed"}

    said: dict[Any, list[Value]] = {("a", 1): ["yes"], ("a", 2): ["no"], ("b", 3): ["yes"], ("b", 4): ["na"]}
    said |= {("c", 5): ["yes"], ("d", 7): ["na"]}
    answers = voice(QUESTIONS, said, gaps={("a", 9): "unreadable", ("c", 6): "pending"})
    rates, waiting = numbers_of(answers)
    assert rates == {"a": 0.5, "b": 1.0}
    assert waiting == {"a": "unreadable", "c": "pending", "d": "no_rate"}
    assert preferences_from(rates, waiting, [("a", "b"), ("b", "c")]).values == {("a", "b"): "loss"}


def test_within_a_margin_preferences_are_ties() -> None:
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    made = preferences_from({"a": 3.0, "b": 3.06, "c": 3.16}, {}, pairs, 0.1)
    assert made.values == {("a", "b"): "tie", ("b", "c"): "loss", ("a", "c"): "loss"}


@pytest.fixture
def compared(project: Project, ann: User) -> Round:
    """A round in which Ann compares two responses to one item, whose checklist has two questions."""
    item = build.item(project, "moss")
    build.checklist(item, "Is it short?", "Is it true?")
    round = build.round(project, opened=False)
    first, second = item.responses.order_by("pk")
    Round.objects.filter(pk=round.pk).update(state="open", opened_at=item.created_at)
    task = Task.objects.create(round=round, item=item, response=first, other=second, swapped=False, position=1)
    seat = task.assignments.create(seat=1, state="submitted", annotator=ann)
    fields = {"state": "submitted", "submitted_at": item.created_at, "assignment": seat}
    task.annotations.create(annotator=ann, preference=1, **fields)
    recount.rebuild(round)
    return round


@pytest.mark.parametrize(
    ("first", "second", "preference"),
    [((0.95, 0.95), (0.55, 0.55), "win"), ((0.55, 0.55), (0.53, 0.55), "tie"), ((0.4, 0.2), (0.45, 0.45), "loss")],
)
def test_preferences_follow_from_the_probabilities_of_rocketeval_within_its_margin(
    compared: Round, first: tuple[float, float], second: tuple[float, float], preference: str, client: Client, bob: User
) -> None:
    """On the scale from 1 to 5, (.55 - .54) * 4 = .04 is less than the margin of 0.1."""
    run = run_of(compared, "rocketeval")
    pair = list(Response.objects.order_by("pk"))
    for response, shares in zip(pair, (first, second), strict=True):
        for question, share in zip(response.item.checklists.get().questions.all(), shares, strict=True):
            state = "yes" if share > 0.5 else "no"
            verdict(run, response, state, question=question, probability=share, captured=0.9)

    found = voices_beside(run, compared)[PREFERENCE]

    assert found.values == {(pair[0].pk, pair[1].pk): preference}
    client.force_login(bob)
    page = client.get(f"/projects/garden/runs/{run.pk}/comparison/").text
    assert "less than the margin of 0.1 are a tie" in page
    assert "with a margin of 0.1" in client.get(f"/projects/garden/rounds/{compared.pk}/judges/?run={run.pk}").text


def test_a_preference_waits_for_the_last_question(compared: Round) -> None:
    run = run_of(compared, "rocketeval")
    pair = list(Response.objects.order_by("pk"))
    short, true = pair[0].item.checklists.get().questions.all()
    for response in pair:
        verdict(run, response, "yes", question=short, probability=0.9, captured=0.9)
    verdict(run, pair[0], "unparsed", question=true)
    call(run, pair[1], question=true, state="planned")
    found = voices_beside(run, compared)[PREFERENCE]
    assert (found.values, found.gaps) == ({}, {(pair[0].pk, pair[1].pk): "pending"})


def test_scores_on_dimensions_are_mapped_to_the_scale_of_the_round(project: Project) -> None:
    """By hand: 3 of 1 to 3 is 5 of 1 to 5, 3 of 1 to 9 is 2, and their mean is 3.5; a response that lacks a dimension
    has no score."""
    fluency = build.dimension(project, "Fluency", scale_low=1, scale_high=3)
    depth = build.dimension(project, "Depth", scale_low=1, scale_high=9)
    build.item(project, "moss", systems=("Aster", "Briar", "Clover", "Daisy"))
    round = build.round(project)
    run = run_of(round, "geval", repeats=2)
    aster, briar, clover, daisy = Response.objects.order_by("pk")
    verdict(run, aster, "score", score=3.0, dimension=fluency)
    verdict(run, aster, "score", score=3.0, dimension=depth)
    verdict(run, briar, "score", score=3.0, dimension=fluency)
    verdict(run, briar, "unparsed", dimension=depth)
    verdict(run, clover, "score", score=3.0, dimension=fluency)
    call(run, clover, dimension=depth, state="planned")
    for repeat, score in ((1, None), (2, 9.0)):
        verdict(run, daisy, "score", score=1.0, dimension=fluency, repeat=repeat)
        verdict(run, daisy, "score" if score else "error", score=score, dimension=depth, repeat=repeat)

    found = voices_of(run)[SCORE]

    assert found.said == {aster.pk: (3.5,), daisy.pk: (3.0,)}
    assert found.values == {aster.pk: 4.0, daisy.pk: 3.0}
    assert found.gaps == {briar.pk: "unreadable", clover.pk: "pending"}
    assert found.domain == SCALE


def test_differences_come_with_the_largest_first() -> None:
    answers = disagreements.differences(JUDGE, PEOPLE)
    assert [(one.unit, one.size, one.judge, one.other) for one in answers] == [("u2", 1.0, "no", "yes")]
    scores = disagreements.differences(SCORER, SCORES)
    assert [(one.unit, one.size) for one in scores] == [("u2", 1.5)]
    choices = disagreements.differences(CHOOSER, STEPS)
    assert [one.unit for one in choices] == ["p3", "p2", "p4"]
    assert [one.size for one in choices] == pytest.approx([10 / 3, 2.0, 2 / 3])
    assert [one.unit for one in disagreements.of_cell(choices, "win", "tie")] == ["p4"]
    other = voice(SCORE, {"u1": [1.0], "u3": [4.0]})
    assert [(one.unit, one.size) for one in disagreements.differences(SCORER, other)] == [("u1", 2.5), ("u3", 1.0)]


def test_published_figures_of_pandalm_by_missing_policy() -> None:
    folder = DATA / "pandalm"
    if not folder.exists():
        pytest.skip("The published data ../shared/data/pandalm is absent.")
    rows = json.loads((folder / "testset-v1.json").read_text())
    replies = json.loads((folder / "gpt-3.5-turbo-testset-v1.json").read_text())
    step: dict[int, Value] = {0: 3.0, 1: 1.0, 2: 5.0}
    word: dict[str, Value] = {"1": "win", "2": "loss", "Tie": "tie"}
    votes = {str(row["idx"]): [row[f"annotator{number}"] for number in (1, 2, 3)] for row in rows}
    top = {unit: Counter(said).most_common(1)[0][0] for unit, said in votes.items()}
    majority = crowd(PREFERENCE, {unit: [step[said]] for unit, said in top.items()})
    read = {str(one["idx"]): [word[one["gpt_result"]]] for one in replies if one["gpt_result"] in word}
    judge = voice(PREFERENCE, read, gaps={unit: "unreadable" for unit in votes if unit not in read})

    found = compare(judge, majority)
    lines = by_measure(found.lines)
    assert found.gaps == Counter(unreadable=25)
    assert value(lines["the same, missing counted as ties"].judge) == pytest.approx(0.7107, abs=5e-5)
    assert value(lines["the same, missing counted as wrong"].judge) == pytest.approx(0.6977, abs=5e-5)

    names: dict[int, Value] = {0: "tie", 1: "win", 2: "loss"}
    people = [voice(PREFERENCE, {unit: [names[said[place]]] for unit, said in votes.items()}) for place in range(3)]
    kappas = []
    for one, other in ((0, 1), (0, 2), (1, 2)):
        alone = crowd(PREFERENCE, {unit: [step[said[other]]] for unit, said in votes.items()})
        measured = by_measure(compare(people[one], alone).lines)
        kappas.append(value(measured["κ (Cohen’s with the judge, Fleiss’ among people)"].judge))
    assert sorted(kappas) == pytest.approx([0.852, 0.862, 0.879], abs=5e-4)
    assert value(by_measure(among_judges(people))["Fleiss’ κ"].judge) == pytest.approx(0.8642, abs=5e-5)


# -- from rows and on pages ----------------------------------------------------------------------------------------

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


@pytest.fixture
def round(project: Project, ann: User, abe: User) -> Round:
    """Two items with two responses each; both people answer yes and give a 4, Abe a 5 to the first task."""
    for name in ("moss", "fern"):
        build.checklist(build.item(project, name), f"Is {name} <named>?", "Is it true?")
    made = build.round(project, Round.Kind.CHECK_THEN_SCORE, overlap=2)
    for task in made.tasks.order_by("position"):
        build.submitted(task, ann, 4)
        build.submitted(task, abe, 5 if task.position == 1 else 4)
    return made


def ticked(round: Round, states: str, **fields: Any) -> Run:
    """A finished run whose answers are these letters (y, n, u), by response and question."""
    run = run_of(round, state="finished", finished_at=round.opened_at, **fields)
    letters = iter(states)
    names = {"y": "yes", "n": "no", "u": "unparsed"}
    for task in round.tasks.select_related("checklist", "response").order_by("response"):
        assert task.checklist is not None
        assert task.response is not None
        for question in task.checklist.questions.all():
            verdict(run, task.response, names[next(letters)], question=question)
    return run


def where(run: Run, what: str = "comparison") -> str:
    return f"/projects/garden/runs/{run.pk}/{what}/"


def test_a_run_is_read_with_its_gaps_and_set_beside_its_round(round: Round) -> None:
    run = ticked(round, "yyynuyyy")
    (section,) = beside.sections_of(run, round)
    found = section.comparison

    assert found is not None
    assert found.units == 8
    assert found.gaps == Counter(unreadable=1)
    assert found.table.domain == ("yes", "no")  # nobody may say "not applicable" here
    assert found.table.cells.tolist() == [[6, 1], [0, 0]]
    assert section.gaps == [("unreadable", 1)]
    assert beside.rounds_beside(run) == [round]


def test_a_run_without_a_round_stands_beside_rounds_about_the_same_responses(project: Project, round: Round) -> None:
    elsewhere = build.round(project, category="nothing here", opened=False)
    run = Run.objects.create(
        project=project, judge=build.judge(project), method="direct", prompt_version="v", state="running"
    )
    response = Response.objects.earliest("pk")
    made = Call.objects.create(run=run, position=1, item=response.item, response=response, state="done")
    Verdict.objects.create(run=run, call=made, response=response, state="score", score=2)
    Call.objects.create(run=run, position=2, item=response.item, response=Response.objects.latest("pk"))

    assert beside.rounds_beside(run) == [round]
    assert elsewhere not in beside.rounds_beside(run)
    (section,) = beside.sections_of(run, round)
    assert section.comparison is not None
    assert section.comparison.compared == 1
    assert section.comparison.gaps == Counter(pending=1)
    assert run in beside.runs_on(round)


def test_pairs_meet_whichever_response_a_round_or_a_run_names_first(project: Project, ann: User) -> None:
    item = build.item(project, "moss")
    older, newer = item.responses.order_by("pk")
    made = build.round(project, opened=False)
    Round.objects.filter(pk=made.pk).update(state="open", opened_at=item.created_at)
    task = Task.objects.create(round=made, item=item, response=newer, other=older, swapped=False, position=1)
    seat = task.assignments.create(seat=1, state="submitted", annotator=ann)
    fields = {"state": "submitted", "submitted_at": item.created_at, "assignment": seat}
    task.annotations.create(annotator=ann, preference=1, **fields)  # the newer one is much better
    run = run_of(made, "preference")
    for order, choice in (("ab", "second"), ("ba", "first")):
        asked = call(run, older, other=newer, order=order)
        Verdict.objects.create(
            run=run, call=asked, response=older, other=newer, order=order, state="preference", choice=choice
        )

    (section,) = beside.sections_of(run, made)
    assert section.comparison is not None
    assert section.comparison.table.cells.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert value(by_measure(section.repeats)["Pairs whose answer changes with the order"].judge) == 0.0


def test_the_page_shows_figures_matrix_and_gaps(page: Client, round: Round) -> None:
    run = ticked(round, "yyynuyyy")
    text = page.get(where(run)).text

    assert "7 of 8 units of the judge are compared" in text
    assert "1 unreadable" in text
    assert "1 missing answer was counted as wrong." in text
    assert "Undefined: every rating is yes." in text  # people never vary
    assert f"{where(run, 'disagreements')}?facet=questions&amp;people={round.pk}&amp;said=yes&amp;judged=no" in text
    assert "Person by person" in text
    assert page.get(f"/projects/garden/runs/{run.pk}/").text.count(where(run)) == 1


def test_labels_of_simulated_annotators_are_counted_on_all_units_that_the_figures_rest_on(
    page: Client, round: Round
) -> None:
    User.objects.filter(username="ann").update(is_simulated=True, is_active=False)
    run = run_of(round)
    for place, task in enumerate(round.tasks.select_related("checklist", "response").order_by("response")):
        assert task.checklist is not None
        assert task.response is not None
        for question in task.checklist.questions.all():  # the judge has answered about the first response alone
            if place:
                call(run, task.response, question=question, state="pending")
            else:
                verdict(run, task.response, "yes", question=question)

    said = "8 of the 16 labels of people on these units come from simulated annotators"
    assert said in page.get(where(run)).text
    judges = f"/projects/garden/rounds/{round.pk}/judges/?run={run.pk}"
    assert said in page.get(judges).text
    User.objects.filter(username="abe").update(is_simulated=True, is_active=False)
    recount.rebuild(round)
    assert "All 16 labels come from simulated annotators" in page.get(where(run)).text
    assert "All 16 labels come from simulated annotators" in page.get(judges).text


def test_differences_are_shown_with_texts_counts_and_the_way_to_the_reply(page: Client, round: Round) -> None:
    Item.objects.filter(external_id="moss").update(instruction="<script>alert(1)</script> **Write**")
    Response.objects.update(text="<img src=x onerror=alert(1)> {{ response }}")
    run = ticked(round, "yyynyynn")
    text = page.get(f"{where(run, 'disagreements')}?facet=questions").text

    assert "3 units, the largest difference first." in text
    assert "<script>alert(1)" not in text
    assert "<img" not in text
    assert "{{ response }}" in text
    assert "Is fern &lt;named&gt;?" in text
    assert "(2 × yes)" in text
    assert f"/projects/garden/runs/{run.pk}/calls/4/" in text
    assert not {"ann", "abe"} & set(re.findall(r"\w+", text.lower()))
    assert "They say the same" in page.get(f"{where(run, 'disagreements')}?said=no&judged=yes").text


def test_differences_are_listed_in_pages_by_few_queries(
    page: Client, round: Round, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr("judging.views.comparison.UNITS_A_PAGE", 2)
    run = ticked(round, "nnnnnyyy")

    with django_assert_max_num_queries(16):
        text = page.get(f"{where(run, 'disagreements')}?page=2").text
    assert "5 units" in text
    assert "2 of 3" in text
    assert text.count("<h2><a href=") == 2


def test_two_runs_differ_with_the_verdicts_of_both(page: Client, round: Round) -> None:
    one, other = ticked(round, "yyyyyyyy"), ticked(round, "yyyyynyy")
    text = page.get(f"{where(one, 'disagreements')}?facet=questions&beside={other.pk}").text

    assert "1 unit, the largest difference first." in text
    assert f"/projects/garden/runs/{one.pk}/calls/6/" in text
    assert f"/projects/garden/runs/{other.pk}/calls/6/" in text


def test_judges_of_a_round_beside_each_other_and_as_a_panel(page: Client, round: Round) -> None:
    runs = [ticked(round, "yyyyyyyy"), ticked(round, "yyyynyyy"), ticked(round, "yyyynnyy")]
    running = run_of(round)
    address = f"/projects/garden/rounds/{round.pk}/judges/"
    text = page.get(address).text

    assert "87.5 %" in text  # the first and the second
    assert "All as a panel" in text
    for run in runs:
        assert f'value="{run.pk}" checked' in text
    assert f'value="{running.pk}" checked' not in text
    (bench,) = beside.benches_of(round, runs)
    assert bench.panel is not None
    assert bench.panel.table.cells.tolist() == [[7, 1], [0, 0]]
    assert "Only one of these runs" in page.get(f"{address}?run={runs[0].pk}").text
    assert page.get(f"{address}?run=nonsense").status_code == 200


def test_figures_are_downloaded_as_the_page_shows_them(page: Client, round: Round) -> None:
    run = ticked(round, "yyynuyyy")
    answer = page.get(f"/projects/garden/runs/{run.pk}/comparison.jsonl")
    rows = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]  # type: ignore[attr-defined]

    first = rows[0]
    assert (first["run"], first["round_id"], first["facet"], first["of"]) == (run.pk, round.pk, "questions", "judge")
    assert first["value"] == pytest.approx(6 / 7)
    assert (first["n_units"], first["missing"], first["method"]) == (7, 1, "jackknife-t over units")
    assert page.get(f"/projects/garden/runs/{run.pk}/comparison.xml").status_code == 404


def test_what_is_not_there_is_not_found(page: Client, project: Project, round: Round) -> None:
    run = ticked(round, "yyyyyyyy")
    other = build.round(build.project("meadow"), opened=False)
    written = Run.objects.create(
        project=project, judge=run.judge, method="ticking", kind="generation", prompt_version="v"
    )

    assert page.get(f"{where(run)}?people={other.pk}").status_code == 404
    assert page.get(where(written)).status_code == 404
    assert page.get(f"{where(run, 'disagreements')}?beside={'9' * 30}").status_code == 200


def test_without_people_the_page_says_so(page: Client, project: Project) -> None:
    build.item(project, "moss")
    made = Run.objects.create(project=project, judge=build.judge(project), method="direct", prompt_version="v")
    response = Response.objects.earliest("pk")
    asked = Call.objects.create(run=made, position=1, item=response.item, response=response, state="done")
    Verdict.objects.create(run=made, call=asked, response=response, state="score", score=2)
    text = page.get(where(made)).text

    assert "No people have labelled these units" in text
    assert "The run is running" in text
    assert "nothing to differ from" in page.get(where(made, "disagreements")).text


def test_what_is_remembered_is_forgotten_when_a_label_or_a_verdict_moves(
    page: Client, round: Round, ann: User, django_assert_max_num_queries: Any
) -> None:
    run = ticked(round, "yyynyyyy")
    assert "7 of" not in page.get(where(run, "disagreements")).text
    assert "1 unit, the largest" in page.get(where(run, "disagreements")).text
    with django_assert_max_num_queries(13):
        page.get(where(run))

    said = run.verdicts.get(state="no")
    task = round.tasks.get(response=said.response)
    labelling.withdraw(Annotation.objects.get(task=task, annotator=ann), "by mistake")
    assert "(1 × yes)" in page.get(where(run, "disagreements")).text

    Verdict.objects.filter(pk=said.pk).delete()
    Verdict.objects.create(run=run, call=said.call, response=said.response, question=said.question, state="yes")
    assert "They say the same" in page.get(where(run, "disagreements")).text


def test_scores_of_single_responses_stand_beside_people_who_compare_pairs(
    page: Client, project: Project, ann: User
) -> None:
    item = build.item(project, "moss")
    first, second = item.responses.order_by("pk")
    made = build.round(project, opened=False)
    Round.objects.filter(pk=made.pk).update(state="open", opened_at=item.created_at)
    task = Task.objects.create(round=made, item=item, response=first, other=second, swapped=True, position=1)
    seat = task.assignments.create(seat=1, state="submitted", annotator=ann)
    fields = {"state": "submitted", "submitted_at": item.created_at, "assignment": seat}
    task.annotations.create(annotator=ann, preference=2, **fields)
    run = Run.objects.create(project=project, judge=build.judge(project), method="direct", prompt_version="v")
    for position, (response, score) in enumerate(((first, 2), (second, 5)), start=1):
        asked = Call.objects.create(run=run, position=position, item=item, response=response, state="done")
        Verdict.objects.create(run=run, call=asked, response=response, state="score", score=score)

    text = page.get(where(run)).text
    assert "Preferences that follow from its scores" in text
    assert "The people of this round said nothing about these units" in text  # of its scores
    assert "not defined" not in text.split("Preferences that follow")[0]
    assert f"facet=preference&amp;people={made.pk}&amp;said=win&amp;judged=loss" in text
    text = page.get(f"{where(run, 'disagreements')}?facet=preference&said=win&judged=loss").text
    assert "1 unit, the largest" in text
    assert "(1 × the first is better)" in text

    twin = Run.objects.create(project=project, judge=build.judge(project), method="direct", prompt_version="v")
    for position, (response, score) in enumerate(((first, 1), (second, 2)), start=1):
        asked = Call.objects.create(run=twin, position=position, item=item, response=response, state="done")
        Verdict.objects.create(run=twin, call=asked, response=response, state="score", score=score)
    text = page.get(f"/projects/garden/rounds/{made.pk}/judges/?run={run.pk}&run={twin.pk}").text
    assert "The people of this round said nothing about these units." in text  # about single responses
    assert "100.0 %" in text  # both find the second better
    address = f"{where(run, 'disagreements')}?facet=preference&amp;beside={twin.pk}&amp;people={made.pk}"
    assert address.replace(f"/{run.pk}/", f"/{twin.pk}/").replace(f"beside={twin.pk}", f"beside={run.pk}") in text
    assert "They say the same" in page.get(address.replace("&amp;", "&")).text

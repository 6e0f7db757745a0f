"""What a run says about each response: answers by sub-dimension, pass rates, scores, and their table."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import pytest
from django.test import Client
from sklearn.ensemble import ExtraTreesRegressor

from annotate.models import Project, Question, Response, Round, User
from judging import runs, work
from judging.agreement import Figure, MissingPolicy
from judging.methods import setup_of
from judging.models import Run
from judging.protocols import PROTOCOLS
from judging.scores import Scores, scores_of, weights_of
from judging.supervision import Judged, learned, weighed
from tests import build
from tests.judging.build_runs import call, run_of, verdict
from tests.scripted_endpoint import Play, ScriptedEndpoint

pytestmark = pytest.mark.django_db


def worked(run: Run) -> Run:
    work.work(run.pk)
    run.refresh_from_db()
    return run


# --- CheckEval --------------------------------------------------------------------------------------------------------


def test_the_questions_of_a_sub_dimension_are_asked_in_one_call(project: Project) -> None:
    coherence = build.dimension(project, "Coherence", definition="Whether it holds together.")
    build.dimension_checklist(coherence, Flow=["Is it in order?", "Is it whole?"], Topic=["Is it about one thing?"])
    build.dimension(project, "Fluency")  # has no checklist
    build.item(project, systems=("Aster",))
    with ScriptedEndpoint() as endpoint:
        endpoint.play("1. yes\n2. no", "1. YES")
        judge = build.judge(project, endpoint.base_url, concurrency=1)
        run = worked(runs.plan_judging(project, judge, "checkeval", build.round(project)))
        first, second = (request.messages[-1]["content"] for request in endpoint.requests)
    assert "Coherence, Flow\n\nWhether it holds together." in first
    assert "1. Is it in order?\n2. Is it whole?\n" in first
    assert "Is it about one thing?" not in first
    assert "1. Is it about one thing?\n" in second
    assert first[: first.index("Flow")] == second[: second.index("Topic")]  # what the calls share comes first
    found = run.verdicts.filter(dimension=None).values_list("question__text", "state").order_by("question__position")
    assert list(found) == [("Is it in order?", "yes"), ("Is it whole?", "no"), ("Is it about one thing?", "yes")]


def test_a_call_that_fails_leaves_an_error_for_each_of_its_questions(project: Project) -> None:
    build.dimension_checklist(build.dimension(project), Flow=["Is it in order?", "Is it whole?"], Topic=["Is it one?"])
    build.item(project, systems=("Aster",))
    with ScriptedEndpoint() as endpoint:
        endpoint.play(Play(status=400, raw=b"{}"), "yes")
        judge = build.judge(project, endpoint.base_url, concurrency=1)
        run = worked(runs.plan_judging(project, judge, "checkeval", build.round(project)))
    assert list(run.verdicts.order_by("question__position").values_list("state", flat=True)) == [
        "error",
        "error",
        "yes",
    ]


def test_a_checklist_that_is_not_divided_is_asked_as_one(project: Project) -> None:
    made = build.dimension_checklist(build.dimension(project), Flow=["Is it in order?"], Topic=["Is it one?"])
    Question.objects.filter(checklist=made, subdimension="Topic").update(subdimension="")
    build.item(project, systems=("Aster",))
    run = runs.plan_judging(project, build.judge(project), "checkeval", build.round(project))
    [call] = run.calls.all()
    protocol = PROTOCOLS["checkeval"]
    call.reply = "1. no\n2. yes"
    assert [outcome.state for outcome in protocol.read(call, setup_of(run, protocol))] == ["no", "yes"]
    schema = protocol.schema(call, setup_of(run, protocol))
    assert schema is not None
    assert list(schema["properties"]["answers"]["properties"]) == ["1", "2"]


# --- scores of a run --------------------------------------------------------------------------------------------------


class Garden:
    """Two items with two systems each, three questions for the first and one for the second, and a round."""

    def __init__(self, project: Project, kind: str = Round.Kind.CHECK_THEN_SCORE) -> None:
        self.project = project
        self.items = [build.item(project, "moss"), build.item(project, "tea")]
        self.long = build.checklist(self.items[0], "Is it short?", "Is it true?", "Is it kind?")
        self.brief = build.checklist(self.items[1], "Is it short?")
        self.round = build.round(project, kind)

    def response(self, item: int, system: str) -> Response:
        return self.items[item].responses.get(system=system)

    def run(self, method: str, **fields: Any) -> Run:
        return run_of(self.round, method, **fields)

    def answers(self, run: Run, item: int, system: str, *states: str, repeat: int = 1, **fields: Any) -> None:
        checklist = (self.long, self.brief)[item]
        for question, state in zip(checklist.questions.all(), states, strict=True):
            verdict(run, self.response(item, system), state, question=question, repeat=repeat, **fields)

    def probabilities(self, run: Run, item: int, system: str, *shares: float | None) -> None:
        for question, share in zip((self.long, self.brief)[item].questions.all(), shares, strict=True):
            state = "unparsed" if share is None else "yes" if share > 0.5 else "no"
            captured = 0.05 if share is None else 0.9
            kept: dict[str, Any] = {"probability": share, "captured": captured}
            verdict(run, self.response(item, system), state, question=question, **kept)


@pytest.fixture
def garden(project: Project) -> Garden:
    return Garden(project)


def column(scores: Scores, key: str) -> dict[tuple[str, str], float | None]:
    return {(row.response.item.external_id, row.response.system): row.values[key] for row in scores.rows}


def mean(scores: Scores, system: str, title: str) -> Figure:
    [row] = [row for row in scores.systems if row.system == system]
    [found] = [mean.figure for mean in row.means if mean.title == title]
    return found


MACRO = "Mean pass rate (macro)"
MICRO = "DRFR (micro)"


def test_pass_rates_micro_and_macro_by_hand(garden: Garden) -> None:
    run = garden.run("tick")
    garden.answers(run, 0, "Aster", "yes", "yes", "no")
    garden.answers(run, 1, "Aster", "no")
    garden.answers(run, 0, "Briar", "yes", "unparsed", "error")
    scores = scores_of(run)
    assert column(scores, "pass_rate") == {
        ("moss", "Aster"): pytest.approx(2 / 3),
        ("moss", "Briar"): 1.0,
        ("tea", "Aster"): 0.0,
    }
    assert mean(scores, "Aster", MACRO).value == pytest.approx((2 / 3 + 0) / 2)
    assert mean(scores, "Aster", MICRO).value == pytest.approx(2 / 4)
    assert mean(scores, "", MICRO).value == pytest.approx(3 / 5)
    assert mean(scores, "", MICRO).missing == 2
    [briar] = [row for row in scores.rows if row.response.system == "Briar"]
    assert (briar.read, briar.missing) == (1, 2)


@pytest.mark.parametrize(("policy", "rate"), [("exclude", 1.0), ("no", 1 / 3), ("half", 2 / 3)])
def test_the_missing_policy_is_the_readers_choice(garden: Garden, policy: MissingPolicy, rate: float) -> None:
    run = garden.run("tick")
    garden.answers(run, 0, "Briar", "yes", "unparsed", "error")
    scores = scores_of(run, policy)
    assert column(scores, "pass_rate")["moss", "Briar"] == pytest.approx(rate)
    assert any("2 missing answers were" in remark for remark in scores.remarks)


def test_repeats_are_pooled_and_put_to_the_vote(garden: Garden) -> None:
    """Question by question: yes yes no -> yes; no no yes -> no; yes unparsed no -> even, so missing."""
    run = garden.run("tick", repeats=3)
    for repeat, states in enumerate((["yes", "no", "yes"], ["yes", "no", "unparsed"], ["no", "yes", "no"]), start=1):
        garden.answers(run, 0, "Aster", *states, repeat=repeat)
    scores = scores_of(run)
    assert [found.title for found in scores.columns] == ["Pass rate", "Pass rate, maj@3"]
    assert column(scores, "pass_rate")["moss", "Aster"] == pytest.approx(4 / 8)
    assert column(scores, "pass_rate_majority")["moss", "Aster"] == pytest.approx(1 / 2)


def test_scores_are_averaged_over_repeats_and_systems(garden: Garden) -> None:
    run = garden.run("direct", repeats=2)
    for system, numbers in {"Aster": (4, 5), "Briar": (2, None)}.items():
        for repeat, number in enumerate(numbers, start=1):
            state = "unparsed" if number is None else "score"
            verdict(run, garden.response(0, system), state, repeat=repeat, score=number)
    verdict(run, garden.response(1, "Briar"), "unparsed")
    scores = scores_of(run)
    assert column(scores, "score") == {("moss", "Aster"): 4.5, ("moss", "Briar"): 2.0, ("tea", "Briar"): None}
    assert mean(scores, "", "Mean score").value == pytest.approx(3.25)
    assert mean(scores, "Briar", "Mean score").missing == 1
    assert not scores.answers


def test_dimensions_have_columns_of_their_own(garden: Garden) -> None:
    flow, style = build.dimension(garden.project, "Flow"), build.dimension(garden.project, "Style", scale_high=3)
    run = garden.run("geval", repeats=2)
    response = garden.response(0, "Aster")
    for repeat, score in ((1, 2.5), (2, 3.0)):
        verdict(run, response, "score", score=score, dimension=flow, repeat=repeat)
    verdict(run, response, "score", score=1.0, dimension=style)
    assert scores_of(run).rows[0].values == {"score_Flow": 2.75, "score_Style": 1.0}

    run = garden.run("checkeval")
    asked = [build.dimension_checklist(one, First=["Is it?"], Second=["Is it so?"]) for one in (flow, style)]
    for checklist, states in zip(asked, (("yes", "yes"), ("yes", "no")), strict=True):
        for question, state in zip(checklist.questions.all(), states, strict=True):
            verdict(run, response, state, question=question)
    assert scores_of(run).rows[0].values == {"pass_rate": 0.75, "pass_rate_Flow": 1.0, "pass_rate_Style": 0.5}


def test_verdicts_about_pairs_score_no_response(garden: Garden) -> None:
    run = garden.run("preference")
    pair = {"other": garden.response(0, "Briar"), "order": "ab"}
    asked = call(run, garden.response(0, "Aster"), **pair)
    run.verdicts.create(call=asked, response=garden.response(0, "Aster"), state="preference", choice="first", **pair)
    scores = scores_of(run)
    assert not scores.rows
    assert not scores.systems


# --- RocketEval -------------------------------------------------------------------------------------------------------


def test_the_unsupervised_score_is_the_mean_mapped_to_the_scale(garden: Garden) -> None:
    """By hand: (.9 + .3) / 2 = .6 of the way from 1 to 5 is 3.4; what could not be read is left out."""
    run = garden.run("rocketeval")
    garden.probabilities(run, 0, "Aster", 0.9, 0.3, None)
    garden.probabilities(run, 1, "Aster", 1.0)
    garden.probabilities(run, 1, "Briar", None)
    scores = scores_of(run)
    assert column(scores, "rocketeval_unsupervised") == {
        ("moss", "Aster"): pytest.approx(3.4),
        ("tea", "Aster"): pytest.approx(5.0),
        ("tea", "Briar"): None,
    }
    assert column(scores, "pass_rate")["moss", "Aster"] == pytest.approx(0.5)


def judged(*vectors: tuple[float | None, ...]) -> dict[int, Judged]:
    return {
        number: Judged(1, dict(enumerate(vector)), 1 + 4 * sum(share or 0 for share in vector) / len(vector))
        for number, vector in enumerate(vectors)
    }


def test_a_supervised_score_never_sees_its_own_label() -> None:
    """Another label of a response changes the scores of the others, and never its own."""
    given = judged((0.9, 0.1), (0.8, 0.3), (0.2, 0.7), (0.1, None), (0.4, 0.6))
    labels = {0: 5.0, 1: 4.0, 2: 2.0, 3: 1.0}
    before = learned(given, labels, 1, 5)
    for response in labels:
        after = learned(given, {**labels, response: 3.0}, 1, 5)
        assert after[response] == before[response]
        assert any(after[other] != before[other] for other in given if other != response)


def test_a_supervised_score_is_that_of_the_papers_forest() -> None:
    given = judged((0.9, 0.1), (0.8, 0.3), (0.2, 0.7), (0.1, None))
    labels = {0: 5.0, 1: 4.0, 2: 2.0}
    forest: Any = ExtraTreesRegressor(n_estimators=10, max_depth=2, random_state=42)  # type: ignore[no-untyped-call]
    forest.fit([[0.9, 0.1], [0.8, 0.3], [0.2, 0.7]], [5.0, 4.0, 2.0])
    [predicted] = forest.predict([[0.1, 0.5]])  # a missing probability is 0.5
    weight = 1 - math.log(5 / 3) / math.log(5)  # three of five levels, each once
    found = learned(given, labels, 1, 5)[3]
    assert found.weight == pytest.approx(weight)
    assert found.final == pytest.approx((1 - weight) * given[3].unsupervised + weight * predicted)


def test_without_two_labelled_others_nothing_is_learned() -> None:
    given = judged((0.9,), (0.8,), (0.2,))
    assert learned(given, {0: 5.0}, 1, 5) == {}
    assert set(learned(given, {0: 5.0, 1: 4.0}, 1, 5)) == {2}
    other = {**given, 3: Judged(2, {0: 0.5}, 3.0)}
    assert set(learned(other, {0: 5.0, 1: 4.0, 2: 1.0}, 1, 5)) == {0, 1, 2}  # another checklist, another instruction


def test_labels_that_are_all_the_same_leave_the_unsupervised_score() -> None:
    given = judged((0.9,), (0.8,), (0.2,))
    found = learned(given, {0: 3.0, 1: 3.0}, 1, 5)[2]
    assert (found.weight, found.final) == (0.0, given[2].unsupervised)


def test_a_run_learns_from_the_people_of_its_round(
    project: Project, ann: User, abe: User, client: Client, bob: User
) -> None:
    item = build.item(project, "moss", systems=("Aster", "Briar", "Clover", "Daisy"))
    checklist = build.checklist(item, "Is it short?", "Is it true?")
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE)
    for task in round.tasks.exclude(response__system="Daisy"):
        assert task.response is not None
        build.submitted(task, ann, {"Aster": 5, "Briar": 3, "Clover": 1}[task.response.system])
        build.submitted(task, abe, {"Aster": 4, "Briar": 3, "Clover": 2}[task.response.system])
    run = run_of(round, "rocketeval")
    shares = {"Aster": (0.9, 0.8), "Briar": (0.6, 0.5), "Clover": (0.1, 0.2), "Daisy": (0.8, 0.9)}
    for response in item.responses.all():
        for question, share in zip(checklist.questions.all(), shares[response.system], strict=True):
            state = "yes" if share > 0.5 else "no"
            verdict(run, response, state, question=question, probability=share, captured=0.9)
    assert "rocketeval_supervised" not in scores_of(run).rows[0].values
    scores = scores_of(run, supervised=True)
    found = column(scores, "rocketeval_supervised")
    assert None not in found.values()
    assert found["moss", "Daisy"] > found["moss", "Clover"]  # type: ignore[operator]
    assert scores.notes == []

    [one] = weights_of(scores, scores.rows)
    assert (one.labelled, one.even, one.learned) == (3, 0.5, True)
    assert sum(weight for _, weight in one.questions) == pytest.approx(1)
    client.force_login(bob)
    page = client.get(f"/projects/garden/runs/{run.pk}/scores/?supervised=on").text
    assert "What the questions weigh" in page
    assert "moss: 2 questions, 3 responses with scores of people" in page
    assert "What the questions weigh" not in client.get(f"/projects/garden/runs/{run.pk}/scores/").text
    answer: Any = client.get(f"/projects/garden/runs/{run.pk}/scores-weights.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert {row["question"] for row in rows} == {"Is it short?", "Is it true?"}
    assert [row["even"] for row in rows] == ["0.5", "0.5"]


def test_the_weights_are_the_importances_of_the_papers_forest() -> None:
    given = judged((0.9, 0.1), (0.8, 0.3), (0.2, 0.7), (0.1, None))
    labels = {0: 5.0, 1: 4.0, 2: 2.0}
    forest: Any = ExtraTreesRegressor(n_estimators=10, max_depth=2, random_state=42)  # type: ignore[no-untyped-call]
    forest.fit([[0.9, 0.1], [0.8, 0.3], [0.2, 0.7]], [5.0, 4.0, 2.0])
    [found] = weighed(given, labels)
    assert (found.checklist, found.labelled, found.even) == (1, 3, 0.5)
    assert list(found.importances.values()) == pytest.approx(forest.feature_importances_)
    assert weighed(given, {0: 5.0}) == []


def test_without_people_the_page_says_that_there_is_nothing_to_learn_from(garden: Garden) -> None:
    run = garden.run("rocketeval")
    garden.probabilities(run, 1, "Aster", 1.0)
    scores = scores_of(run, supervised=True)
    assert "nothing to learn from" in scores.notes[0]
    assert [found.key for found in scores.columns] == ["pass_rate", "rocketeval_unsupervised"]


# --- the page and the export ------------------------------------------------------------------------------------------


def test_the_page_shows_systems_and_responses(garden: Garden, client: Client, bob: User) -> None:
    client.force_login(bob)
    run = garden.run("tick")
    garden.answers(run, 0, "Aster", "yes", "yes", "no")
    garden.answers(run, 0, "Briar", "yes", "unparsed", "error")
    page = client.get(f"/projects/garden/runs/{run.pk}/scores/").text
    assert "All systems" in page
    assert "66.7 %" in page
    assert "DRFR (micro)" in page
    assert "not finished" in page
    assert "2 missing answers were left out." in page
    assert (
        "2 missing answers were counted as wrong."
        in client.get(f"/projects/garden/runs/{run.pk}/scores/?missing=no").text
    )
    assert client.get(f"/projects/garden/runs/{run.pk}/scores/?missing=nonsense").status_code == 200
    assert f"/projects/garden/runs/{run.pk}/scores/" in client.get(f"/projects/garden/runs/{run.pk}/").text


def test_a_run_without_verdicts_says_so(garden: Garden, client: Client, bob: User) -> None:
    client.force_login(bob)
    page = client.get(f"/projects/garden/runs/{garden.run('tick').pk}/scores/").text
    assert "No scores" in page
    assert "it asks no checklist" in page


def test_the_export_has_a_row_for_each_response(garden: Garden, client: Client, bob: User) -> None:
    client.force_login(bob)
    run = garden.run("rocketeval")
    garden.probabilities(run, 0, "Aster", 0.9, 0.3, None)
    body = b"".join(client.get(f"/projects/garden/runs/{run.pk}/scores.csv?missing=half").streaming_content)  # type: ignore[attr-defined]
    [row] = csv.DictReader(io.StringIO(body.decode()))
    assert (row["item"], row["system"], row["protocol"], row["missing_policy"]) == (
        "moss",
        "Aster",
        "rocketeval",
        "half",
    )
    assert float(row["pass_rate"]) == pytest.approx(0.5)
    assert float(row["rocketeval_unsupervised"]) == pytest.approx(3.4)
    assert (row["read"], row["missing"]) == ("2", "1")
    assert client.get(f"/projects/garden/runs/{run.pk}/scores.xls").status_code == 404

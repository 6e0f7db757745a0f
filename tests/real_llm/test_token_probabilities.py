"""The packaged model judges items of the sample project by the probabilities of its tokens. It is weak: what is tested
is that its probabilities are real, that verdicts are what they say, and that scores follow from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotate.models import Checklist, Project, Question, Round, User
from annotate.sample.load import rows
from judging import runs, work
from judging.models import Judge, Run
from judging.reading.probabilities import LEAST_MASS, weighted_score, yes_no
from judging.scores import scores_of
from tests import build

pytestmark = [pytest.mark.real_llm, pytest.mark.django_db, pytest.mark.timeout(600)]

MOST_SLOTS = 100


@pytest.fixture
def sample(project: Project) -> list[dict[str, Any]]:
    """The two items of the sample project with the shortest texts, with the responses of three systems each."""
    chosen = sorted((row for row in rows() if "checklist" in row), key=lambda row: len(json.dumps(row)))[:2]
    for row in chosen:
        item = build.item(project, row["external_id"], systems=(), instruction=row["instruction"])
        for response in row["responses"]:
            item.responses.create(system=response["system"], text=response["text"])
        build.checklist(item, *row["checklist"]["questions"][:3])
    return chosen


def worked_to_end(run: Run) -> Run:
    for _ in range(MOST_SLOTS):
        work.work(run.pk)
        run.refresh_from_db()
        if run.state != Run.State.RUNNING:
            return run
    raise AssertionError(f"the run does not end: {run.progress()}")


def say(words: str) -> None:
    """Show how readable the weak model was (with `pytest -s`)."""
    print(words)  # noqa: T201


def test_rocketeval_gives_probabilities_and_scores(
    project: Project, judge: Judge, sample: list[dict[str, Any]], ann: User
) -> None:
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE)
    quality = {row["external_id"]: row["metadata"]["simulated_quality"] for row in sample}
    for task in round.tasks.select_related("item", "response"):
        assert task.response is not None
        build.submitted(task, ann, quality[task.item.external_id][task.response.system])
    run = worked_to_end(runs.plan_judging(project, judge, "rocketeval", round))

    assert run.state == Run.State.FINISHED, run.pause_reason
    asked = sum(checklist.questions.count() * 3 for checklist in Checklist.objects.all())
    verdicts = list(run.verdicts.select_related("call"))
    assert len(verdicts) == asked
    for verdict in verdicts:
        call = verdict.call
        assert (call.parameters["max_tokens"], call.parameters["temperature"]) == (1, 0.0)
        assert call.output_tokens == 1
        assert len(call.alternatives) == 1
        assert len(call.alternatives[0]) >= 5
        found = yes_no(call.alternatives[0])
        assert verdict.captured == pytest.approx(found.captured)
        if found.captured < LEAST_MASS:
            assert (verdict.state, verdict.probability) == ("unparsed", None)
        else:
            assert verdict.probability == pytest.approx(found.probability)
            assert verdict.state == ("yes" if verdict.probability > 0.5 else "no")  # type: ignore[operator]
    readable = [verdict for verdict in verdicts if verdict.state != "unparsed"]
    assert len(readable) > asked / 2, [verdict.captured for verdict in verdicts]
    assert len({verdict.probability for verdict in readable}) > len(readable) / 2  # no answer for everything

    scores = scores_of(run, supervised=True)
    assert [column.key for column in scores.columns] == [
        "pass_rate",
        "rocketeval_unsupervised",
        "rocketeval_supervised",
        "rocketeval_weight",
    ]
    assert len(scores.rows) == 3 * len(sample)
    for row in scores.rows:
        for key in ("rocketeval_unsupervised", "rocketeval_supervised"):
            value = row.values[key]
            assert value is None or 1 <= value <= 5
    assert scores.systems[-1].means[2].figure.defined
    # The questions of one response share their prompt up to the question, and the server evaluates that part once.
    used = run.usage()
    assert used.cached > used.input / 4
    mass = sum(verdict.captured or 0 for verdict in verdicts) / asked
    say(f"\nrocketeval: {len(readable)} of {asked} readable, {mass:.2f} captured on average; {used}")


def test_geval_weighs_the_scores_by_their_probabilities(
    project: Project, judge: Judge, sample: list[dict[str, Any]]
) -> None:
    build.dimension(project, "Fluency", definition="Whether the text reads well.")
    judge.abilities = {"alternatives": 20}
    judge.save()
    run = worked_to_end(runs.plan_judging(project, judge, "geval", sample_size=1))
    assert run.state == Run.State.FINISHED, run.pause_reason
    assert run.verdicts.count() == 3
    weighted = 0
    for verdict in run.verdicts.select_related("call", "dimension"):
        assert verdict.call.alternatives
        if verdict.captured is not None:
            found = weighted_score(verdict.call.alternatives[0], [1, 2, 3, 4, 5])
            assert found is not None
            assert verdict.score == pytest.approx(found.mean)
            weighted += 1
        elif verdict.state == "score":
            assert verdict.score in {1, 2, 3, 4, 5}
    say(f"\ngeval: {run.verdicts.filter(state='score').count()} of 3 readable, {weighted} weighted")


def test_checkeval_answers_or_leaves_unread(project: Project, judge: Judge, sample: list[dict[str, Any]]) -> None:
    fluency = build.dimension(project, "Fluency", definition="Whether the text reads well.")
    build.dimension_checklist(fluency, Grammar=["Is every sentence correct?"], Ease=["Is it easy?", "Is it plain?"])
    run = worked_to_end(runs.plan_judging(project, judge, "checkeval", sample_size=1))
    assert run.state == Run.State.FINISHED, run.pause_reason
    assert run.calls.count() == 6
    assert run.verdicts.count() == 3 * Question.objects.filter(checklist__dimension=fluency).count()
    assert set(run.verdicts.values_list("state", flat=True)) <= {"yes", "no", "unparsed"}
    say(f"\ncheckeval: {run.verdicts.readable().count()} of {run.verdicts.count()} readable")

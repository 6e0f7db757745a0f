"""Annotations and verdicts as reliability data: nothing unread becomes a value, nothing counts twice."""

from __future__ import annotations

import pytest

from annotate.models import Annotation, Checklist, Item, Project, Response, Role, Round, Task, User
from judging.agreement import Label
from judging.labels import (
    QUESTIONS,
    SCORE,
    Facet,
    Labels,
    facets_of,
    labels_by_facet,
    majority,
    people_labels,
    replies_to,
    rounded_mean,
    run_labels,
)
from judging.models import Call, Run, Verdict
from judging.protocols import PROTOCOLS
from tests import build
from tests.judging.build_runs import call, run_of, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def item(project: Project) -> Item:
    return build.item(project, "moss", systems=("Aster", "Briar"))


@pytest.fixture
def checklist(item: Item) -> Checklist:
    return build.checklist(item, "Is it short?", "Is it true?")


@pytest.fixture
def round(project: Project, checklist: Checklist) -> Round:
    return build.round(project, Round.Kind.CHECK_THEN_SCORE, overlap=2)


def test_facets_are_the_score_and_the_questions_of_a_checklist_round(round: Round, checklist: Checklist) -> None:
    first, second = checklist.questions.all()

    assert facets_of(round) == [SCORE, QUESTIONS, Facet("question", first.pk), Facet("question", second.pk)]
    assert facets_of(build.round(round.project)) == [SCORE]


def test_a_facet_names_a_question_exactly_when_it_is_about_one() -> None:
    with pytest.raises(ValueError, match="names a question"):
        Facet("score", 3)
    with pytest.raises(ValueError, match="names a question"):
        Facet("question")


def test_scores_and_answers_of_people_become_labels(round: Round, checklist: Checklist, ann: User, abe: User) -> None:
    task = round.tasks.get(position=1)
    first, second = checklist.questions.all()
    build.submitted(task, ann, 4, {first.pk: "yes", second.pk: "no"})
    build.submitted(task, abe, 2, {first.pk: "yes", second.pk: "yes"})

    scores, answers = people_labels(round, SCORE), people_labels(round, QUESTIONS)

    assert set(scores.labels) == {(task.response_id, ann.pk, 4.0), (task.response_id, abe.pk, 2.0)}
    assert scores.units == 2
    assert scores.domain == (1, 2, 3, 4, 5)
    assert set(answers.labels) == {
        ((task.response_id, first.pk), ann.pk, "yes"),
        ((task.response_id, second.pk), ann.pk, "no"),
        ((task.response_id, first.pk), abe.pk, "yes"),
        ((task.response_id, second.pk), abe.pk, "yes"),
    }
    assert answers.units == 4
    assert answers.histogram().missing == 2


def test_one_question_is_labelled_on_its_own(round: Round, checklist: Checklist, ann: User) -> None:
    task = round.tasks.get(position=1)
    first, second = checklist.questions.all()
    build.submitted(task, ann, 4, {first.pk: "yes", second.pk: "no"})

    found = people_labels(round, Facet("question", second.pk))

    assert found.labels == [Label((task.response_id, second.pk), ann.pk, "no")]
    assert found.units == 2


def test_drafts_and_surplus_submissions_are_no_labels(round: Round, ann: User, abe: User) -> None:
    task: Task = round.tasks.get(position=1)
    kept = build.submitted(task, ann, 4)
    surplus = build.submitted(task, abe, 1)
    Annotation.objects.filter(pk=surplus.pk).update(surplus=True)
    draft = build.submitted(round.tasks.get(position=2), ann, 3)
    Annotation.objects.filter(pk=draft.pk).update(state="draft")

    assert [label.value for label in people_labels(round, SCORE).labels] == [float(kept.score or 0)]
    assert {label.rater for label in people_labels(round, QUESTIONS).labels} == {ann.pk}


def test_labels_of_simulated_annotators_are_counted_as_such(project: Project, round: Round, ann: User) -> None:
    robot = build.member(project, Role.ANNOTATOR, "robot", is_simulated=True, is_active=False)
    task = round.tasks.get(position=1)
    build.submitted(task, ann, 4)
    build.submitted(task, robot, 4)

    assert len(people_labels(round, SCORE).labels) == 2
    assert people_labels(round, SCORE).simulated == 1
    assert people_labels(round, QUESTIONS).simulated == 2


def test_repeats_of_an_answer_give_their_majority_and_an_even_split_gives_nothing(
    round: Round, checklist: Checklist
) -> None:
    run = run_of(round, repeats=4)
    first, second = checklist.questions.all()
    response = Response.objects.earliest("pk")
    for repeat, state in enumerate(["yes", "no", "yes", "unparsed"], start=1):
        verdict(run, response, state, question=first, repeat=repeat)
    for repeat, state in enumerate(["yes", "no", "no", "yes"], start=1):
        verdict(run, response, state, question=second, repeat=repeat)

    found = run_labels(run, QUESTIONS)

    assert [(label.unit, label.value) for label in found.labels] == [((response.pk, first.pk), "yes")]
    assert found.units == 2
    assert found.gaps == {"tied": 1}
    assert run_labels(run, Facet("question", second.pk)).labels == []
    assert run_labels(run, SCORE).units == 0


def test_repeats_of_a_score_give_their_mean_rounded_half_up(round: Round) -> None:
    run = run_of(round, "direct", repeats=2)
    first, second = Response.objects.order_by("pk")
    for repeat, score in enumerate([2, 3], start=1):
        verdict(run, first, "score", score=score, repeat=repeat)
    verdict(run, second, "score", score=4, repeat=1)
    verdict(run, second, "unparsed", repeat=2)

    assert {label.unit: label.value for label in run_labels(run, SCORE).labels} == {
        first.pk: 3.0,
        second.pk: 4.0,
    }
    assert list(labels_by_facet(run)) == [SCORE]


def test_what_could_not_be_read_is_missing_with_its_reason(round: Round, checklist: Checklist) -> None:
    run = run_of(round)
    first, second = checklist.questions.all()
    one, two = Response.objects.order_by("pk")
    verdict(run, one, "unparsed", question=first)
    call(run, one, question=second, state="failed", error="The endpoint answered 500.")
    call(run, two, question=first, state="planned")
    verdict(run, two, "error", question=second)

    found = run_labels(run, QUESTIONS)

    assert list(found.labels) == []
    assert found.units == 4
    assert found.gaps == {"unreadable": 1, "failed": 2, "pending": 1}


def planned(run: Run, response: Response, checklist: Checklist) -> Call:
    return call(run, response, checklist=checklist, state="planned")


def gaps_of(run: Run) -> dict[Facet, dict[str, int]]:
    return {facet: labels.gaps for facet, labels in labels_by_facet(run).items()}


def test_a_call_that_waits_counts_for_all_that_its_protocol_will_ask(round: Round, checklist: Checklist) -> None:
    response = Response.objects.earliest("pk")
    first, second = checklist.questions.all()
    waiting = {
        "tick_batch": {QUESTIONS: {"pending": 2}},
        "checklist_then_score": {QUESTIONS: {"pending": 2}, SCORE: {"pending": 1}},
        "check_then_score": {SCORE: {"pending": 1}},
        "direct": {SCORE: {"pending": 1}},
    }
    for method, gaps in waiting.items():
        run = run_of(round, method)
        planned(run, response, checklist)
        assert gaps_of(run) == gaps

    batch = run_of(round, "tick_batch")
    planned(batch, response, checklist)
    assert set(replies_to(batch)) == {(response.pk, first.pk), (response.pk, second.pk)}
    one = run_of(round)
    call(one, response, question=first, state="planned")
    assert gaps_of(one) == {QUESTIONS: {"pending": 1}}


@pytest.mark.parametrize("state", ["unparsed", "error"])
def test_a_call_keeps_its_units_when_it_is_settled(round: Round, checklist: Checklist, state: str) -> None:
    run = run_of(round, "checklist_then_score")
    response = Response.objects.earliest("pk")
    made = planned(run, response, checklist)
    units = {facet: labels.units for facet, labels in labels_by_facet(run).items()}
    failed = {"state": "failed", "error": "No answer."} if state == "error" else {"state": "done"}
    Call.objects.filter(pk=made.pk).update(**failed)
    for outcome in PROTOCOLS[run.method].blank(made, Verdict.State(state)):
        Verdict.objects.create(run=run, call=made, response=response, question=outcome.question, state=outcome.state)

    assert {facet: labels.units for facet, labels in labels_by_facet(run).items()} == units == {SCORE: 1, QUESTIONS: 2}
    gap = "failed" if state == "error" else "unreadable"
    assert gaps_of(run) == {SCORE: {gap: 1}, QUESTIONS: {gap: 2}}


def test_one_reply_may_hold_answers_and_a_score(round: Round, checklist: Checklist) -> None:
    run = run_of(round, "checklist_then_score")
    response = Response.objects.earliest("pk")
    first, second = checklist.questions.all()
    made = call(run, response, checklist=checklist)
    for fields in ({"question": first, "state": "na"}, {"question": second, "state": "unparsed"}):
        Verdict.objects.create(run=run, call=made, response=response, **fields)
    Verdict.objects.create(run=run, call=made, response=response, state="score", score=4)

    found = labels_by_facet(run)

    assert found[SCORE].labels == [Label(response.pk, f"run {run.pk}", 4.0)]
    assert found[QUESTIONS].labels == [Label((response.pk, first.pk), f"run {run.pk}", "na")]
    assert (found[QUESTIONS].units, found[QUESTIONS].gaps) == (2, {"unreadable": 1})


def test_pairs_and_dimensions_are_no_units_of_a_round(round: Round, checklist: Checklist) -> None:
    one, two = Response.objects.order_by("pk")
    dimension = build.dimension(round.project)
    own = build.dimension_checklist(dimension, Tone=["Is it warm?"], Form=["Is it in lines?", "Has it a title?"])

    pairs = run_of(round, "tick_batch")
    call(pairs, one, other=two, order="ab", checklist=checklist)
    scores = run_of(round, "geval")
    rated = call(scores, one, dimension=dimension)
    Verdict.objects.create(run=scores, call=rated, response=one, dimension=dimension, state="score", score=3)
    answers = run_of(round, "checkeval")
    call(answers, one, dimension=dimension, checklist=own, subdimension="Form", state="planned")

    assert [labels_by_facet(run) for run in (pairs, scores, answers)] == [{}, {}, {}]
    assert [replies_to(run) for run in (pairs, scores)] == [{}, {}]
    form = own.questions.filter(subdimension="Form").values_list("pk", flat=True)
    assert set(replies_to(answers)) == {(one.pk, question) for question in form}


MAJORITIES: list[tuple[list[str], str | None, str]] = [
    (["yes"], "yes", ""),
    (["yes", "yes", "no"], "yes", ""),
    (["no", "yes", "no", "yes", "no"], "no", ""),
    (["yes", "no"], None, "tied"),
    (["yes", "no", "na"], None, "tied"),
    (["yes", "no", "na", "na"], "na", ""),
    (["unparsed", "unparsed", "no"], "no", ""),
    (["yes", "no", "unparsed"], None, "tied"),
    (["unparsed", "unparsed"], None, "unreadable"),
    (["unparsed", "error"], None, "failed"),
]


@pytest.mark.parametrize(("states", "label", "gap"), MAJORITIES)
def test_the_majority_of_k_repeats_is_the_label(
    round: Round, checklist: Checklist, states: list[str], label: str | None, gap: str
) -> None:
    run = run_of(round, "tick_batch", repeats=len(states))
    response = Response.objects.earliest("pk")
    first, second = checklist.questions.all()
    for repeat, state in enumerate(states, start=1):
        made = call(run, response, checklist=checklist, repeat=repeat)
        for question, said in ((first, state), (second, "yes")):
            fields = {"question": question, "repeat": repeat, "state": said}
            Verdict.objects.create(run=run, call=made, response=response, **fields)

    found: Labels = run_labels(run, Facet("question", first.pk))

    assert [said.value for said in found.labels] == ([label] if label else [])
    assert found.gaps == ({gap: 1} if gap else {})
    assert run.verdicts.count() == 2 * len(states)
    assert [said.value for said in run_labels(run, Facet("question", second.pk)).labels] == ["yes"]


def test_a_score_off_the_scale_widens_the_domain_instead_of_breaking_the_panel(round: Round) -> None:
    run = run_of(round, "direct")
    verdict(run, Response.objects.earliest("pk"), "score", score=9)

    assert run_labels(run, SCORE).domain == (1, 2, 3, 4, 5, 9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2], 2), ([2, 3], 3), ([1, 1, 2], 1), ([4, 5, 5], 5), ([-1, -2], -1), ([3], 3)],
)
def test_means_are_rounded_half_up(values: list[float], expected: float) -> None:
    assert rounded_mean(values) == expected


def test_the_majority_of_nothing_or_of_an_even_split_is_none() -> None:
    assert majority([]) is None
    assert majority(["yes", "no"]) is None
    assert majority(["yes", "no", "na", "no"]) == "no"

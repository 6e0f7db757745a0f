"""Verdicts from token probabilities: variants are summed, too little mass is unreadable, none at all stops the run."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.models import Dimension, Item, Project, Question, Response, Round
from judging import runs, work
from judging.faults import CallFailed
from judging.models import Call, Run, Verdict
from judging.prompts import template
from judging.protocols import PROTOCOLS, Outcome, Setup
from judging.protocols.rocketeval import NO_PROBABILITIES
from judging.reading.probabilities import LEAST_MASS, weighted_score, word_of, yes_no
from tests import build
from tests.scripted_endpoint import Play, ScriptedEndpoint, error

FIVE = [1, 2, 3, 4, 5]


def alternatives(shares: dict[str, float]) -> list[tuple[str, float]]:
    return [(token, math.log(share)) for token, share in shares.items()]


# --- yes and no -------------------------------------------------------------------------------------------------------


def test_all_variants_of_a_word_are_summed() -> None:
    """By hand: yes .20 + .20 + .10 + .05 = .55; no .10 + .05 + .05 = .20; p = .55 / .75 = .7333."""
    spread = {"Yes": 0.2, " yes": 0.2, "\u2581YES": 0.1, "ＹＥＳ": 0.05, "no": 0.1, "\u0120No": 0.05, "\u010aNO": 0.05}
    found = yes_no(alternatives({**spread, "Maybe": 0.2}))
    assert found.yes == pytest.approx(0.55)
    assert found.no == pytest.approx(0.2)
    assert found.captured == pytest.approx(0.75)
    assert found.probability == pytest.approx(0.733333, abs=1e-6)
    assert found.answer() is True


def test_the_sum_may_turn_what_the_likeliest_variant_says() -> None:
    """The likeliest token is a yes (.30), and so is the largest variant; no has .25 + .20 = .45."""
    found = yes_no(alternatives({"Yes": 0.3, "No": 0.25, " no": 0.2}))
    assert found.probability == pytest.approx(0.4)
    assert found.answer() is False


def test_japanese_words_are_words() -> None:
    found = yes_no(alternatives({"はい": 0.6, " いいえ": 0.2, "Yes": 0.1}))
    assert found.probability == pytest.approx(0.7 / 0.9)


@pytest.mark.parametrize("token", ["Yesterday", "y", "not", "No.", "none", "Yes/No", "は", "", " ", "ya", "nо"])
def test_other_tokens_are_neither(token: str) -> None:
    assert yes_no([(token, math.log(0.9))]) == (0.0, 0.0)


def test_an_even_split_is_no_yes() -> None:
    assert yes_no(alternatives({"yes": 0.5, "no": 0.5})).answer() is False


def test_too_little_mass_is_unreadable_and_the_threshold_itself_is_enough() -> None:
    little = yes_no(alternatives({"yes": 0.05, "no": 0.04, "The": 0.9}))
    assert little.captured == pytest.approx(0.09)
    assert little.answer() is None
    assert little.answer(least_mass=0.05) is True
    assert yes_no([("yes", math.log(LEAST_MASS) + 1e-12)]).answer() is True
    assert yes_no(alternatives({"The": 1.0})).answer(least_mass=0) is None


def test_one_side_alone_is_certain() -> None:
    assert yes_no(alternatives({"Yes": 0.4})).probability == 1.0
    assert yes_no(alternatives({"No": 0.4})).probability == 0.0


def test_a_log_probability_that_is_none_breaks_nothing() -> None:
    found = yes_no([("Yes", 1e6), ("No", -1e6)])
    assert (found.yes, found.no, found.captured) == (1.0, 0.0, 1.0)


VARIANTS = ["yes", "Yes", " YES", "\u0120yes", "はい", "no", " No", "\u2581NO", "いいえ", "maybe", "Sure", "\n"]
listed = st.lists(st.tuples(st.sampled_from(VARIANTS), st.floats(-30, 0)), max_size=20)


@given(listed)
def test_what_is_read_is_a_share_of_what_was_given(tokens: list[tuple[str, float]]) -> None:
    found = yes_no(tokens)
    assert 0 <= found.captured <= 1
    assert found.answer(least_mass=0) is None or found.probability is not None
    if found.probability is not None:
        assert 0 <= found.probability <= 1
        assert found.probability == pytest.approx(found.yes / (found.yes + found.no))


@given(listed, st.randoms(use_true_random=False))
def test_the_order_of_the_alternatives_does_not_matter(tokens: list[tuple[str, float]], random: Any) -> None:
    mixed = random.sample(tokens, len(tokens))
    assert yes_no(mixed) == yes_no(tokens)


@given(st.floats(-8, -2), st.floats(-8, -2), st.integers(1, 4))
def test_splitting_a_word_into_variants_changes_nothing(yes: float, no: float, parts: int) -> None:
    whole = yes_no([("yes", yes), ("no", no)])
    pieces = [(f"{' ' * number}Yes", yes - math.log(parts)) for number in range(parts)]
    split = yes_no([*pieces, ("no", no)])
    assert split.probability == pytest.approx(whole.probability)
    assert split.captured == pytest.approx(whole.captured)


@given(listed)
def test_yes_and_no_are_treated_alike(tokens: list[tuple[str, float]]) -> None:
    swap = {"yes": "no", "no": "yes", "はい": "いいえ", "いいえ": "はい"}
    turned = yes_no([(swap.get(word_of(token), token), value) for token, value in tokens])
    found = yes_no(tokens)
    assert (turned.yes, turned.no) == (found.no, found.yes)


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_are_weighted_by_their_probabilities() -> None:
    """By hand: (3 * .2 + 4 * (.5 + .1) + 5 * .1) / .9 = 3.5 / .9 = 3.8889; 7 is off the scale."""
    found = weighted_score(alternatives({"4": 0.5, " 4": 0.1, "３": 0.2, "\u01205": 0.1, "7": 0.05, "The": 0.05}), FIVE)
    assert found is not None
    assert found.mean == pytest.approx(3.888889, abs=1e-6)
    assert found.captured == pytest.approx(0.9)


@pytest.mark.parametrize("scores", [list(range(1, 11)), list(range(-2, 3)), [9, 10]])
def test_a_scale_with_longer_scores_has_no_weighted_mean(scores: list[int]) -> None:
    assert weighted_score(alternatives({"1": 0.9, "2": 0.1}), scores) is None


def test_without_a_score_among_the_alternatives_there_is_no_mean() -> None:
    assert weighted_score(alternatives({"The": 0.9, "4.5": 0.05, "45": 0.05}), FIVE) is None
    assert weighted_score([], FIVE) is None


@given(st.lists(st.tuples(st.sampled_from(["1", " 2", "3", "4", "５", "6", "x"]), st.floats(-30, 0)), max_size=12))
def test_a_weighted_mean_lies_on_the_scale(tokens: list[tuple[str, float]]) -> None:
    found = weighted_score(tokens, FIVE)
    if found is not None:
        assert 1 <= found.mean <= 5
        assert 0 < found.captured <= 1


# --- the protocol -----------------------------------------------------------------------------------------------------


def read(call: Call, name: str = "rocketeval") -> list[Outcome]:
    return PROTOCOLS[name].read(call, Setup(template(name), Round(), alternatives=5))


def answered(*tokens: dict[str, float], reply: str = "Yes") -> Call:
    response = Response(item=Item(instruction="Write a line."), system="Aster", text="A line.")
    given = [[list(pair) for pair in alternatives(token)] for token in tokens]
    question = Question(text="Is it short?")
    return Call(item=response.item, response=response, question=question, reply=reply, alternatives=given)


def test_a_verdict_holds_its_probability_and_the_captured_mass() -> None:
    [outcome] = read(answered({"Yes": 0.5, "yes": 0.1, "No": 0.2}, {"No": 1.0}))
    assert outcome.state == "yes"
    assert outcome.probability == pytest.approx(0.75)
    assert outcome.captured == pytest.approx(0.8)


def test_the_probabilities_count_and_not_the_word() -> None:
    [outcome] = read(answered({"Yes": 0.3, "No": 0.25, " no": 0.2}, reply="Yes"))
    assert outcome.state == "no"


def test_below_the_threshold_a_verdict_is_unreadable_and_says_how_much_was_captured() -> None:
    [outcome] = read(answered({"The": 0.9, "Yes": 0.06, "No": 0.02}, reply="Yes"))
    assert outcome.state == "unparsed"
    assert outcome.probability is None
    assert outcome.captured == pytest.approx(0.08)


@pytest.mark.parametrize("tokens", [(), ({},), ({}, {"Yes": 1.0})])
def test_without_probabilities_the_text_is_never_read_instead(tokens: tuple[dict[str, float], ...]) -> None:
    with pytest.raises(CallFailed, match="gave no token probabilities") as failed:
        read(answered(*tokens, reply="Yes"))
    assert failed.value.endpoint_down
    assert not failed.value.retryable


def test_one_token_is_asked_for_at_temperature_0() -> None:
    setup = Setup(template("rocketeval"), Round(), schema=True, alternatives=7)
    sent = PROTOCOLS["rocketeval"].parameters(answered(), setup)
    assert sent == {"temperature": 0.0, "max_tokens": 1, "logprobs": True, "top_logprobs": 7}


def test_the_question_comes_last_after_what_the_calls_share() -> None:
    call = answered()
    call.item.history = [{"role": "user", "content": "Hello there."}]
    [_, asked] = PROTOCOLS["rocketeval"].messages(call, Setup(template("rocketeval"), Round()))
    places = [asked["content"].index(text) for text in ("Hello there.", "Write a line.", "A line.", "Is it short?")]
    assert places == sorted(places)


# --- runs -------------------------------------------------------------------------------------------------------------


def planned(project: Project, endpoint: ScriptedEndpoint, questions: int = 2, **judge: Any) -> Run:
    item = build.item(project, systems=("Aster",))
    build.checklist(item, *(f"Is it so, by question {number}?" for number in range(questions)))
    asked = build.judge(project, endpoint.base_url, temperature=0.7, max_tokens=300, **judge)
    return runs.plan_judging(project, asked, "rocketeval", build.round(project, Round.Kind.CHECK_THEN_SCORE))


def worked(run: Run) -> Run:
    work.work(run.pk)
    run.refresh_from_db()
    return run


@pytest.mark.django_db
def test_a_run_stores_what_was_probable(project: Project) -> None:
    sure = Play("Yes", logprobs=[{"Yes": math.log(0.9), "No": math.log(0.1)}])
    torn = Play("Yes", logprobs=[{"Yes": math.log(0.4), " no": math.log(0.35), "NO": math.log(0.2)}])
    with ScriptedEndpoint() as endpoint:
        endpoint.play(sure, torn)
        run = worked(planned(project, endpoint, concurrency=1))
        [first, second] = run.verdicts.order_by("call__position")
        assert [first.state, second.state] == ["yes", "no"]
        assert first.probability == pytest.approx(0.9)
        assert second.probability == pytest.approx(0.4 / 0.95)
        assert second.captured == pytest.approx(0.95)
        sent = endpoint.requests[0].body
        assert {name: sent[name] for name in ("temperature", "max_tokens", "logprobs", "top_logprobs")} == {
            "temperature": 0.0,
            "max_tokens": 1,
            "logprobs": True,
            "top_logprobs": 20,
        }
    call = Call.objects.filter(run=run).earliest("position")
    assert call.alternatives == [[["Yes", pytest.approx(math.log(0.9))], ["No", pytest.approx(math.log(0.1))]]]


@pytest.mark.django_db
def test_a_first_token_without_text_is_read_by_its_alternatives(project: Project) -> None:
    with ScriptedEndpoint(Play("\n", logprobs=[{"\n": math.log(0.5), "Yes": math.log(0.4)}])) as endpoint:
        run = worked(planned(project, endpoint))
    assert set(run.verdicts.values_list("state", flat=True)) == {"yes"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (Play("Yes"), NO_PROBABILITIES),
        (Play("Yes", logprobs=[]), NO_PROBABILITIES),
        (error(400, "logprobs is not supported with this model.", param="logprobs"), "refuses to give token"),
        (error(403, "You are not allowed to request logprobs from this model."), "refuses to give token"),
    ],
)
def test_a_run_without_probabilities_pauses_and_says_so(project: Project, script: Play, sentence: str) -> None:
    with ScriptedEndpoint(script) as endpoint:
        run = worked(planned(project, endpoint, questions=6))
    assert run.state == Run.State.PAUSED
    assert sentence in run.pause_reason
    assert not Verdict.objects.filter(run=run).exists()
    assert run.progress()["done"] == 0


@pytest.mark.django_db
def test_an_endpoint_that_gives_fewer_alternatives_is_asked_for_fewer(project: Project) -> None:
    def most_five(request: Any) -> Play:
        if request.body["top_logprobs"] > 5:
            return error(400, "top_logprobs must be at most 5.", param="top_logprobs")
        return Play("No", logprobs=[{"No": math.log(0.8), "Yes": math.log(0.1)}])

    with ScriptedEndpoint(most_five) as endpoint:
        run = worked(planned(project, endpoint))
    assert set(run.verdicts.values_list("state", flat=True)) == {"no"}
    assert {call.parameters["top_logprobs"] for call in run.calls.all()} == {5}


@pytest.mark.django_db
def test_a_judge_that_was_found_to_give_none_starts_no_run(project: Project) -> None:
    judge = build.judge(project, name="Fern", abilities={"alternatives": 0})
    build.checklist(build.item(project))
    with pytest.raises(runs.PlanError, match="Fern gives no token probabilities"):
        runs.plan_judging(project, judge, "rocketeval", build.round(project, Round.Kind.CHECK_THEN_SCORE))


# --- G-Eval -----------------------------------------------------------------------------------------------------------


def scored(reply: str, *tokens: dict[str, float], low: int = 1, high: int = 5, finish: str = "stop") -> Call:
    item = Item(instruction="Write a line.")
    dimension = Dimension(
        name="Coherence",
        definition="Whether all sentences fit together.",
        scale_low=low,
        scale_high=high,
        scale_anchors={str(high): "all of them"},
    )
    given = [[list(pair) for pair in alternatives(token)] for token in tokens]
    return Call(
        item=item,
        response=Response(item=item, system="Aster", text="A line."),
        dimension=dimension,
        reply=reply,
        alternatives=given,
        finish_reason=finish,
    )


def test_a_score_with_probabilities_is_their_weighted_mean() -> None:
    call = scored("4", {"4": 0.6, "5": 0.3, "no": 0.05})
    [outcome] = read(call, "geval")
    assert outcome.state == "score"
    assert outcome.score == pytest.approx((4 * 0.6 + 5 * 0.3) / 0.9)
    assert outcome.captured == pytest.approx(0.9)
    assert outcome.dimension is call.dimension


@pytest.mark.parametrize(
    ("call", "score"),
    [
        (scored("4"), 4),
        (scored("Score: 4", {"Score": 0.9, "4": 0.1}, {":": 1.0}, {"4": 0.5, "2": 0.5}), 4),
        (scored("4", {"2": 0.6, "3": 0.4}), 4),  # not the alternatives of what was written
        (scored("10", {"10": 0.6, "1": 0.4}, high=10), 10),
        (scored("1", {"1": 0.6, "10": 0.4}, high=10), 1),
        (scored("-1", {"-": 1.0}, low=-2, high=2), -1),
    ],
)
def test_a_score_without_probabilities_of_its_own_is_the_written_one(call: Call, score: int) -> None:
    [outcome] = read(call, "geval")
    assert (outcome.score, outcome.captured) == (score, None)


@pytest.mark.parametrize(
    "call",
    [
        scored("I cannot say.", {"4": 0.9}),
        scored("7", {"7": 0.6, "5": 0.4}),
        scored("4", {"4": 0.9}, finish="length"),
    ],
)
def test_an_unreadable_score_stays_unreadable_whatever_was_probable(call: Call) -> None:
    [outcome] = read(call, "geval")
    assert (outcome.state, outcome.score, outcome.dimension) == ("unparsed", None, call.dimension)


def test_the_prompt_shows_the_dimension_and_its_own_scale() -> None:
    setup = Setup(template("geval"), Round(scale_high=10))
    [*_, asked] = PROTOCOLS["geval"].messages(scored("", high=3), setup)
    assert "Coherence\n\nWhether all sentences fit together." in asked["content"]
    assert "3: all of them\n2\n1" in asked["content"]
    assert "from 1 to 3" in asked["content"]


def test_probabilities_are_asked_for_only_where_the_judge_gives_them() -> None:
    call, protocol = scored(""), PROTOCOLS["geval"]
    assert protocol.parameters(call, Setup(template("geval"), Round(), schema=True)) == {}
    sent = protocol.parameters(call, Setup(template("geval"), Round(), alternatives=5))
    assert sent == {"logprobs": True, "top_logprobs": 5}


@pytest.mark.django_db
def test_a_run_scores_every_response_on_every_dimension(project: Project) -> None:
    for name in ("Coherence", "Fluency"):
        Dimension.objects.create(project=project, name=name, definition=f"What {name} means.")
    Dimension.objects.create(project=project, name="Old", definition="Not used.", archived=True)
    build.item(project)
    play = Play("4", logprobs=[{"4": math.log(0.75), "2": math.log(0.25)}])
    with ScriptedEndpoint(play) as endpoint:
        judge = build.judge(project, endpoint.base_url, abilities={"alternatives": 5})
        run = worked(runs.plan_judging(project, judge, "geval", build.round(project)))
    assert run.calls.count() == 4
    found = list(run.verdicts.values_list("response__system", "dimension__name").order_by("call__position"))
    assert found == [(system, name) for system in ("Aster", "Briar") for name in ("Coherence", "Fluency")]
    assert list(run.verdicts.values_list("score", flat=True)) == [pytest.approx(3.5)] * 4

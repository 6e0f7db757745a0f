"""Prediction-powered means and the Rogan-Gladen correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.agreement import prediction_powered_mean, rogan_gladen

some_scores = st.lists(st.integers(1, 5), min_size=2, max_size=12)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=12), some_scores)
def test_weights_zero_and_one_are_the_known_estimators(pairs: list[tuple[int, int]], elsewhere: list[int]) -> None:
    people, there = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    nothing = prediction_powered_mean(people, there, elsewhere, weight=0)
    assert nothing.estimate.value == pytest.approx(people.mean())
    assert nothing.estimate.low == pytest.approx(nothing.people_only.low)
    plain = prediction_powered_mean(people, there, elsewhere, weight=1)
    assert plain.estimate.value == pytest.approx(np.mean(elsewhere) + (people - there).mean())


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=12), some_scores)
def test_the_tuned_weight_lies_between_ignoring_and_trusting(
    pairs: list[tuple[int, int]], elsewhere: list[int]
) -> None:
    people, there = zip(*pairs, strict=True)
    found = prediction_powered_mean(people, there, elsewhere)
    assert found.weight is not None
    assert 0 <= found.weight <= 1


def test_the_tuned_weight_by_hand() -> None:
    people, there, elsewhere = [1.0, 3.0, 2.0, 5.0], [2.0, 3.0, 2.5, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0, 3.0]
    spread = np.var(there + elsewhere, ddof=1)
    expected = np.cov(people, there)[0, 1] / ((1 + 4 / 6) * spread)
    found = prediction_powered_mean(people, there, elsewhere)
    assert 0 < expected < 1
    assert found.weight == pytest.approx(expected)
    assert found.estimate.value == pytest.approx(2.75 + expected * (3.0 - 2.875))


def test_a_biased_judge_is_corrected_and_the_interval_is_shorter() -> None:
    """Over 300 repetitions: no bias, coverage as promised, narrower than people alone."""
    rng = np.random.default_rng(4)
    errors, covered, narrower, naive = [], 0, 0, 0
    for _ in range(300):
        truth = rng.normal(3, 1, 1080)
        judge = truth + 0.4 + rng.normal(0, 0.4, 1080)
        found = prediction_powered_mean(truth[:80], judge[:80], judge[80:])
        estimate, people = found.estimate, found.people_only
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is not None
        assert people.low is not None
        assert people.high is not None
        errors.append(estimate.value - 3)
        covered += estimate.low <= 3 <= estimate.high
        narrower += estimate.high - estimate.low < people.high - people.low
        assert found.judge_only.low is not None
        naive += found.judge_only.low <= 3
    assert abs(np.mean(errors)) < 0.015
    assert 0.92 <= covered / 300 <= 0.98
    assert narrower == 300
    assert naive == 0


def test_prediction_powered_means_refuse_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="People scored 2 units and the judge 3"):
        prediction_powered_mean([1, 2], [1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="finite numbers"):
        prediction_powered_mean([1, np.nan], [1, 2], [1, 2])
    with pytest.raises(ValueError, match="weight of the judge"):
        prediction_powered_mean([1, 2], [1, 2], [1, 2], weight=2)
    nothing = prediction_powered_mean([1], [1], [1, 2])
    assert "the least" in (nothing.estimate.reason or "")
    constant = prediction_powered_mean([1, 2], [3, 3], [3, 3])
    assert constant.weight == 0


@given(st.integers(1, 99), st.floats(0.6, 1.0), st.floats(0.6, 1.0))
def test_rogan_gladen_inverts_the_errors(yes: int, found: float, refused: float) -> None:
    """Feed it the expected counts of a known share and it gives the share back."""
    size = 10_000
    true = yes / 100
    sensitivity, specificity = round(found * size), round(refused * size)
    share = true * sensitivity / size + (1 - true) * (1 - specificity / size)
    figure = rogan_gladen(round(share * 10**9), 10**9, sensitivity, size, specificity, size)
    assert figure.value is not None
    assert figure.value == pytest.approx(true, abs=1e-6)
    assert figure.low is not None
    assert figure.high is not None
    assert 0 <= figure.low <= figure.value <= figure.high <= 1


def test_the_interval_of_rogan_gladen_covers() -> None:
    rng = np.random.default_rng(9)
    covered = 0
    for _ in range(500):
        yes_found, no_found = rng.binomial(60, 0.85), rng.binomial(60, 0.9)
        judged = rng.binomial(400, 0.3 * 0.85 + 0.7 * 0.1)
        figure = rogan_gladen(int(judged), 400, int(yes_found), 60, int(no_found), 60)
        assert figure.low is not None
        assert figure.high is not None
        covered += figure.low <= 0.3 <= figure.high
    assert 0.93 <= covered / 500 <= 0.985


def test_the_interval_of_rogan_gladen_leans_the_right_way() -> None:
    """A high share and a judge known from few units: the interval must not end too low."""
    rng = np.random.default_rng(9)
    too_low = 0
    for _ in range(600):
        yes_found, no_found = int(rng.binomial(15, 0.75)), int(rng.binomial(15, 0.9))
        figure = rogan_gladen(int(rng.binomial(2000, 0.9 * 0.75 + 0.1 * 0.1)), 2000, yes_found, 15, no_found, 15)
        too_low += figure.high is not None and figure.high < 0.9
    assert too_low / 600 < 0.05


def test_rogan_gladen_says_what_it_cannot_do() -> None:
    assert "no better than chance" in (rogan_gladen(5, 10, 5, 10, 5, 10).reason or "")
    assert "all needed" in (rogan_gladen(5, 10, 0, 0, 5, 10).reason or "")
    with pytest.raises(ValueError, match="11 is not a part of 10"):
        rogan_gladen(11, 10, 5, 10, 5, 10)
    cut = rogan_gladen(0, 50, 9, 10, 9, 10)
    assert cut.value == 0
    assert "was cut to the range" in (cut.warning or "")

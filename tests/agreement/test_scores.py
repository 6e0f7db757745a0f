"""Pass rates, RocketEval scores and selective checklists."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.agreement import (
    ANSWER_STATES,
    Histogram,
    alpha,
    combined_score,
    paired_difference,
    pass_rate,
    pass_rates,
    score_inconsistency,
    selective_curve,
    supervised_scores,
    supervision_weight,
    unsupervised_score,
    vote_credit,
    vote_inconsistency,
)

states = st.sampled_from(ANSWER_STATES)


def test_an_unread_answer_is_not_a_no() -> None:
    answers: list[Any] = ["yes", "yes", "no", "unparsed", "error"]
    figure = pass_rate(answers)
    assert figure.value == pytest.approx(2 / 3)
    assert (figure.n_units, figure.missing) == (3, 2)
    assert figure.warning == "2 missing answers were left out."
    assert pass_rate(answers, "no").value == pytest.approx(2 / 5)
    assert pass_rate(answers, "half").value == pytest.approx(3 / 5)
    assert pass_rate(["na"]).reason == "Undefined: no question has an answer."
    with pytest.raises(ValueError, match="An answer is one of yes, no, na, unparsed, error, not 'maybe'"):
        pass_rate(["maybe"])  # type: ignore[list-item]


@given(st.lists(st.lists(states, max_size=6), max_size=12), st.sampled_from(["exclude", "no", "half"]))
def test_micro_and_macro(checklists: list[list[Any]], policy: Any) -> None:
    found = pass_rates(checklists, policy)
    each = [pass_rate(answers, policy) for answers in checklists]
    rates = [figure.value for figure in each if figure.value is not None]
    if not rates:
        assert found.micro.value is found.macro.value is None
        return
    assert found.macro.value == pytest.approx(sum(rates) / len(rates))
    earned = sum(figure.value * figure.n_units for figure in each if figure.value is not None)
    assert found.micro.value == pytest.approx(earned / sum(figure.n_units for figure in each))
    assert found.macro.n_units == len(rates)


def test_unsupervised_score_is_mapped_to_the_range() -> None:
    assert unsupervised_score([1.0, 0.5, None], 1, 10) == pytest.approx(7.75)
    assert unsupervised_score([None, None], 1, 10) is None


def test_supervised_scores_find_the_question_that_matters() -> None:
    rng = np.random.default_rng(0)
    train = rng.random((60, 4))
    found = supervised_scores(train, 1 + 9 * (train[:, 2] > 0.5), [[0.5, 0.5, 0.9, 0.5], [0.5, np.nan, 0.1, 0.5]])
    assert found.item_weights.argmax() == 2
    assert found.item_weights.sum() == pytest.approx(1)
    assert found.scores[0] > found.scores[1] + 2
    again = supervised_scores(train, 1 + 9 * (train[:, 2] > 0.5), [[0.5, 0.5, 0.9, 0.5], [0.5, 0.5, 0.1, 0.5]])
    assert again.scores.tolist() == found.scores.tolist()
    assert supervised_scores(train, train[:, 0], np.zeros((0, 4))).scores.size == 0


def test_supervised_scores_need_tables_that_fit() -> None:
    with pytest.raises(ValueError, match="2 labels for 3 training responses"):
        supervised_scores(np.zeros((3, 2)), [1, 2], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="2 questions and the responses have 3"):
        supervised_scores(np.zeros((3, 2)), [1, 2, 3], np.zeros((1, 3)))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=40))
def test_the_weight_is_the_entropy_of_the_labels(labels: list[int]) -> None:
    shares = [labels.count(level) / len(labels) for level in set(labels)]
    entropy = -sum(share * math.log(share) for share in shares)
    weight = supervision_weight(labels, 1, 5)
    assert weight == pytest.approx(entropy / math.log(5), abs=1e-12)
    assert 0 <= weight <= 1


def test_weights_of_bad_labels() -> None:
    with pytest.raises(ValueError, match="The label 6 is not in the range 1 to 5"):
        supervision_weight([6], 1, 5)
    with pytest.raises(ValueError, match="at least one label"):
        supervision_weight([], 1, 5)
    with pytest.raises(ValueError, match="fewer than two levels"):
        supervision_weight([1], 1, 1)
    assert combined_score(4, 8, 0.25) == 5


# -- selective checklists ---------------------------------------------------------------------------------


def test_inconsistency_and_credit() -> None:
    assert vote_inconsistency(["1", "1", "2"]) == 1
    assert vote_inconsistency([]) == 0
    assert score_inconsistency([1, 3]) == 1.0
    assert vote_credit(["1", "2"], "1") == 0.5
    assert vote_credit([], "1") == 0.5
    assert vote_credit(["1", "1", "2"], "1") == 1.0
    assert vote_credit(["1", "1", "2"], "2") == 0.0


def test_the_curve_goes_from_never_to_always() -> None:
    curve = selective_curve([0, 1, 2, 3], [1, 0, 0.5, 0], [0, 1, 1, 1], (3, 2, 1))
    assert [point.threshold for point in curve] == [None, 3, 2, 1, 0]
    assert [point.applied for point in curve] == [0, 0.25, 0.5, 0.75, 1]
    assert [point.figure.value for point in curve] == [0.375, 0.625, 0.75, 1.0, 0.75]
    assert curve[3].against_none.value == pytest.approx(0.625)
    assert curve[3].against_all.value == pytest.approx(0.25)
    assert curve[0].against_none.value == 0


@pytest.mark.parametrize("threshold", [0.3, 0.4, 0.5])
def test_scores_of_equal_inconsistency_are_treated_alike(threshold: float) -> None:
    odd = {0.3: 1, 0.4: 2, 0.5: 5}[threshold]
    scores = [[low] * odd + [low + 1] * (10 - odd) for low in range(1, 10)]
    doubt = [score_inconsistency(row) for row in [*scores, *([row * 2 for row in scores])]]
    _, point, _ = selective_curve(doubt, np.zeros(18), np.ones(18), [threshold], replicates=2)
    assert point.applied == 1.0


def test_the_bootstrap_is_paired() -> None:
    """Units differ a lot but the gain is the same everywhere, so only pairing gives a narrow interval."""
    first = np.random.default_rng(1).random(50)
    figure = paired_difference(first + 0.1, first)
    assert figure.low == pytest.approx(0.1)
    assert figure.high == pytest.approx(0.1)
    assert paired_difference(first, first[::-1], seed=1) != paired_difference(first, first[::-1], seed=2)


def test_another_measure_sees_the_rows_that_were_drawn() -> None:
    gold = np.array([1, 2, 3, 4, 5, 1, 2, 3, 4, 5], dtype=float)

    def agreement(chosen: Any, rows: Any) -> float:
        data = np.vstack([chosen, gold[rows]])
        value = alpha(Histogram.from_reliability(data, (1, 2, 3, 4, 5)), "ordinal").value
        return math.nan if value is None else value

    noisy = np.array([2, 2, 2, 4, 4, 1, 3, 3, 5, 4], dtype=float)
    curve = selective_curve(np.arange(10), noisy, gold, (5,), measure=agreement, replicates=100)
    assert [point.figure.value for point in curve][-1] == pytest.approx(1.0)
    assert curve[-1].against_none.low is not None
    assert curve[-1].against_none.low > 0


def test_columns_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="three columns of the same length"):
        selective_curve([0, 1], [1], [1, 1], (1,))
    with pytest.raises(ValueError, match="two columns of the same length"):
        paired_difference([], [])

"""Cross tables, kappas, Gwet's coefficients and intraclass correlations."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score, precision_score, recall_score

from judging.agreement import (
    CrossTable,
    Histogram,
    ac1,
    ac2,
    brennan_prediger,
    cohen,
    conger,
    fleiss,
    icc,
    macro_f1,
    value_reports,
)
from judging.agreement.chance import agreement_weights

SCALE = (1, 2, 3, 4)
Pairs = list[tuple[int, int]]
pairs_of_values = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=40)


@given(pairs_of_values, st.sampled_from(["identity", "linear", "quadratic"]))
def test_cohen_equals_scikit_learn(pairs: Pairs, weights: Any) -> None:
    figure = cohen(CrossTable.from_pairs(pairs, SCALE), weights)
    first, second = zip(*pairs, strict=True)
    if len({*first, *second}) == 1:
        assert figure.reason == f"Undefined: every rating is {first[0]}."
        return
    known = cohen_kappa_score(first, second, labels=list(SCALE), weights=None if weights == "identity" else weights)
    assert figure.value == pytest.approx(known, abs=1e-12)


def test_cohen_needs_a_common_unit() -> None:
    figure = cohen(CrossTable.from_pairs([(1, None), (2, None)], SCALE))
    assert figure.reason == "Undefined: no unit has a label of both raters."
    assert figure.missing == 2


def test_the_asymptotic_interval_is_close_to_the_jackknife_on_many_units() -> None:
    table = CrossTable(SCALE, 40 * (np.ones((4, 4), dtype=int) + 6 * np.eye(4, dtype=int)))
    normal, jackknife = cohen(table, method="asymptotic"), cohen(table)
    assert normal.low == pytest.approx(jackknife.low, abs=1e-3)
    assert normal.high == pytest.approx(jackknife.high, abs=1e-3)
    assert normal.method == "large-sample normal"


@given(pairs_of_values)
def test_fleiss_of_two_raters_is_scotts_pi(pairs: Pairs) -> None:
    labels = [(u, r, float(v)) for u, pair in enumerate(pairs) for r, v in enumerate(pair)]
    figure = fleiss(Histogram.from_labels(labels, SCALE))
    observed = sum(a == b for a, b in pairs) / len(pairs)
    shares = [sum(pair.count(value) for pair in pairs) / (2 * len(pairs)) for value in SCALE]
    expected = sum(share**2 for share in shares)
    if expected == 1:
        assert figure.value is None
    else:
        assert figure.value == pytest.approx((observed - expected) / (1 - expected), abs=1e-12)


@given(pairs_of_values)
def test_conger_of_two_raters_is_cohens_kappa(pairs: Pairs) -> None:
    figure = conger(np.array(pairs, dtype=float).T, SCALE)
    known = cohen(CrossTable.from_pairs(pairs, SCALE))
    assert figure.value == (None if known.value is None else pytest.approx(known.value, abs=1e-12))


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=12))
def test_ac1_by_hand(units: list[list[int]]) -> None:
    labels = [(u, r, float(v)) for u, values in enumerate(units) for r, v in enumerate(values)]
    figure = ac1(Histogram.from_labels(labels, (0, 1, 2)))
    shares = [
        sum(a == b for a, b in itertools.combinations(values, 2)) / math.comb(len(values), 2)
        for values in units
        if len(values) > 1
    ]
    if not shares:
        assert figure.reason is not None
        return
    prevalence = [sum(values.count(v) / len(values) for values in units) / len(units) for v in (0, 1, 2)]
    chance = sum(share * (1 - share) for share in prevalence) / 2
    assert figure.value == pytest.approx((sum(shares) / len(shares) - chance) / (1 - chance), abs=1e-12)


def test_ac1_stays_calm_where_one_value_is_rare() -> None:
    histogram = Histogram(("no", "yes"), {(2, 0): 95, (1, 1): 5})
    calm, nervous = ac1(histogram).value, fleiss(histogram).value
    assert calm is not None
    assert nervous is not None
    assert calm > 0.9
    assert nervous < 0


def test_ac1_counts_values_that_nobody_used() -> None:
    narrow = Histogram.from_counts([[2, 0], [1, 1], [0, 2]])
    wide = Histogram.from_counts([[2, 0, 0], [1, 1, 0], [0, 2, 0]])
    assert ac1(wide).value != ac1(narrow).value


def test_ac2_gives_credit_for_near_misses() -> None:
    near = Histogram.from_counts([[2, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]] * 5)
    far = Histogram.from_counts([[2, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 1]] * 5)
    values = [ac2(histogram, "quadratic").value for histogram in (near, far)]
    assert values[0] is not None
    assert values[1] is not None
    assert values[0] > values[1]
    assert ac2(near, "identity").value == ac1(near).value


def test_weights_by_hand() -> None:
    assert agreement_weights(3, "linear")[0].tolist() == [1, 0.5, 0]
    assert agreement_weights(3, "quadratic")[0].tolist() == [1, 0.75, 0]
    assert agreement_weights(3, "ordinal")[0].tolist() == pytest.approx([1, 2 / 3, 0])
    assert agreement_weights(1, "linear").tolist() == [[1.0]]
    with pytest.raises(ValueError, match="no weights 'cubic'; choose one of identity, linear"):
        agreement_weights(3, "cubic")  # type: ignore[arg-type]


def test_chance_corrected_coefficients_say_why_they_are_undefined() -> None:
    single = Histogram(("no", "yes"), {(1, 0): 3})
    assert fleiss(single).reason == "Undefined: no unit has two labels, so there is nothing to compare."
    constant = Histogram(("no", "yes"), {(2, 0): 3})
    assert "chance explains them" in (fleiss(constant).reason or "")
    assert ac1(constant).value == brennan_prediger(constant).value == 1.0
    assert "fewer than two values" in (ac1(Histogram(("only",), {(2,): 3})).reason or "")


@given(pairs_of_values)
def test_value_reports_equal_scikit_learn(pairs: Pairs) -> None:
    truth, said = zip(*pairs, strict=True)
    reports = value_reports(CrossTable.from_pairs(pairs, SCALE))
    named = {"labels": list(SCALE), "average": None, "zero_division": np.nan}
    for scores, key in (
        (precision_score(truth, said, **named), "precision"),
        (recall_score(truth, said, **named), "recall"),
        (f1_score(truth, said, **named), "f1"),
    ):
        found = [getattr(report, key) for report in reports]
        expected = [None if np.isnan(score) else pytest.approx(score) for score in scores]
        assert found == expected
    defined = [report.f1 for report in reports if report.f1 is not None]
    assert macro_f1(CrossTable.from_pairs(pairs, SCALE)).value == pytest.approx(np.mean(defined))


def test_cross_tables_refuse_what_is_off_the_scale() -> None:
    with pytest.raises(ValueError, match="The value 9 is not one of 1, 2, 3, 4"):
        CrossTable.from_pairs([(1, 9)], SCALE)
    with pytest.raises(ValueError, match="4 rows and 4 columns"):
        CrossTable(SCALE, [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="counts of zero or more"):
        CrossTable((0, 1), [[1, -2], [3, 4]])


# -- ICC --------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_a_lenient_rater_matters_only_where_raters_are_a_sample(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(8, 3)) + np.arange(8)[:, None]
    lenient = scores + np.array([0.0, 0.0, 3.0])
    assert icc(lenient, 3).value == pytest.approx(icc(scores, 3).value)
    before, after = icc(scores, 2).value, icc(lenient, 2).value
    assert before is not None
    assert after is not None
    assert after < before


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3]))
def test_the_mean_of_raters_follows_spearman_and_brown(seed: int, model: Any) -> None:
    scores = np.random.default_rng(seed).normal(size=(9, 4)) + np.arange(9)[:, None]
    single, average = icc(scores, model), icc(scores, model, average=True)
    assert single.value is not None
    assert average.value == pytest.approx(4 * single.value / (1 + 3 * single.value))
    assert average.value is not None
    assert average.low is not None
    assert average.high is not None
    assert average.low < average.value < average.high


def test_incomplete_units_are_left_out_and_counted() -> None:
    scores = np.array([[1, 2.0], [2, 3], [4, 4], [5, np.nan]])
    figure = icc(scores, 3)
    assert (figure.n_units, figure.missing) == (3, 1)
    assert figure.value == icc(scores[:3], 3).value


def test_icc_says_why_it_is_undefined() -> None:
    assert icc([[3, 3], [3, 3]], 1).reason == "Undefined: every rating is 3."
    assert "two raters" in (icc([[1], [2]], 1).reason or "")
    with pytest.raises(ValueError, match="no ICC model 4"):
        icc([[1, 2], [2, 3]], 4)  # type: ignore[arg-type]
    exact = icc([[1, 1], [2, 2]], 3)
    assert exact.value == pytest.approx(1.0)
    assert exact.low is None
    assert "No interval" in (exact.warning or "")

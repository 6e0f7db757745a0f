"""Percent agreement and prevalence."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.agreement import Histogram, percent_agreement, prevalence


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), min_size=1, max_size=10))
def test_it_is_the_mean_share_of_equal_pairs(units: list[list[int]]) -> None:
    labels = [(u, r, float(v)) for u, values in enumerate(units) for r, v in enumerate(values)]
    figure = percent_agreement(Histogram.from_labels(labels, (0, 1, 2)))
    shares = [
        sum(a == b for a, b in itertools.combinations(values, 2)) / (len(values) * (len(values) - 1) / 2)
        for values in units
        if len(values) > 1
    ]
    if not shares:
        assert figure.reason == "Undefined: no unit has two labels, so there is nothing to compare."
    else:
        assert figure.value == pytest.approx(sum(shares) / len(shares))
        assert figure.n_units == len(shares)


def test_it_is_defined_where_alpha_is_not() -> None:
    figure = percent_agreement(Histogram((1, 2, 3), {(0, 0, 3): 4}))
    assert figure.value == 1.0


def test_the_interval_stays_within_the_range() -> None:
    figure = percent_agreement(Histogram(("no", "yes"), {(3, 0): 20, (2, 1): 1}))
    assert figure.high == 1.0
    assert figure.low is not None
    assert 0.9 < figure.low < 1.0


def test_prevalence_counts_all_labels() -> None:
    histogram = Histogram(("no", "yes"), {(3, 0): 1, (1, 1): 2, (0, 1): 3})
    assert prevalence(histogram) == {"no": 0.5, "yes": 0.5}
    assert prevalence(Histogram(("no", "yes"))) == {}

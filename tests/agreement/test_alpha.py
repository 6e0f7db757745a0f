"""Alpha against the reference package, against itself, and where it is undefined."""

from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from judging.agreement import LEVELS, Histogram, Label, Level, alpha, alpha_counts
from judging.agreement.alpha import alpha_statistic


def reference(data: np.ndarray[Any, Any], level: Level) -> float | None:
    """The reference value, None where the package says that there is none."""
    try:
        with np.errstate(all="ignore"):
            value = float(krippendorff.alpha(data, level_of_measurement=level))
    except ValueError:
        return None
    return None if np.isnan(value) else value


def random_data(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Reliability data with raters of different skill, gaps, and often units with one label or none."""
    raters, units, values = rng.integers(2, 7), rng.integers(1, 40), rng.integers(1, 9)
    scale = np.sort(rng.choice(np.arange(0, 30) / rng.choice([1.0, 4.0]), size=values, replace=False))
    truth = rng.integers(0, values, units)
    noise = rng.integers(0, values, (raters, units))
    data = scale[np.where(rng.random((raters, units)) < rng.random(), truth, noise)]
    data[rng.random((raters, units)) < rng.random() * 0.8] = np.nan
    return data


@pytest.mark.parametrize("level", LEVELS)
def test_equal_to_the_reference_on_two_thousand_data_sets(level: Level) -> None:
    rng = np.random.default_rng(20)
    defined = 0
    for _ in range(2000):
        data = random_data(rng)
        expected = reference(data, level)
        figure = alpha(Histogram.from_reliability(data), level)
        if expected is None:
            assert figure.reason
        else:
            assert figure.value == pytest.approx(expected, abs=1e-12)
            defined += 1
    assert defined > 1500


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=7),
        elements=st.one_of(st.just(float("nan")), st.sampled_from([0.0, 1.0, 2.0, 3.5, 10.0])),
    ),
    st.sampled_from(LEVELS),
)
def test_equal_to_the_reference_on_found_data(data: np.ndarray[Any, Any], level: Level) -> None:
    expected = reference(data, level)
    figure = alpha(Histogram.from_reliability(data), level)
    if expected is None:
        assert figure.value is None
    else:
        assert figure.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_without_one_unit_equals_counting_again_without_it(level: Level) -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        histogram = Histogram.from_reliability(random_data(rng))
        if alpha(histogram, level).value is None:
            continue
        statistic = alpha_statistic(histogram, level)
        assert statistic.estimate() == pytest.approx(alpha(histogram, level).value, abs=1e-12)
        pairable = [pattern for pattern in histogram.patterns if sum(pattern) >= 2]
        for pattern, value in zip(pairable, statistic.leave_one_out().tolist(), strict=True):
            without = Histogram(histogram.domain, histogram.patterns)
            without.add(pattern, -1)
            expected = alpha(without, level).value
            if expected is None:
                assert np.isnan(value)
            else:
                assert value == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("level", LEVELS)
def test_reweighting_equals_counting_again(level: Level) -> None:
    rng = np.random.default_rng(6)
    histogram = Histogram.from_counts(rng.multinomial(3, [0.4, 0.1, 0.3, 0.2], size=50), (0, 1, 2, 5))
    statistic = alpha_statistic(histogram, level)
    patterns = list(histogram.patterns)
    weights = rng.integers(0, 6, (20, len(patterns)))
    for row, value in zip(weights.tolist(), statistic.reweighted(weights.astype(float)).tolist(), strict=True):
        again = Histogram(histogram.domain, dict(zip(patterns, row, strict=True)))
        assert value == pytest.approx(alpha(again, level).value, abs=1e-12)


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=2, max_size=12))
def test_alpha_stays_below_one_and_is_one_only_for_perfect_agreement(counts: list[list[int]]) -> None:
    figure = alpha_counts(counts, "nominal")
    if figure.value is None:
        return
    perfect = all(sum(1 for count in unit if count) == 1 for unit in counts if sum(unit) >= 2)
    assert figure.value <= 1.0
    assert (figure.value == 1.0) == perfect


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=2, max_size=12),
    st.floats(0.5, 9.0),
)
def test_interval_alpha_ignores_the_unit_of_measurement(counts: list[list[int]], factor: float) -> None:
    plain = alpha_counts(counts, "interval", (1, 2, 5))
    scaled = alpha_counts(counts, "interval", (1 * factor, 2 * factor, 5 * factor))
    assert scaled.reason is not None if plain.value is None else scaled.value == pytest.approx(plain.value, abs=1e-9)


def test_values_nobody_used_change_nothing() -> None:
    labels = [Label(u, r, float((u * u + r) % 3)) for u in range(9) for r in range(3)]
    narrow, wide = Histogram.from_labels(labels), Histogram.from_labels(labels, range(-2, 9))
    for level in ("nominal", "ordinal", "interval"):
        assert alpha(narrow, level).value == alpha(wide, level).value


def test_words_in_order_are_an_ordinal_scale() -> None:
    counts = [[2, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 2], [0, 2, 0]]
    words = alpha_counts(counts, "ordinal", ("loss", "tie", "win"))
    assert words.value == alpha_counts(counts, "ordinal", (-1, 0, 1)).value


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([[0, 0, 3], [0, 0, 2]], "Undefined: every rating is 3."),
        ([[0, 0, 3], [1, 0, 0]], "Undefined: every rating is 3."),
        ([[0, 0, 1], [1, 0, 0]], "Undefined: no unit has two labels, so there is nothing to compare."),
        (np.zeros((0, 3)), "Undefined: there are no labels."),
    ],
)
def test_undefined_says_why(counts: Any, reason: str, level: Level) -> None:
    figure = alpha_counts(counts, level, (1, 2, 3))
    assert figure.value is None
    assert figure.reason == reason


def test_numbers_beside_the_value() -> None:
    figure = alpha_counts([[2, 0], [1, 1], [1, 0], [0, 0], [0, 3]], "nominal", ("no", "yes"))
    assert (figure.n_units, figure.n_labels, figure.missing) == (3, 7, 2)


@pytest.mark.parametrize(
    ("level", "domain", "sentence"),
    [
        ("metric", (1, 2), "no level 'metric'; choose one of nominal, ordinal, interval, ratio"),
        ("interval", ("a", "b"), "interval level needs numbers, and the values are a, b"),
        ("ratio", (-1, 2), "zero or more, and -1 is less"),
    ],
)
def test_levels_that_do_not_fit_are_refused(level: Any, domain: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        alpha_counts([[1, 1]], level, domain)


@pytest.mark.parametrize("factor", [10**12, 10**17])
def test_huge_weights_stay_exact(factor: int) -> None:
    few = Histogram(("no", "yes"), {(2, 1): 1, (3, 0): 2, (0, 3): 1})
    many = Histogram(("no", "yes"), {pattern: units * factor for pattern, units in few.patterns.items()})
    limit = 1.0 - (2 / 12) / (2 * 8 * 4 / 144)
    assert alpha(many, "nominal").value == pytest.approx(limit, abs=1e-11)

"""Intervals: the same for every order of arrival, close to each other, and honest about their limits."""

import random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from judging.agreement import METHODS, Figure, Histogram, Label, Method, alpha, alpha_with_interval, with_interval
from judging.agreement.alpha import alpha_statistic
from judging.agreement.intervals import jackknife_error, replicated
from judging.agreement.resampling import Totals

SCALE = (1, 2, 3, 4, 5)


def noisy_labels(units: int, seed: int = 0, raters: int = 3) -> list[Label]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, units)
    shift = rng.integers(-1, 2, (units, raters))
    return [Label(u, r, float(np.clip(truth[u] + shift[u, r], 1, 5))) for u in range(units) for r in range(raters)]


@pytest.mark.parametrize("method", METHODS)
def test_one_seed_gives_one_interval_in_any_order(method: Method) -> None:
    labels = noisy_labels(60)
    first = alpha_with_interval(Histogram.from_labels(labels, SCALE), "ordinal", method)
    random.Random(4).shuffle(labels)
    assert alpha_with_interval(Histogram.from_labels(labels, SCALE), "ordinal", method) == first
    assert first.low is not None
    assert first.high is not None
    assert first.value is not None
    assert first.low < first.value < first.high <= 1.0
    assert first.level == 0.95
    assert first.method
    assert first.seed == (None if method == "jackknife" else 42)


def test_the_seed_is_used() -> None:
    histogram = Histogram.from_labels(noisy_labels(60), SCALE)
    assert alpha_with_interval(histogram, "ordinal", "bca", seed=1) != alpha_with_interval(
        histogram, "ordinal", "bca", seed=2
    )


def test_the_jackknife_error_is_the_textbook_one() -> None:
    """Delete every unit in turn, without the grouping."""
    labels = noisy_labels(25, seed=3)
    values = []
    for left_out in range(25):
        kept = [label for label in labels if label.unit != left_out]
        value = alpha(Histogram.from_labels(kept, SCALE), "interval").value
        assert value is not None
        values.append(value)
    expected = np.sqrt(24 / 25 * np.sum((np.array(values) - np.mean(values)) ** 2))
    statistic = alpha_statistic(Histogram.from_labels(labels, SCALE), "interval")
    assert jackknife_error(statistic) == pytest.approx(expected, rel=1e-9)


def test_multinomial_draws_are_a_bootstrap_of_units() -> None:
    """Mean and spread of the replicates equal those of resampling rows of the reliability data."""
    labels = noisy_labels(40, seed=8)
    histogram = Histogram.from_labels(labels, SCALE)
    data = np.array([[label.value for label in labels if label.rater == r] for r in range(3)], dtype=float)
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(1500):
        value = alpha(Histogram.from_reliability(data[:, rng.integers(0, 40, 40)], SCALE), "ordinal").value
        assert value is not None
        rows.append(value)
    drawn = replicated(alpha_statistic(histogram, "ordinal"), 4000, 7)
    assert np.mean(drawn) == pytest.approx(np.mean(rows), abs=4 * np.std(rows) / np.sqrt(1500))
    assert np.std(drawn) == pytest.approx(np.std(rows), rel=0.08)


def test_chunks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    statistic = alpha_statistic(Histogram.from_labels(noisy_labels(30), SCALE), "nominal")
    whole = replicated(statistic, 100, 42)
    monkeypatch.setattr("judging.agreement.intervals.DRAWN_AT_ONCE", 7 * statistic.units.size)
    assert replicated(statistic, 100, 42) == pytest.approx(whole, abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_on_many_units(method: Method) -> None:
    figure = alpha_with_interval(Histogram.from_labels(noisy_labels(2000), SCALE), "interval", method)
    exact = alpha_with_interval(Histogram.from_labels(noisy_labels(2000), SCALE), "interval", "jackknife")
    assert figure.low == pytest.approx(exact.low, abs=0.003)
    assert figure.high == pytest.approx(exact.high, abs=0.003)


@pytest.mark.parametrize("method", METHODS)
def test_the_interval_covers_the_truth(method: Method) -> None:
    """95 % intervals of 200 small samples cover the alpha of the population about 95 % of the time."""
    rng = np.random.default_rng(11)
    model = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    population: dict[tuple[int, ...], float] = {}
    for truth in range(4):
        for a, b, c in np.ndindex(4, 4, 4):
            pattern = tuple(np.bincount([a, b, c], minlength=4).tolist())
            share = model[truth, a] * model[truth, b] * model[truth, c] / 4
            population[pattern] = population.get(pattern, 0.0) + share
    patterns, shares = list(population), np.array(list(population.values()))
    shares = shares / shares.sum()
    big = Histogram((0, 1, 2, 3), dict(zip(patterns, np.round(shares * 10**9).astype(int).tolist(), strict=True)))
    true = alpha(big, "nominal").value
    assert true is not None
    covered = 0
    for _ in range(200):
        drawn = rng.multinomial(50, shares).tolist()
        sample = Histogram(big.domain, dict(zip(patterns, drawn, strict=True)))
        figure = alpha_with_interval(sample, "nominal", method, replicates=400)
        assert figure.low is not None
        assert figure.high is not None
        covered += figure.low <= true <= figure.high
    assert 0.90 <= covered / 200 <= 0.99


def test_bca_equals_scipy_on_a_skewed_mean() -> None:
    """The correction moves both limits of the mean of skewed numbers up, as scipy's own BCa does."""
    numbers = np.round(np.random.default_rng(2).lognormal(0, 1, 60), 1)
    values, units = np.unique(numbers, return_counts=True)
    statistic = Totals(
        np.column_stack([values, np.ones_like(values)]), units, lambda totals: totals[:, 0] / totals[:, 1]
    )
    figure = Figure(name="mean", value=statistic.estimate())
    known = stats.bootstrap((numbers,), np.mean, n_resamples=40_000, method="BCa", rng=1).confidence_interval
    found = with_interval(figure, statistic, method="bca", replicates=40_000)
    plain = with_interval(figure, statistic, method="percentile", replicates=40_000)
    assert found.low is not None
    assert found.high is not None
    assert plain.high is not None
    assert found.low == pytest.approx(known.low, abs=0.02)
    assert found.high == pytest.approx(known.high, abs=0.03)
    assert found.high > plain.high + 0.05


def skewed(units: int) -> Figure:
    return alpha_with_interval(Histogram(("no", "yes"), {(3, 0): units - 6, (2, 1): 4, (0, 3): 2}), "nominal")


def test_skewed_categories_on_few_units_are_warned_about() -> None:
    assert "97% of the labels" in (skewed(99).warning or "")
    assert skewed(100).warning is None
    balanced = Histogram(("no", "yes"), {(3, 0): 20, (2, 1): 5, (0, 3): 15})
    assert alpha_with_interval(balanced, "nominal").warning is None


@pytest.mark.parametrize("method", METHODS)
def test_perfect_agreement_has_no_width_and_says_so(method: Method) -> None:
    figure = alpha_with_interval(Histogram(SCALE, {(3, 0, 0, 0, 0): 200, (0, 0, 3, 0, 0): 150}), "ordinal", method)
    assert (figure.value, figure.low, figure.high) == (1.0, 1.0, 1.0)
    assert "no width" in (figure.warning or "")


@pytest.mark.parametrize(
    ("patterns", "sentence"),
    [({(1, 2): 1}, "only one unit"), ({(3, 0): 5, (1, 2): 1}, "hangs on a single unit")],
)
def test_no_interval_says_why(patterns: dict[tuple[int, ...], int], sentence: str) -> None:
    figure = alpha_with_interval(Histogram(("no", "yes"), patterns), "nominal")
    assert figure.value is not None
    assert figure.low is None
    assert sentence in (figure.warning or "")


def test_resamples_without_variation_are_counted() -> None:
    histogram = Histogram(("no", "yes"), {(2, 0): 4, (1, 1): 1, (0, 2): 1})
    figure = alpha_with_interval(histogram, "nominal", "percentile")
    assert "of 1000 resamples had no variation" in (figure.warning or "")


def test_an_undefined_figure_gets_no_interval() -> None:
    figure = alpha_with_interval(Histogram(("no", "yes"), {(3, 0): 5}), "nominal")
    assert figure.reason == "Undefined: every rating is no."
    assert figure.low is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"method": "wald"}, "no interval 'wald'"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"method": "bca", "replicates": 1}, "at least 2 replicates"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        alpha_with_interval(Histogram(("no", "yes"), {(1, 2): 3, (3, 0): 2}), "nominal", **arguments)


def test_a_figure_is_either_a_value_or_a_reason() -> None:
    with pytest.raises(ValueError, match="either a value or a reason"):
        Figure(name="x")
    with pytest.raises(ValueError, match="not a finite number"):
        Figure(name="x", value=float("nan"))
    with pytest.raises(ValueError, match="two limits"):
        Figure(name="x", value=1.0, low=0.5)
    assert Figure(name="x", reason="Undefined: nothing.").as_dict()["value"] is None

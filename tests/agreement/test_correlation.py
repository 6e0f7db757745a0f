"""Correlations at three levels, and tests of differences."""

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judging.agreement import Comparison, adjusted, compare, per_instruction, pooled, system_level
from judging.agreement.correlation import coefficient_of
from judging.agreement.grouped import coefficients_within
from judging.agreement.weighted import weighted_coefficient

scores = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=30)


@given(scores, st.sampled_from(["pearson", "spearman", "kendall"]))
def test_pooled_equals_scipy(rows: list[tuple[int, int]], coefficient: Any) -> None:
    x, y = (list(column) for column in zip(*rows, strict=True))
    figure = pooled(x, y, coefficient, replicates=2)
    if len(set(x)) == 1 or len(set(y)) == 1:
        side, value = ("first", x[0]) if len(set(x)) == 1 else ("second", y[0])
        assert figure.reason == f"Undefined: every {side} score is {value}."
        return
    name = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}[coefficient]
    assert figure.value == pytest.approx(getattr(stats, name)(x, y).statistic, abs=1e-12)
    assert figure.n_labels == 2 * len(rows)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 3)), min_size=2, max_size=20),
    st.sampled_from(["pearson", "spearman", "kendall"]),
    st.sampled_from([0, 250_000]),
)
def test_weighted_rows_are_repeated_rows(rows: list[tuple[int, int, int]], coefficient: Any, table: int) -> None:
    x, y, weights = (np.array(column) for column in zip(*rows, strict=True))
    known = coefficient_of(np.repeat(x, weights) * 1.1, np.repeat(y, weights) * 1.1, coefficient)
    if not weights.any():
        return
    with mock.patch("judging.agreement.weighted.LARGEST_TABLE", table):
        found = weighted_coefficient(x * 1.1, y * 1.1, coefficient)(weights)
    if known is None:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(known, abs=1e-9)


def rated(seed: int = 0) -> tuple[Any, Any, list[str], list[str]]:
    """20 instructions x 5 systems: people's scores, a judge's, instruction and system."""
    rng = np.random.default_rng(seed)
    quality, ease = np.arange(5) / 2, rng.normal(size=20)
    people = quality + ease[:, None] + rng.normal(size=(20, 5))
    judge = people + rng.normal(size=(20, 5))
    instructions = [f"i{i:02}" for i in range(20) for _ in range(5)]
    return people.ravel(), judge.ravel(), instructions, ["abcde"[s] for _ in range(20) for s in range(5)]


@pytest.mark.parametrize("coefficient", ["pearson", "spearman"])
@pytest.mark.parametrize("clustered", [False, True])
def test_order_of_arrival_does_not_move_the_interval(clustered: bool, coefficient: Any) -> None:
    x, y, instructions, systems = rated()
    x, y = x * np.logspace(0, 6, 100), y * np.logspace(0, 6, 100)
    order = np.random.default_rng(3).permutation(len(x))
    shuffled = [instructions[place] for place in order]
    first = pooled(x, y, coefficient, instructions if clustered else None)
    second = pooled(x[order], y[order], coefficient, shuffled if clustered else None)
    assert first == second
    assert first.low is not None
    assert first.value is not None
    assert first.high is not None
    assert first.low < first.value < first.high
    assert first.n_units == (20 if clustered else 100)
    level = system_level(x, y, systems, "pearson", instructions)
    again = system_level(x[order], y[order], [systems[place] for place in order], "pearson", shuffled)
    assert level == again
    assert per_instruction(x, y, instructions) == per_instruction(x[order], y[order], shuffled)


def test_resampling_instructions_is_wider_where_rows_hang_together() -> None:
    rng = np.random.default_rng(5)
    ease = np.repeat(rng.normal(size=15), 20)
    x, y = ease + 0.1 * rng.normal(size=300), ease + 0.1 * rng.normal(size=300)
    groups = np.repeat(np.arange(15), 20).tolist()
    rows, clusters = pooled(x, y, "pearson"), pooled(x, y, "pearson", clusters=groups)
    assert rows.low is not None
    assert clusters.low is not None
    assert clusters.low < rows.low


def test_missing_scores_are_left_out_and_counted() -> None:
    figure = pooled([1, 2, 3, np.nan], [1, 2, 4, 4], "pearson", replicates=10)
    assert figure.missing == 1
    assert figure.value == pytest.approx(stats.pearsonr([1, 2, 3], [1, 2, 4]).statistic)


def test_per_instruction_is_the_mean_of_the_coefficients() -> None:
    x, y, instructions, _ = rated()
    y[:5] = 3.0
    figure = per_instruction(x, y, instructions, "kendall")
    known = [stats.kendalltau(x[i : i + 5], y[i : i + 5]).statistic for i in range(5, 100, 5)]
    assert figure.value == pytest.approx(np.mean(known))
    width = stats.t.ppf(0.975, 18) * np.std(known, ddof=1) / np.sqrt(19)
    assert figure.low == pytest.approx(np.mean(known) - width)
    assert (figure.n_units, figure.missing) == (19, 1)
    assert figure.warning == "1 instructions with constant scores were skipped."
    assert per_instruction([1, 1], [1, 2], ["a", "a"]).reason == "Undefined: there is nothing to compare."


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 4)), max_size=30),
    st.sampled_from(["pearson", "spearman", "kendall"]),
    st.sampled_from([1, 50]),
)
def test_groups_taken_together_are_groups_taken_one_by_one(
    rows: list[tuple[int, int, int]], coefficient: Any, most: int
) -> None:
    places = {group: place for place, group in enumerate(sorted({group for group, _, _ in rows}))}
    table = np.array(sorted((places[group], x * 1.1, y * 1.1) for group, x, y in rows)).reshape(-1, 3)
    group, x, y = table[:, 0].astype(int), table[:, 1], table[:, 2]
    with mock.patch("judging.agreement.grouped.MOST_ROWS", most):
        found = coefficients_within(x, y, group, coefficient)
    known = [coefficient_of(x[group == place], y[group == place], coefficient) for place in places.values()]
    assert found.tolist() == pytest.approx(
        [float("nan") if value is None else value for value in known], abs=1e-9, nan_ok=True
    )


def test_systems_with_an_answer_each_take_no_room() -> None:
    rows = 40_000
    x = np.arange(rows, dtype=float)
    systems = [f"s{row}" for row in range(rows)]
    figure = system_level(x, x, systems, "pearson", [f"i{row}" for row in range(rows)], replicates=2)
    assert figure.value == 1.0


def test_system_level_compares_means() -> None:
    x, y, instructions, systems = rated()
    figure = system_level(x, y, systems, "pearson", instructions, replicates=50)
    known = stats.pearsonr(x.reshape(20, 5).mean(axis=0), y.reshape(20, 5).mean(axis=0)).statistic
    assert figure.value == pytest.approx(known)
    assert figure.n_units == 5
    assert figure.low is not None
    assert "No interval" in (system_level(x, y, systems).warning or "")


def test_simpsons_paradox_shows_in_the_levels() -> None:
    """Within each instruction the judge is right, between instructions it is wrong."""
    x = [1, 2, 3, 11, 12, 13]
    y = [11, 12, 13, 1, 2, 3]
    groups = ["a", "a", "a", "b", "b", "b"]
    within, together = per_instruction(x, y, groups).value, pooled(x, y, replicates=10).value
    assert within == pytest.approx(1)
    assert together is not None
    assert together < 0


def test_bad_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="two columns of the same length"):
        pooled([1, 2], [1])
    with pytest.raises(ValueError, match="no coefficient 'phi'; choose one of pearson, spearman, kendall"):
        pooled([1, 2], [1, 2], "phi")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="1 group names for 2 rows"):
        per_instruction([1, 2], [1, 2], ["a"])


# -- tests of differences ---------------------------------------------------------------------------------


def test_signed_rank_pairs_and_rank_sum_does_not() -> None:
    base = np.arange(12) * 10.0
    gain = base + np.linspace(0.1, 0.5, 12)
    paired, unpaired = compare(gain, base, "signed-rank"), compare(gain, base, "rank-sum")
    assert paired.p_value == pytest.approx(2 / 2**12)
    assert unpaired.p_value is not None
    assert unpaired.p_value > 0.7
    assert paired.difference == pytest.approx(0.3)


@given(st.lists(st.integers(0, 4), min_size=9, max_size=15), st.lists(st.integers(0, 4), min_size=9, max_size=15))
def test_rank_sum_is_corrected_for_ties(first: list[int], second: list[int]) -> None:
    found = compare(first, second, "rank-sum")
    values = first + second
    if len(set(values)) == 1:
        assert found.reason == f"Undefined: all values are {first[0]}."
        return
    if len(set(values)) == len(values):
        return
    ranks = stats.rankdata(values)
    n, m = len(first), len(second)
    _, ties = np.unique(values, return_counts=True)
    spread = n * m / 12 * (n + m + 1 - (ties**3 - ties).sum() / ((n + m) * (n + m - 1)))
    gap = abs(ranks[:n].sum() - n * (n + m + 1) / 2)
    assert found.p_value == pytest.approx(min(1.0, 2 * stats.norm.sf((gap - 0.5) / np.sqrt(spread))), abs=1e-9)


def test_benjamini_hochberg_by_hand() -> None:
    shown = [Comparison(name=str(p), test="rank-sum", n_first=9, n_second=9, p_value=p) for p in (0.01, 0.04, 0.03)]
    nothing = compare([1, 1], [1, 1], "signed-rank", name="same")
    found = adjusted([*shown, nothing])
    assert [one.p_adjusted for one in found[:3]] == pytest.approx([0.03, 0.04, 0.04])
    assert found[3].p_adjusted is None
    assert found[3].reason == "Undefined: the two samples are the same."
    assert adjusted([nothing]) == [nothing]


def test_samples_that_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="Paired samples are equally long; these have 2 and 1"):
        compare([1, 2], [1], "signed-rank")
    with pytest.raises(ValueError, match="no test 'sign'"):
        compare([1], [1], "sign")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a finite number"):
        compare([1, np.nan], [1, 2], "rank-sum")
    assert compare([], [1], "rank-sum").reason == "Undefined: a sample is empty."

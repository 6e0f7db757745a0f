"""Majorities, preferences, PLD and accuracy."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.agreement import (
    PREFERENCES,
    CrossTable,
    Histogram,
    accuracy,
    majority,
    majority_preference,
    pld,
    pld_between_people,
    plurality,
    preference_from_mean,
    preference_from_scores,
    round_half_up,
    rounded_mean,
)

preference = st.sampled_from(PREFERENCES)


def distance(first: str, second: str) -> int:
    return abs(PREFERENCES.index(first) - PREFERENCES.index(second))


def test_majorities() -> None:
    assert majority(["a", "b", "a"]) == "a"
    assert majority(["a", "b"]) is None
    assert majority([]) is None
    assert plurality(["a", "b", "c", "a"]) == "a"
    assert plurality(["a", "b", "c"]) is None
    assert plurality([]) is None
    assert majority_preference(["win", "loss", "tie"]) == "tie"
    assert majority_preference(["win", "loss", "win"]) == "win"


@pytest.mark.parametrize(
    ("mean", "expected"),
    [(1, "win"), (2.49, "win"), (2.5, "tie"), (3.5, "tie"), (3.51, "loss"), (5, "loss")],
)
def test_means_of_the_sliding_scale(mean: float, expected: str) -> None:
    assert preference_from_mean(mean) == expected


@pytest.mark.parametrize("mean", [0.9, 5.1, float("nan")])
def test_means_off_the_sliding_scale(mean: float) -> None:
    with pytest.raises(ValueError, match="not a mean of preferences"):
        preference_from_mean(mean)


def test_scores_imply_preferences() -> None:
    assert preference_from_scores(0.5, 0.5) == "tie"
    assert preference_from_scores(0.6, 0.5) == "win"
    assert preference_from_scores(0.55, 0.5, margin=0.1) == "tie"
    assert preference_from_scores(2, 3, margin=0.1) == "loss"


@pytest.mark.parametrize("first", [1.3, 2.3, 3.3, 4.3, 8.3, 0.3])
def test_a_margin_of_a_tenth_is_reached_by_a_tenth(first: float) -> None:
    assert preference_from_scores(first, first - 0.1, 0.1) == "win"
    assert preference_from_scores(round(first - 0.1, 1), first, 0.1) == "loss"
    assert preference_from_scores(first, first - 0.09, 0.1) == "tie"


def test_halves_round_up() -> None:
    assert [round_half_up(value) for value in (0.5, 1.5, 2.5, 2.49, -0.5)] == [1, 2, 3, 2, 0]
    assert rounded_mean([3, 4]) == 4
    assert rounded_mean([1, 2, 4]) == 2


@given(st.lists(st.tuples(preference, st.one_of(st.none(), preference)), min_size=1, max_size=30))
def test_pld_counts_distances(pairs: list[tuple[str, str | None]]) -> None:
    found = pld(CrossTable.from_pairs(pairs, PREFERENCES))
    distances = [distance(first, second) for first, second in pairs if second is not None]
    if not distances:
        assert found.wpld.reason == "Undefined: there is nothing to compare."
        return
    assert found.wpld.value == pytest.approx(sum(distances) / len(distances))
    for gap, figure in enumerate(found[:3]):
        assert figure.value == pytest.approx(distances.count(gap) / len(distances))
        assert figure.missing == len(pairs) - len(distances)


def test_the_missing_policy_of_pld_is_visible() -> None:
    pairs: list[tuple[str, str | None]] = [("win", "win"), ("win", None), ("tie", None), ("loss", None)]
    table = CrossTable.from_pairs(pairs, PREFERENCES)
    assert pld(table).wpld.value == 0
    assert pld(table).wpld.warning is not None
    assert "3 missing answers were left out." in (pld(table).wpld.warning or "")
    assert pld(table, "half").wpld.value == pytest.approx(2 / 4)
    assert pld(table, "no").wpld.value == pytest.approx(5 / 4)
    with pytest.raises(ValueError, match="no missing policy 'zero'"):
        pld(table, "zero")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Preferences are loss, tie, win"):
        pld(CrossTable(("a", "b"), [[1, 0], [0, 1]]))


@given(st.lists(st.lists(preference, min_size=1, max_size=4), min_size=1, max_size=12))
def test_pld_between_people_counts_all_pairs(units: list[list[str]]) -> None:
    labels = [(u, r, value) for u, values in enumerate(units) for r, value in enumerate(values)]
    found = pld_between_people(Histogram.from_labels(labels, PREFERENCES))
    distances = [distance(a, b) for values in units for a, b in itertools.combinations(values, 2)]
    if not distances:
        assert found.wpld.value is None
        return
    assert found.wpld.value == pytest.approx(sum(distances) / len(distances))
    assert found.pld2.value == pytest.approx(distances.count(2) / len(distances))


def test_intervals_of_pld_stay_in_range() -> None:
    found = pld(CrossTable(PREFERENCES, [[9, 1, 0], [0, 3, 1], [1, 0, 7]]))
    for figure, highest in zip(found, (1, 1, 1, 2), strict=True):
        assert figure.value is not None
        assert figure.low is not None
        assert figure.high is not None
        assert 0 <= figure.low <= figure.value <= figure.high <= highest


def test_accuracy_gives_half_for_a_tie() -> None:
    pairs: list[tuple[Any, Any]] = [("win", "win"), ("win", "tie"), ("loss", "win"), ("loss", None)]
    table = CrossTable.from_pairs(pairs, PREFERENCES)
    assert accuracy(table).value == pytest.approx(1.5 / 3)
    assert accuracy(table, "half").value == pytest.approx(2 / 4)
    assert accuracy(table, "no").value == pytest.approx(1.5 / 4)
    assert accuracy(table, tie_credit=0).value == pytest.approx(1 / 3)
    assert accuracy(table).warning == "1 missing answer was left out."
    with pytest.raises(ValueError, match="between 0 and 1"):
        accuracy(table, tie_credit=2)


def test_accuracy_of_yes_and_no() -> None:
    pairs: list[tuple[Any, Any]] = [("yes", "yes"), ("no", "yes"), ("no", None)]
    table = CrossTable.from_pairs(pairs, ("no", "yes"))
    assert accuracy(table).value == pytest.approx(1 / 2)
    assert accuracy(table, "half").value == pytest.approx(1.5 / 3)
    empty = CrossTable(("no", "yes"), [[0, 0], [0, 0]])
    assert accuracy(empty).reason == "Undefined: there is nothing to compare."

"""The histogram: exact under any history, strict about what it counts."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.agreement import Histogram, Label

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)


def test_labels_become_patterns_and_single_ratings_stay() -> None:
    histogram = Histogram.from_labels(
        [
            Label("a", "ann", 1),
            Label("a", "bob", 3),
            Label("b", "ann", 3),
            Label("c", "ann", 1),
            Label("c", "bob", 3),
        ],
        SCALE,
    )
    assert histogram.patterns == {(0, 0, 1, 0, 0): 1, (1, 0, 1, 0, 0): 2}
    assert (histogram.n_units, histogram.n_labels, histogram.missing) == (2, 4, 1)
    assert histogram.used() == [1.0, 3.0]


def test_the_domain_can_be_read_from_the_labels() -> None:
    labels = [Label(1, "x", "win"), Label(1, "y", "loss"), Label(2, "x", "tie")]
    assert Histogram.from_labels(labels).domain == ("loss", "tie", "win")


def test_three_constructors_agree() -> None:
    data = np.array([[1, 2, 2, np.nan], [1, 3, np.nan, np.nan], [1, 3, 2, 5]])
    labels = [Label(unit, rater, float(value)) for (rater, unit), value in np.ndenumerate(data) if not np.isnan(value)]
    counts = [[3, 0, 0, 0, 0], [0, 1, 2, 0, 0], [0, 2, 0, 0, 0], [0, 0, 0, 0, 1]]
    expected = Histogram.from_counts(counts, SCALE)
    assert Histogram.from_labels(labels, SCALE) == expected
    assert Histogram.from_reliability(data, SCALE) == expected


def test_wide_counts_are_grouped_like_narrow_ones() -> None:
    # 30 values and counts up to 9: a row no longer fits one 64-bit number.
    counts = np.random.default_rng(3).integers(0, 10, (20, 30))
    doubled = Histogram.from_counts(np.vstack([counts, counts]))
    assert doubled.patterns == {tuple(row): 2 for row in sorted(counts.tolist())}


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([Label("u7", "ann", 6)], "The value 6 of unit u7 by rater ann is not one of 1, 2, 3, 4, 5."),
        ([Label("u7", "ann", "3")], "The value 3 of unit u7 by rater ann is not one of 1, 2, 3, 4, 5."),
        ([Label("u7", "ann", float("nan"))], "The value nan of unit u7 by rater ann"),
        ([Label("u7", "ann", 2), Label("u7", "ann", 3)], "Rater ann labels unit u7 twice"),
    ],
)
def test_bad_labels_are_named(labels: list[Label], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Histogram.from_labels(labels, SCALE)


def test_reliability_data_off_the_scale_is_named() -> None:
    with pytest.raises(ValueError, match="The value 7 is not one of 1, 2, 3, 4, 5"):
        Histogram.from_reliability([[1, 7], [1, 2]], SCALE)


@pytest.mark.parametrize(
    ("domain", "sentence"),
    [
        ((1, 2, 2), "stands twice"),
        ((2, 1), "not in ascending order"),
        ((1, "a"), "mixes numbers and words"),
        ((1, float("inf")), "finite"),
    ],
)
def test_bad_domains_are_refused(domain: tuple[float | str, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Histogram(domain)


@pytest.mark.parametrize("counts", [[[1.5, 0]], [[-1, 2]], [1, 2], [[1, 2, 3]]])
def test_bad_counts_are_refused(counts: Any) -> None:
    with pytest.raises(ValueError, match=r"[Cc]ounts|columns"):
        Histogram.from_counts(counts, ("no", "yes"))


def test_a_unit_that_is_not_there_cannot_leave() -> None:
    histogram = Histogram(("no", "yes"), {(1, 1): 1})
    with pytest.raises(ValueError, match="only 0 units"):
        histogram.move((2, 0), (1, 1))
    with pytest.raises(ValueError, match="not a pattern"):
        histogram.add((1, 1, 1))
    assert histogram.patterns == {(1, 1): 1}


def test_merging_adds_units_and_needs_one_domain() -> None:
    left = Histogram(("no", "yes"), {(1, 1): 1, (2, 0): 4})
    right = Histogram(("no", "yes"), {(1, 1): 2})
    assert left.merged(right).patterns == {(1, 1): 3, (2, 0): 4}
    assert left.patterns[(1, 1)] == 1
    with pytest.raises(ValueError, match="same values"):
        left.merged(Histogram(("yes", "no")))


Event = tuple[int, int, int | None]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.one_of(st.none(), st.integers(0, 2))), max_size=80))
def test_moving_units_equals_counting_again(events: list[Event]) -> None:
    """Submissions, corrections and withdrawals in any order leave the histogram of the labels that remain."""
    live = Histogram((0.0, 1.0, 2.0))
    held: dict[tuple[int, int], int] = {}

    def pattern(unit: int) -> tuple[int, ...] | None:
        values = [value for (owner, _), value in held.items() if owner == unit]
        return tuple(values.count(v) for v in (0, 1, 2)) if values else None

    for unit, rater, value in events:
        old = pattern(unit)
        if value is None:
            held.pop((unit, rater), None)
        else:
            held[unit, rater] = value
        live.move(old, pattern(unit))
        live.pairable()
    again = Histogram.from_labels([(u, r, float(v)) for (u, r), v in held.items()], live.domain)
    assert live == again
    assert live.pairable().units.tolist() == again.pairable().units.tolist()
    assert live.n_labels == again.n_labels


@given(st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(shuffle: random.Random) -> None:
    labels = [Label(u, r, float((u * 7 + r * 3) % 4)) for u in range(12) for r in range(3)]
    table = Histogram.from_labels(labels, (0, 1, 2, 3)).table()
    shuffle.shuffle(labels)
    shuffled = Histogram.from_labels(labels, (0, 1, 2, 3)).table()
    assert [array.tolist() for array in table] == [array.tolist() for array in shuffled]

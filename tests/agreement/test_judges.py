"""Direct scores, order effects, stability and ablation."""

import subprocess
import sys
from pathlib import Path

import pytest

from judging.agreement import (
    DIRECT_MARGIN,
    Histogram,
    alpha,
    changed_with_order,
    checklist_effect,
    direct_agreement,
    item_effect,
    stability,
)


def test_direct_agreement_rounds_means_half_up() -> None:
    units = [([3, 4], [4]), ([1, 1, 2], [1, 2, 1]), ([5], [4, 5]), ([2, 3], [2]), ([2], [])]
    expected = alpha(Histogram.from_reliability([[4, 1, 5, 3], [4, 1, 5, 2]]), "ordinal")
    figure = direct_agreement(units)
    assert figure.value == pytest.approx(expected.value)
    assert (figure.n_units, figure.missing) == (4, 1)
    assert figure.low is not None


def test_changes_with_the_order() -> None:
    figure = changed_with_order([("1", "1"), ("1", "2"), ("2", "2"), ("2", "2"), (None, "1")])
    assert figure.value == pytest.approx(0.25)
    assert (figure.n_units, figure.missing) == (4, 1)
    assert changed_with_order([]).reason == "Undefined: there is nothing to compare."


def test_stability_takes_the_population_variance() -> None:
    assert stability([0.4, 0.6]) == pytest.approx((0.5, 0.01, 2))
    with pytest.raises(ValueError, match="at least one judge"):
        stability([])


@pytest.mark.parametrize(
    ("without", "with_all", "effect"),
    [(2.0, 3.5, "positive"), (3.5, 2.0, "negative"), (3.0, 3.5, "neutral"), (5.5, 4.0, "positive")],
)
def test_a_checklist_helps_where_it_brings_the_judge_nearer(without: float, with_all: float, effect: str) -> None:
    assert checklist_effect(4.0, without, with_all, DIRECT_MARGIN) == effect


@pytest.mark.parametrize("without", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
def test_margins_are_reached_whatever_decimals_hold(without: float) -> None:
    gold = 1.0
    assert checklist_effect(gold, without, round(without + 0.3, 1), 0.3) == "positive"
    assert checklist_effect(gold, round(without + 0.3, 1), without, 0.3) == "negative"
    assert item_effect(2.0, 2.0 + without, 2.0 - without) == "neutral"


def test_an_item_helps_where_the_judge_is_worse_without_it() -> None:
    assert item_effect(4.0, 4.0, 3.0) == "positive"
    assert item_effect(4.0, 3.0, 4.0) == "negative"
    assert item_effect(4.0, 3.0, 5.0) == "neutral"


def test_the_library_imports_nothing_of_django() -> None:
    root = Path(__file__).resolve().parents[2]
    script = "import sys, judging.agreement; print([name for name in sys.modules if name.startswith('django')])"
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

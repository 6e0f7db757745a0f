"""People and a judge: ceiling, alternative annotator test, replacement effect, paired differences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judging.agreement import (
    CrossTable,
    Histogram,
    JointHistogram,
    Label,
    alpha,
    alpha_difference,
    alternative_annotator_test,
    leave_one_out_ceiling,
    majority,
    panel_of,
    replacement_effect,
)

PEOPLE = ("ann", "bob", "cat")


def crowd(units: int = 60, skill: float = 0.8, judge_skill: float = 0.8, seed: int = 0) -> list[Label]:
    """Three people and a judge who find the true one of three values with their skill."""
    rng = np.random.default_rng(seed)
    labels = []
    for unit in range(units):
        truth = int(rng.integers(1, 4))
        for rater in (*PEOPLE, "judge"):
            right = rng.random() < (judge_skill if rater == "judge" else skill)
            labels.append(Label(unit, rater, float(truth if right else rng.integers(1, 4))))
    return labels


def test_panels_sort_people_from_the_judge() -> None:
    panel = panel_of([Label(2, "bob", "a"), Label(1, "judge", "b"), Label(1, "ann", "a")], "judge")
    assert (panel.units, panel.people, panel.domain) == ([1, 2], ["ann", "bob"], ("a", "b"))
    assert panel.places.tolist() == [[0, -1], [-1, 0]]
    assert panel.judge.tolist() == [1, -1]
    assert panel.shared.units == []


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([Label(1, "ann", 1)], "no label by the judge judge"),
        ([Label(1, "judge", 1)], "there are no people to compare with"),
        ([Label(1, "judge", 1), Label(1, "ann", 1), Label(1, "ann", 2)], "Rater ann labels unit 1 twice"),
    ],
)
def test_panels_that_cannot_be(labels: list[Label], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        panel_of(labels, "judge")


def test_the_ceiling_compares_both_with_the_same_others() -> None:
    rows = {"ann": "aab", "bob": "aaa", "cat": "abb", "judge": "aba"}
    labels = [Label(unit, rater, value) for rater, values in rows.items() for unit, value in enumerate(values)]
    found = {row.person: row for row in leave_one_out_ceiling(panel_of(labels, "judge"))}
    # Without ann, only the first unit has a single most frequent value: bob and cat differ on the others.
    assert (found["ann"].of_person.value, found["ann"].of_judge.value) == (1.0, 1.0)
    assert (found["ann"].of_person.n_units, found["ann"].of_person.missing) == (1, 2)
    assert (found["cat"].of_person.value, found["cat"].of_judge.value) == (0.5, 0.5)


@pytest.mark.parametrize("measure", ["rmse", "pearson", "spearman", "kendall"])
def test_the_ceiling_of_scores(measure: Any) -> None:
    panel = panel_of(crowd(), "judge")
    people, judge = panel.numbers()
    row = leave_one_out_ceiling(panel, measure)[0]
    middle = people[:, 1:].mean(axis=1)

    def known(x: Any) -> float:
        if measure == "rmse":
            return float(np.sqrt(np.mean((x - middle) ** 2)))
        name = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}[measure]
        return float(getattr(stats, name)(x, middle).statistic)

    assert row.of_person.value == pytest.approx(known(people[:, 0]))
    assert row.of_judge.value == pytest.approx(known(judge))


def test_the_ceiling_needs_numbers_for_scores() -> None:
    panel = panel_of([Label(1, "judge", "a"), Label(1, "ann", "b")], "judge")
    with pytest.raises(ValueError, match="labels are words"):
        leave_one_out_ceiling(panel, "rmse")
    with pytest.raises(ValueError, match="no measure 'f1'"):
        leave_one_out_ceiling(panel, "f1")  # type: ignore[arg-type]
    assert leave_one_out_ceiling(panel)[0].of_judge.reason == "Undefined: there is no common unit."


# -- alternative annotator test ---------------------------------------------------------------------------


def by_the_book(labels: list[Label], epsilon: float, level: str) -> tuple[float, float, list[float]]:
    """The test of the paper, unit by unit and person by person."""
    table: dict[Any, dict[Any, float]] = {}
    for unit, rater, value in labels:
        table.setdefault(unit, {})[rater] = float(value)

    def score(value: float, others: list[float]) -> float:
        if level == "nominal":
            return sum(value == other for other in others) / len(others)
        return -float(np.sqrt(sum((value - other) ** 2 for other in others) / len(others)))

    p_values, advantages = [], []
    for person in PEOPLE:
        judge_wins, person_wins = [], []
        for row in table.values():
            others = [value for rater, value in row.items() if rater not in ("judge", person)]
            if person in row and "judge" in row and others:
                judge, own = score(row["judge"], others), score(row[person], others)
                judge_wins.append(float(judge >= own))
                person_wins.append(float(own >= judge))
        gaps = np.array(person_wins) - np.array(judge_wins)
        if len(gaps) >= 30:
            p_values.append(float(stats.ttest_1samp(gaps, epsilon, alternative="less").pvalue))
        else:
            p_values.append(float(stats.wilcoxon(gaps - epsilon, alternative="less").pvalue))
        advantages.append(float(np.mean(judge_wins)))
    order = np.argsort(p_values)
    harmonic = sum(1 / rank for rank in range(1, len(PEOPLE) + 1))
    rejected = 0
    for rank, place in enumerate(order, start=1):
        if p_values[place] <= rank * 0.05 / (len(PEOPLE) * harmonic):
            rejected = rank
    return rejected / len(PEOPLE), float(np.mean(advantages)), p_values


@pytest.mark.parametrize("level", ["nominal", "interval"])
@pytest.mark.parametrize("judge_skill", [0.3, 0.7, 0.8, 0.95])
@pytest.mark.parametrize("units", [24, 80])
def test_the_alternative_annotator_test_by_the_book(level: Any, judge_skill: float, units: int) -> None:
    labels = crowd(units, judge_skill=judge_skill, seed=units)
    labels = [label for place, label in enumerate(labels) if place % 11]
    found = alternative_annotator_test(panel_of(labels, "judge"), 0.15, level)
    rate, advantage, p_values = by_the_book(labels, 0.15, level)
    assert found.winning_rate.value == pytest.approx(rate)
    assert found.advantage.value == pytest.approx(advantage)
    assert [one.p_value for one in found.people] == pytest.approx(p_values)
    assert found.passed == (rate >= 0.5)
    assert ("only" in (found.winning_rate.warning or "")) == (units == 24)


def test_a_good_judge_passes_and_a_bad_one_does_not() -> None:
    good = alternative_annotator_test(panel_of(crowd(200, judge_skill=0.95), "judge"), 0.1)
    bad = alternative_annotator_test(panel_of(crowd(200, judge_skill=0.2), "judge"), 0.1)
    assert (good.winning_rate.value, good.passed) == (1.0, True)
    assert (bad.winning_rate.value, bad.passed) == (0.0, False)
    assert good.advantage.low is not None
    assert bad.advantage.high is not None
    assert good.advantage.low > bad.advantage.high


def test_a_judge_who_copies_a_person_is_never_worse_than_him() -> None:
    labels = [label for label in crowd(50) if label.rater != "judge"]
    labels += [Label(label.unit, "judge", label.value) for label in labels if label.rater == "ann"]
    found = alternative_annotator_test(panel_of(labels, "judge"), 0.1)
    ann = found.people[0]
    assert (ann.advantage, ann.person_advantage, ann.p_value, ann.won) == (1.0, 1.0, 0.0, True)


def test_equal_errors_on_either_side_are_equal() -> None:
    """1.7 and 2.3 are both 0.3 from 2, though not in floating point."""
    labels = [(unit, "other", 2.0) for unit in range(40)]
    labels += [(unit, "person", 2.3 if unit % 2 else 1.7) for unit in range(40)]
    labels += [(unit, "judge", 1.7 if unit % 2 else 2.3) for unit in range(40)]
    found = alternative_annotator_test(panel_of(labels, "judge"), 0.1, "interval")
    [person] = [one for one in found.people if one.person == "person"]
    assert (person.advantage, person.person_advantage) == (1.0, 1.0)


def test_beating_half_of_the_people_is_enough() -> None:
    """Ann and Bob agree with each other; Cat and Dan, like the judge, with nobody."""
    said = {"ann": 1.0, "bob": 1.0, "cat": 2.0, "dan": 3.0, "judge": 4.0}
    labels = [Label(unit, rater, value) for unit in range(40) for rater, value in said.items()]
    found = alternative_annotator_test(panel_of(labels, "judge"), 0.1)
    assert [one.won for one in found.people] == [False, False, True, True]
    assert (found.winning_rate.value, found.passed) == (0.5, True)


def test_the_test_says_when_there_is_nothing_to_test() -> None:
    panel = panel_of([Label(1, "judge", 1), Label(1, "ann", 1), Label(2, "bob", 1)], "judge")
    found = alternative_annotator_test(panel, 0.1)
    assert found.winning_rate.reason == "Undefined: no unit has labels of the judge and of two people."
    assert found.passed is None
    with pytest.raises(ValueError, match="Epsilon lies between 0 and 1"):
        alternative_annotator_test(panel, 1.5)
    with pytest.raises(ValueError, match="choose nominal or interval"):
        alternative_annotator_test(panel, 0.1, "ordinal")  # type: ignore[arg-type]


# -- replacement and differences --------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_the_replacement_effect_by_hand(level: Any) -> None:
    labels = crowd(40, seed=2)
    figure = replacement_effect(panel_of(labels, "judge"), level)
    people = [label for label in labels if label.rater != "judge"]
    said = {label.unit: label.value for label in labels if label.rater == "judge"}

    def value(rows: list[Label]) -> float:
        found = alpha(Histogram.from_labels(rows, (1, 2, 3)), level).value
        assert found is not None
        return found

    replaced = [value([Label(u, r, said[u] if r == person else v) for u, r, v in people]) for person in PEOPLE]
    assert figure.value == pytest.approx(np.mean(replaced) - value(people), abs=1e-12)
    assert figure.low is not None
    assert figure.high is not None
    assert figure.value is not None
    assert figure.low < figure.value < figure.high
    assert (figure.n_units, figure.n_labels, figure.missing) == (40, 160, 0)


def test_replacing_people_by_a_random_judge_costs_agreement() -> None:
    good = replacement_effect(panel_of(crowd(150, judge_skill=0.97), "judge"), "nominal")
    bad = replacement_effect(panel_of(crowd(150, judge_skill=0.0), "judge"), "nominal", "bca")
    assert good.low is not None
    assert bad.high is not None
    assert good.low > 0 > bad.high


def test_the_replacement_effect_says_why_it_is_undefined() -> None:
    constant = [Label(u, r, 3) for u in range(3) for r in (*PEOPLE, "judge")]
    assert "without variation" in (replacement_effect(panel_of(constant, "judge"), "nominal").reason or "")
    alone = panel_of([Label(1, "judge", 1), Label(1, "ann", 2)], "judge")
    assert "two people" in (replacement_effect(alone, "nominal").reason or "")


@given(st.integers(0, 10**6), st.sampled_from(["nominal", "ordinal", "interval"]))
def test_the_difference_of_two_arms(seed: int, level: Any) -> None:
    left, right = crowd(12, seed=seed), crowd(14, skill=0.5, seed=seed + 1)
    joint = JointHistogram.from_labels(left, right, (1, 2, 3))
    assert joint.left().pairable().units.tolist() == Histogram.from_labels(left, (1, 2, 3)).table().units.tolist()
    first = alpha(Histogram.from_labels(left, (1, 2, 3)), level).value
    second = alpha(Histogram.from_labels(right, (1, 2, 3)), level).value
    figure = alpha_difference(joint, level)
    assert first is not None
    assert second is not None
    assert figure.value == pytest.approx(first - second, abs=1e-12)
    assert figure.n_units == 14


def test_pairing_makes_the_difference_of_like_arms_exact() -> None:
    labels = crowd(30)
    figure = alpha_difference(JointHistogram.from_labels(labels, labels, (1, 2, 3)), "ordinal")
    assert (figure.value, figure.low, figure.high) == (0.0, 0.0, 0.0)


def test_joint_histograms_read_both_sides() -> None:
    people = [Label(1, "ann", "yes"), Label(1, "bob", "yes"), Label(2, "ann", "no"), Label(3, "ann", "no")]
    people += [Label(2, "bob", "yes")]
    judge = [Label(1, "j", "no"), Label(2, "j", "no"), Label(4, "j", "yes")]
    joint = JointHistogram.from_labels(people, judge, ("no", "yes"))
    assert joint.patterns == {
        ((0, 0), (0, 1)): 1,
        ((0, 2), (1, 0)): 1,
        ((1, 0), (0, 0)): 1,
        ((1, 1), (1, 0)): 1,
    }
    assert joint.together() == Histogram(("no", "yes"), {(0, 1): 1, (1, 2): 1, (1, 0): 1, (2, 1): 1})
    table = joint.cross_table(majority)
    assert isinstance(table, CrossTable)
    assert table.cells.tolist() == [[0, 0], [1, 0]]
    assert table.missing.tolist() == [1, 0]
    joint.add((0, 2), (1, 0), -1)
    assert ((0, 2), (1, 0)) not in joint.patterns
    with pytest.raises(ValueError, match="not a pattern"):
        joint.add((1,), (1, 0, 0))
    with pytest.raises(ValueError, match="only 0 units"):
        joint.add((0, 2), (1, 0), -1)

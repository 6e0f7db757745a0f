"""The alternative annotator test: may a judge stand in for a person?

Source: Calderon, Reichart & Dror (2025). For person j and unit i the judge and j are each compared with
the other people who labelled i; W_judge = [S_judge >= S_j] and W_j = [S_j >= S_judge]. The null
hypothesis is that the judge is worse than j by at least epsilon; it is tested for every person and
corrected for testing them all.
"""

from collections.abc import Hashable
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

from judging.agreement.consensus import ROUNDING
from judging.agreement.intervals import Method, with_interval
from judging.agreement.people import Panel, one_hot
from judging.agreement.resampling import FloatArray, Totals
from judging.agreement.result import Figure

SIGNIFICANCE = 0.05
FEWEST_PEOPLE = 3
FEWEST_UNITS = 30
PASSING_RATE = 0.5


class PersonTest(NamedTuple):
    """One person against the judge.

    advantage         share of units on which the judge agrees with the others at least as well as the person
    person_advantage  share of units on which the person agrees with the others at least as well as the judge
    p_value           one-sided; p_adjusted is corrected by Benjamini-Yekutieli over people
    won               the judge beats this person
    """

    person: Hashable
    n_units: int
    advantage: float
    person_advantage: float
    p_value: float
    p_adjusted: float
    won: bool


class AlternativeTest(NamedTuple):
    """winning_rate is the share of people whom the judge beats; passed where it is at least one half."""

    winning_rate: Figure
    advantage: Figure
    passed: bool | None
    people: list[PersonTest]


def alternative_annotator_test(
    panel: Panel,
    epsilon: float,
    level: Literal["nominal", "interval"] = "nominal",
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> AlternativeTest:
    """Test the judge of the panel against each person.

    epsilon  how much worse the judge may be, for his lower price: 0.2 for experts, 0.15 skilled, 0.1 crowd
    level    nominal: share of the others with the same label; interval: negative root mean squared difference

    One-sided t test from 30 units on, Wilcoxon's signed-rank test below. The interval is that of the average
    advantage, over units. Raises ValueError for an epsilon outside of [0, 1) or an unknown level.
    """
    if not 0.0 <= epsilon < 1.0:
        raise ValueError(f"Epsilon lies between 0 and 1, not at {epsilon}.")
    if level not in ("nominal", "interval"):
        raise ValueError(f"There is no level {level!r} in this test; choose nominal or interval.")
    shared = panel.shared
    judge_wins, person_wins = _wins(shared, level)
    tested = [column for column in range(len(panel.people)) if not np.isnan(judge_wins[:, column]).all()]
    counts = {"n_units": len(shared.units), "missing": len(panel.units) - len(shared.units)}
    if not tested:
        reason = "Undefined: no unit has labels of the judge and of two people."
        empty = [Figure(name=name, reason=reason, missing=counts["missing"]) for name in NAMES]
        return AlternativeTest(empty[0], empty[1], None, [])
    p_values = []
    for column in tested:
        difference = person_wins[:, column] - judge_wins[:, column]
        p_values.append(_p_value(difference[~np.isnan(difference)], epsilon))
    adjusted = stats.false_discovery_control(p_values, method="by")
    people = [
        PersonTest(
            person=panel.people[column],
            n_units=int((~np.isnan(judge_wins[:, column])).sum()),
            advantage=float(np.nanmean(judge_wins[:, column])),
            person_advantage=float(np.nanmean(person_wins[:, column])),
            p_value=p_value,
            p_adjusted=float(corrected),
            won=bool(corrected <= SIGNIFICANCE),
        )
        for column, p_value, corrected in zip(tested, p_values, adjusted, strict=True)
    ]
    rate = sum(one.won for one in people) / len(people)
    note = _note(people)
    labels = int((shared.places >= 0).sum()) + len(shared.units)
    figures = [
        Figure(
            name=name, value=value, n_labels=labels, warning=note, n_units=counts["n_units"], missing=counts["missing"]
        )
        for name, value in zip(NAMES, (rate, float(np.mean([one.advantage for one in people]))), strict=True)
    ]
    advantage = with_interval(
        figures[1],
        _advantage_statistic(judge_wins[:, tested]),
        method=method,
        confidence=confidence,
        seed=seed,
        replicates=replicates,
        lowest=0.0,
        highest=1.0,
    )
    return AlternativeTest(figures[0], advantage, rate >= PASSING_RATE, people)


NAMES = ("winning rate", "average advantage")


def _wins(panel: Panel, level: str) -> tuple[FloatArray, FloatArray]:
    """W_judge and W_person, (units, people), nan where the person did not label the unit."""
    judge_wins = np.full(panel.places.shape, np.nan)
    person_wins = np.full(panel.places.shape, np.nan)
    for column in range(len(panel.people)):
        rows = (panel.places[:, column] >= 0) & ((panel.places >= 0).sum(axis=1) >= 2)
        judge, person = _alignments(panel, column, level)
        # Errors that differ by rounding alone are equal.
        equal = np.isclose(judge, person, rtol=ROUNDING, atol=0.0)
        judge_wins[rows, column] = ((judge > person) | equal)[rows]
        person_wins[rows, column] = ((person > judge) | equal)[rows]
    return judge_wins, person_wins


def _alignments(panel: Panel, column: int, level: str) -> tuple[FloatArray, FloatArray]:
    """How well the judge, and the person, agree with the others on each unit; rows without others are
    void.
    """
    if level == "nominal":
        counts = one_hot(np.delete(panel.places, column, axis=1), len(panel.domain)).sum(axis=1)
        lines = np.arange(len(counts))
        # All shares of a unit have the same denominator, so the counts compare alike.
        return counts[lines, panel.judge].astype(np.float64), counts[lines, panel.places[:, column]].astype(np.float64)
    people, judge = panel.numbers()
    others = np.delete(people, column, axis=1)

    def squared_error(values: FloatArray) -> FloatArray:
        return np.asarray(np.nansum((others - values[:, None]) ** 2, axis=1))

    return -squared_error(judge), -squared_error(people[:, column])


def _p_value(difference: FloatArray, epsilon: float) -> float:
    """One-sided p value of mean(W_person - W_judge) < epsilon."""
    if len(difference) < FEWEST_UNITS:
        if np.all(difference == epsilon):
            return 1.0
        return float(stats.wilcoxon(difference - epsilon, alternative="less", method="auto").pvalue)
    if np.all(difference == difference[0]):
        return 0.0 if difference[0] < epsilon else 1.0
    return float(stats.ttest_1samp(difference, epsilon, alternative="less").pvalue)


def _advantage_statistic(wins: FloatArray) -> Totals:
    """The mean over people of the mean over their units of W_judge."""
    number = wins.shape[1]
    features = np.column_stack([np.nan_to_num(wins), ~np.isnan(wins)]).astype(np.float64)
    return Totals(
        features,
        np.ones(len(wins), dtype=np.int64),
        lambda totals: (totals[:, :number] / totals[:, number:]).mean(axis=1),
    )


def _note(people: list[PersonTest]) -> str | None:
    notes = []
    if len(people) < FEWEST_PEOPLE:
        notes.append(f"Only {len(people)} people; the test is meant for {FEWEST_PEOPLE} or more.")
    few = [one for one in people if one.n_units < FEWEST_UNITS]
    if few:
        least = min(one.n_units for one in few)
        notes.append(f"Someone labelled only {least} common units; the test is meant for {FEWEST_UNITS} or more.")
    return " ".join(notes) or None

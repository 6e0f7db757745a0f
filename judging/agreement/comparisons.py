"""Is one method better than another over several judges? Signed-rank, rank-sum, and many of them at once.

CheckEval (001) names the rank-sum test, but its stars come out only with the paired signed-rank test and the
correction of Benjamini & Hochberg (1995). Both tests are here, and every result says which one it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

Test = Literal["signed-rank", "rank-sum"]
TESTS: tuple[Test, ...] = get_args(Test)
Alternative = Literal["two-sided", "less", "greater"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One test of two samples.

    p_value     None where the test says nothing, for the reason given
    p_adjusted  the p value corrected for all tests of the family, once ``adjusted`` has run
    difference  median of the pairwise differences (signed-rank) or difference of the medians (rank-sum)
    """

    name: str
    test: Test
    n_first: int
    n_second: int
    difference: float | None = None
    statistic: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    reason: str | None = None


def compare(
    first: ArrayLike, second: ArrayLike, test: Test, name: str = "", alternative: Alternative = "two-sided"
) -> Comparison:
    """Compare two samples of finite numbers (for example the correlations of several judges).

    signed-rank  Wilcoxon's test of paired samples, zeros dropped; the samples are equally long and in one
    order
    rank-sum     the Wilcoxon-Mann-Whitney test of independent samples, corrected for ties

    Exact for small samples without ties. Raises ValueError for an unknown test or unpaired samples.
    """
    if test not in TESTS:
        raise ValueError(f"There is no test {test!r}; choose one of {', '.join(TESTS)}.")
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("The samples hold something that is not a finite number.")
    result = Comparison(name=name, test=test, n_first=x.size, n_second=y.size)
    if test == "signed-rank" and x.size != y.size:
        raise ValueError(f"Paired samples are equally long; these have {x.size} and {y.size} values.")
    if not x.size or not y.size:
        return replace(result, reason="Undefined: a sample is empty.")
    if test == "signed-rank":
        gaps = x - y
        if not gaps.any():
            return replace(result, difference=0.0, reason="Undefined: the two samples are the same.")
        paired = stats.wilcoxon(x, y, alternative=alternative)
        return replace(
            result,
            difference=float(np.median(gaps)),
            statistic=float(paired.statistic),
            p_value=float(paired.pvalue),
        )
    gap = float(np.median(x) - np.median(y))
    if np.all(np.concatenate([x, y]) == x[0]):
        return replace(result, difference=gap, reason=f"Undefined: all values are {x[0]:g}.")
    ranked = stats.mannwhitneyu(x, y, alternative=alternative)
    return replace(result, difference=gap, statistic=float(ranked.statistic), p_value=float(ranked.pvalue))


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with p values corrected for the false discovery rate (Benjamini-Hochberg).

    Comparisons without a p value are passed through and do not count as tests.
    """
    tested = [place for place, one in enumerate(comparisons) if one.p_value is not None]
    if not tested:
        return list(comparisons)
    corrected = stats.false_discovery_control([comparisons[place].p_value for place in tested], method="bh")
    found = dict(zip(tested, corrected.tolist(), strict=True))
    return [replace(one, p_adjusted=found.get(place)) for place, one in enumerate(comparisons)]

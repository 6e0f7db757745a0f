"""How fast the agreement engine is, as ratios within one run.

Run it with the project's Python from the repository:

    .venv/bin/python benchmarks/agreement_speed.py

It prints one table, and ends with exit code 1 if a target is missed.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import krippendorff
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from judging.agreement import Histogram, Tournament, alpha, alpha_with_interval, bradley_terry

UNITS, RATERS, VALUES = 1_000_000, 3, 5
SYSTEMS, MATCHES, REPLICATES = 20, 100_000, 1000


def seconds(action: Callable[[], object], times: int) -> float:
    """The best of several runs, which is the least disturbed one."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def line(what: str, took: float, target: str, reached: bool | None) -> bool:
    verdict = "" if reached is None else ("reached" if reached else "MISSED")
    print(f"{what:<66} {took * 1000:>12.3f} ms   {target:<40} {verdict}")
    return reached is not False


def measure_alpha(rng: np.random.Generator) -> bool:
    counts = rng.multinomial(RATERS, [0.1, 0.2, 0.4, 0.2, 0.1], size=UNITS)
    domain = np.arange(1, VALUES + 1)
    print(f"{UNITS:,} units x {RATERS} raters x {VALUES} values")

    reference = seconds(
        lambda: krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement="ordinal"), 3
    )
    histogram = Histogram.from_counts(counts, domain.tolist())
    build = seconds(lambda: Histogram.from_counts(counts, domain.tolist()), 3)
    pattern, other = (3, 0, 0, 0, 0), (2, 1, 0, 0, 0)

    def one_label() -> None:
        histogram.move(pattern, other)
        alpha(histogram, "ordinal")
        histogram.move(other, pattern)

    update = seconds(one_label, 200)
    read = seconds(lambda: alpha(histogram, "ordinal"), 200)
    jackknife = seconds(lambda: alpha_with_interval(histogram, "ordinal"), 50)
    bootstrap = seconds(lambda: alpha_with_interval(histogram, "ordinal", "percentile", replicates=REPLICATES), 20)
    sound = line("one call of the krippendorff package on value counts", reference, "", None)
    sound &= line("count patterns of all units (once)", build, "", None)
    ratio = f"1,000 times faster: {reference / read:,.0f} times"
    sound &= line("alpha from the histogram", read, ratio, reference / read >= 1000)
    sound &= line("move one unit, alpha, and back", update, "", None)
    sound &= line("alpha with its jackknife interval", jackknife, "", None)
    ratio = f"less than that one call: {bootstrap / reference:.2%}"
    return sound & line(f"alpha with {REPLICATES:,} bootstrap replicates", bootstrap, ratio, bootstrap < reference)


def measure_ranking(rng: np.random.Generator) -> bool:
    strengths = rng.normal(0, 0.7, SYSTEMS)
    first, second = np.triu_indices(SYSTEMS, 1)
    played = rng.multinomial(MATCHES, np.full(first.size, 1 / first.size))
    chance = 0.85 / (1 + np.exp(strengths[second] - strengths[first]))
    outcomes = np.array(
        [rng.multinomial(n, [p, 0.15, 0.85 - p]) for n, p in zip(played, chance, strict=True)], dtype=np.int64
    )
    tournament = Tournament(list(range(SYSTEMS)), first, second, outcomes)
    took = seconds(lambda: bradley_terry(tournament, replicates=REPLICATES), 3)
    what = f"Bradley-Terry, {SYSTEMS} systems, {MATCHES:,} matches, {REPLICATES:,} replicates"
    return line(what, took, "less than 1 s", took < 1.0)


if __name__ == "__main__":
    generator = np.random.default_rng(42)
    reached = measure_alpha(generator)
    reached &= measure_ranking(generator)
    sys.exit(0 if reached else 1)

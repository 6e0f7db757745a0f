"""Pass rates of checklists: PR of one response, and DRFR of a set.

Sources: TICK (002), section 2; InFoBench for DRFR. DRFR divides all yes by all questions (micro); the
mean of the pass rates weighs every response the same (macro). They differ where checklists differ in
length.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from judging.agreement.intervals import Method
from judging.agreement.means import mean_figure
from judging.agreement.missing import ANSWER_STATES, AnswerState, MissingPolicy, check_policy, policy_note
from judging.agreement.result import Figure


class Tally(NamedTuple):
    """The answers of one checklist: yes, no, and those that are neither (n/a, unreadable, failed)."""

    yes: int
    no: int
    missing: int

    def passed(self, policy: MissingPolicy) -> tuple[float, int]:
        """What was earned, and out of how many questions."""
        if policy == "exclude":
            return float(self.yes), self.yes + self.no
        return self.yes + (0.5 * self.missing if policy == "half" else 0.0), sum(self)


class PassRates(NamedTuple):
    """DRFR (all yes over all questions) and the mean over responses of the pass rate."""

    micro: Figure
    macro: Figure


def tally(answers: Sequence[AnswerState]) -> Tally:
    """Count the answers of one checklist. Raises ValueError for a state that does not exist."""
    counts = Counter(answers)
    strange = [answer for answer in counts if answer not in ANSWER_STATES]
    if strange:
        raise ValueError(f"An answer is one of {', '.join(ANSWER_STATES)}, not {strange[0]!r}.")
    return Tally(counts["yes"], counts["no"], len(answers) - counts["yes"] - counts["no"])


def pass_rate(answers: Sequence[AnswerState], missing: MissingPolicy = "exclude") -> Figure:
    """PR of one response: the share of its questions that are answered yes, in [0, 1]. No interval."""
    check_policy(missing)
    counted = tally(answers)
    earned, questions = counted.passed(missing)
    figure = Figure(
        name="pass rate",
        value=earned / questions if questions else None,
        reason=None if questions else "Undefined: no question has an answer.",
        n_units=questions,
        n_labels=counted.yes + counted.no,
        missing=counted.missing,
    )
    return figure.warned(policy_note(missing, counted.missing))


def pass_rates(
    checklists: Sequence[Sequence[AnswerState]],
    missing: MissingPolicy = "exclude",
    method: Method = "jackknife",
    confidence: float = 0.95,
    seed: int = 42,
    replicates: int = 1000,
) -> PassRates:
    """DRFR and mean PR over responses, each with an interval over responses.

    A response without any countable answer enters neither.
    """
    check_policy(missing)
    tallies = Counter(tally(answers) for answers in checklists)
    rows = [(*one.passed(missing), number) for one, number in sorted(tallies.items())]
    earned = np.array([row[0] for row in rows if row[1]], dtype=np.float64)
    questions = np.array([row[1] for row in rows if row[1]], dtype=np.float64)
    units = np.array([row[2] for row in rows if row[1]], dtype=np.int64)
    lost = sum(one.missing * number for one, number in tallies.items())
    template = Figure(
        name="DRFR (all questions alike)",
        value=0.0,
        n_units=int(units.sum()),
        n_labels=int(units @ questions),
        missing=lost,
        warning=policy_note(missing, lost),
    )
    settings = (method, confidence, seed, replicates)
    micro = mean_figure(template, earned, units, *settings, highest=1.0, per=questions)
    shares = earned / questions
    named = replace(template, name="mean pass rate (all responses alike)")
    return PassRates(micro, mean_figure(named, shares, units, *settings, highest=1.0))

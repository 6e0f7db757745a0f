"""Reading a verdict from the probabilities of the first token of a reply, in place of its text.

Sources: RocketEval (003), equation 1, for yes and no; G-Eval as in CheckEval (001), section 4.2, for scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from judging.reading.words import NO, YES, fold

LEAST_MASS = 0.1  # of the probability mass: where yes and no hold less together, the token says neither

# What tokenisers write for a space or a line break before a word, where an endpoint hands on their raw tokens.
_MARKS = str.maketrans({"\u0120": " ", "\u2581": " ", "\u010a": "\n"})

Alternatives = Iterable[tuple[str, float]]  # the alternatives of one token, with their log probabilities


class YesNo(NamedTuple):
    """The probabilities of yes and of no, each summed over all variants of the word; both in [0, 1]."""

    yes: float
    no: float

    @property
    def captured(self) -> float:
        """What yes and no hold together of the probability mass."""
        return min(1.0, self.yes + self.no)

    @property
    def probability(self) -> float | None:
        """P(yes) / (P(yes) + P(no)); None where both are 0."""
        both = self.yes + self.no
        return self.yes / both if both else None

    def readable(self, least_mass: float = LEAST_MASS) -> bool:
        return self.probability is not None and self.captured >= least_mass

    def answer(self, least_mass: float = LEAST_MASS) -> bool | None:
        """True for yes, which is more likely than not; None where yes and no hold less than `least_mass`."""
        if self.probability is None or not self.readable(least_mass):
            return None
        return self.probability > 0.5


class Weighted(NamedTuple):
    """The mean of the scores among the alternatives, weighted by their probabilities; and what they hold together."""

    mean: float
    captured: float


def yes_no(alternatives: Alternatives) -> YesNo:
    """P(yes) and P(no). Case, width, spaces and the marks of tokenisers do not matter. Variants are added: taking the
    likeliest, or the last one, would favour the word that has fewer of them."""
    masses = _masses(alternatives)
    return YesNo(_sum(masses, YES), _sum(masses, NO))


def weighted_score(alternatives: Alternatives, scores: Sequence[int]) -> Weighted | None:
    """The weighted mean over the alternatives that are whole scores of the scale; None where none is one.

    None also for a scale with scores of several characters: a token "1" may begin a 10, and "-" every score below 0.
    """
    if any(len(str(score)) > 1 for score in scores):
        return None
    masses = _masses(alternatives)
    weights = {score: _sum(masses, {str(score)}) for score in scores}
    captured = math.fsum(weights.values())
    if not captured:
        return None
    mean = math.fsum(score * weight for score, weight in weights.items()) / captured
    return Weighted(min(max(mean, scores[0]), scores[-1]), min(1.0, captured))


def word_of(token: str) -> str:
    """The word that a token is: without case, width, spaces around and the marks of tokenisers."""
    return fold(token.translate(_MARKS)).strip()


def _masses(alternatives: Alternatives) -> dict[str, list[float]]:
    """The probabilities of every word, one for each variant. A log probability above 0 is none, and counts as 0."""
    masses: dict[str, list[float]] = {}
    for token, log_probability in alternatives:
        masses.setdefault(word_of(token), []).append(math.exp(min(log_probability, 0.0)))
    return masses


def _sum(masses: Mapping[str, Sequence[float]], words: Iterable[str]) -> float:
    return min(1.0, math.fsum(mass for word in words for mass in masses.get(word, ())))

"""What was said about units, by one judge or by people, and how several labels of a unit become one.

Answers: the majority. Scores: the mean, rounded half up. Preferences: of people the bin of the mean of their steps
(paper 002, section 4), of a judge the majority of repeats and orders, without one a tie (paper 000, section 4.4).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import cast

from judging.agreement import (
    PREFERENCES,
    AnswerState,
    Value,
    majority_preference,
    pass_rate,
    preference_from_mean,
    preference_from_scores,
)
from judging.labels import PREFERENCE, SCORE, Facet, Labels, reduced

Unit = Hashable  # a response, a pair (response, question), or a pair of responses


@dataclass(frozen=True)
class Voice:
    """What one judge, or a panel of judges, says on one facet.

    said    by unit, the readable repeats; of preferences "win", "tie" and "loss" of the first response
    domain  all values that can occur, in order
    gaps    by unit without a value, why there is none (a key of `live.GAPS`)
    orders  by pair of responses, what was said in either order, turned back; None for an order without a value
    """

    facet: Facet
    said: Mapping[Unit, Sequence[Value]]
    domain: tuple[Value, ...]
    gaps: Mapping[Unit, str] = field(default_factory=dict)
    orders: Mapping[Unit, tuple[Value | None, Value | None]] = field(default_factory=dict)

    @cached_property
    def values(self) -> dict[Unit, Value]:
        """One value for each unit that has one."""
        found = {unit: verdict_of(self.facet, tuple(said)) for unit, said in self.said.items()}
        return {unit: value for unit, value in found.items() if value is not None}

    @property
    def units(self) -> int:
        return len(self.values) + len(self.gaps)


@dataclass(frozen=True)
class Crowd:
    """What people say on one facet, as they said it: preferences are the steps 1 to 5 of the sliding scale.

    domain  all values that one label or one consensus can have; of preferences loss, tie and win
    """

    facet: Facet
    labels: Labels
    domain: tuple[Value, ...]

    @classmethod
    def of(cls, facet: Facet, labels: Labels, *, with_na: bool = True) -> Crowd:
        """`with_na`: "na" is on the scale of answers even where nobody gave it."""
        domain: tuple[Value, ...] = PREFERENCES if facet == PREFERENCE else labels.domain
        if not with_na and not facet.numeric and not any(label.value == "na" for label in labels.labels):
            domain = tuple(value for value in domain if value != "na")
        return cls(facet, labels, domain)

    @cached_property
    def said(self) -> dict[Unit, list[Value]]:
        return self.labels.by_unit()


@lru_cache(maxsize=65536)
def verdict_of(facet: Facet, said: tuple[Value, ...]) -> Value | None:
    """Repeats of a judge as one value; None where answers are evenly split, or nothing was said."""
    if facet == PREFERENCE:
        return majority_preference([str(value) for value in said]) if said else None
    return reduced(facet, said)


@lru_cache(maxsize=65536)
def consensus_of(facet: Facet, said: tuple[Value, ...]) -> Value | None:
    """Labels of people as one value; None where answers are evenly split, or nothing was said."""
    if facet == PREFERENCE:
        return preference_from_mean(mean_of(said)) if said else None
    return reduced(facet, said)


def one_of(facet: Facet, value: Value) -> Value:
    """One label of one person on the domain of the consensus: a step of the sliding scale in its bin."""
    return preference_from_mean(float(value)) if facet == PREFERENCE else value


def mean_of(said: Sequence[Value]) -> float:
    return math.fsum(float(value) for value in said) / len(said)


def shared_domain(voices: Iterable[Voice], crowd: Crowd | None = None) -> tuple[Value, ...]:
    """All values that can occur on any side, in order."""
    domains = [voice.domain for voice in voices] + ([crowd.domain] if crowd else [])
    everything = dict.fromkeys(value for domain in domains for value in domain)
    if all(isinstance(value, float) for value in everything):
        return tuple(sorted(everything, key=float))
    return max(domains, key=len, default=())


def preferences_from(
    scores: Mapping[Unit, float],
    gaps: Mapping[Unit, str],
    pairs: Iterable[tuple[Unit, Unit]],
    margin: float = 0.0,
) -> Voice:
    """The preferences that follow from one number for each response; numbers that are equal, or differ by less than
    `margin`, are a tie.

    gaps  by response without a number, why it has none; a response that is in neither was never asked about
    """
    said: dict[Unit, tuple[Value, ...]] = {}
    missing: dict[Unit, str] = {}
    for first, second in pairs:
        if first in scores and second in scores:
            said[first, second] = (preference_from_scores(scores[first], scores[second], margin),)
        elif reasons := [gaps[one] for one in (first, second) if one in gaps and one not in scores]:
            missing[first, second] = "pending" if "pending" in reasons else reasons[0]
    return Voice(PREFERENCE, said, PREFERENCES, missing)


def numbers_of(voice: Voice) -> tuple[dict[Unit, float], dict[Unit, str]]:
    """One number for each response, and why others have none: the mean of the scores; of answers the pass rate, which
    is the share of yes among yes and no, once no question is left to ask; `no_rate` where every answer is n/a."""
    if voice.facet == SCORE:
        return {unit: mean_of(said) for unit, said in voice.said.items()}, dict(voice.gaps)
    answers: dict[Unit, list[AnswerState]] = {}
    for unit, value in voice.values.items():
        answers.setdefault(_response(unit), []).append(cast(AnswerState, value))
    gaps = {_response(unit): gap for unit, gap in voice.gaps.items()}
    waiting = {_response(unit) for unit, gap in voice.gaps.items() if gap == "pending"}
    rates = {unit: pass_rate(said).value for unit, said in answers.items() if unit not in waiting}
    numbers = {unit: rate for unit, rate in rates.items() if rate is not None}
    without = {unit: "no_rate" for unit in answers if unit not in numbers}
    return numbers, without | gaps | dict.fromkeys(waiting, "pending")


def _response(unit: Unit) -> Unit:
    return unit[0] if isinstance(unit, tuple) else unit

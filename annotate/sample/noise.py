"""The noise model behind the simulated annotators of the sample project.

Each response of the sample carries its author's own judgement: a quality q in 1..5 and, where the item has a
checklist, the true answer to every question. A simulated annotator a has a bias b_a, a spread s_a, an error rate e_a.

- score  = q + b_a + Normal(0, s_a), rounded to the nearest whole number and kept within the scale;
- answer = the true answer, turned over with probability e_a (a minor inaccuracy is easy to overlook, so a "no" is
  turned into "yes" 1.5 times as often as the reverse);
- with a checklist the spread shrinks by CHECKLIST_FOCUS, which is the effect that the arms of the sample let you see;
- effect = easier 78 %, no effect 15 %, harder 7 %.

Every draw comes from one generator seeded by (SEED, annotator, response), so the labels are the same on every machine
and in any order. They are inventions and are marked *simulated* wherever they appear.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

SEED = 20260
CHECKLIST_FOCUS = 0.7
EFFECTS = {"easier": 0.78, "none": 0.15, "harder": 0.07}


@dataclass(frozen=True)
class Simulated:
    """One simulated annotator: user name, display name, bias, spread and error rate."""

    username: str
    name: str
    bias: float
    spread: float
    error: float


ANNOTATORS = (
    Simulated("sim-mild", "Mild", 0.35, 0.55, 0.05),
    Simulated("sim-strict", "Strict", -0.45, 0.6, 0.07),
    Simulated("sim-hasty", "Hasty", 0.0, 1.0, 0.14),
)


def generator(who: Simulated, response: str) -> random.Random:
    """The random numbers of one annotator on one response, independent of everything else."""
    return random.Random(f"{SEED}:{who.username}:{response}")


def score(who: Simulated, quality: int, low: int, high: int, rng: random.Random, *, checklist: bool) -> int:
    """A score on `low..high` for a response of this quality (1..5)."""
    spread = who.spread * (CHECKLIST_FOCUS if checklist else 1.0)
    drawn = quality + who.bias + rng.gauss(0.0, spread)
    return max(low, min(high, int(drawn + 0.5)))


def answers(who: Simulated, truth: Sequence[str], rng: random.Random) -> list[str]:
    """One answer per true answer, some of them wrong."""
    said = []
    for true in truth:
        rate = who.error * (1.2 if true == "no" else 0.8)
        wrong = "yes" if true == "no" else "no"
        said.append(wrong if rng.random() < rate else true)
    return said


def effect(rng: random.Random) -> str:
    """Whether the checklist made scoring easier."""
    return rng.choices(list(EFFECTS), list(EFFECTS.values()))[0]

"""Where a judge and people, or two judges, say different things: with the texts, the largest difference first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from annotate.models import Item, Question, Response, Round
from judging.agreement import Value
from judging.agreement.labels import shown as written
from judging.beside import remembered
from judging.hearing import crowd_of, facing, voices_beside
from judging.labels import PREFERENCE, QUESTIONS, Facet
from judging.models import Run, Verdict
from judging.voices import Crowd, Unit, Voice, consensus_of, mean_of

MOST_LISTED = 5000  # nobody reads that far
SLIDING = {"win": 1.0, "tie": 3.0, "loss": 5.0}  # where they stand on the sliding scale of people


class Difference(NamedTuple):
    """A unit on which a judge and its counterpart differ, each with its one value.

    size  answers: the share of the labels on the other side that are not what the judge says, in (0, 1]; scores: the
          difference of the unrounded means; preferences: the same on the sliding scale of 1 to 5
    said  the labels on the other side
    """

    size: float
    unit: Unit
    judge: Value
    other: Value
    said: tuple[Value, ...]


def differences(voice: Voice, other: Crowd | Voice) -> list[Difference]:
    """All units on which the one value of the judge and that of people, or of another judge, differ; the largest
    first, those of the same size in the order of their units."""
    values = other.values if isinstance(other, Voice) else None
    found = []
    for unit, value in voice.values.items():
        said = tuple(other.said.get(unit, ()))
        against = values.get(unit) if values is not None else consensus_of(voice.facet, said)
        if against is not None and against != value:
            found.append(Difference(_size(voice, unit, value, other, said), unit, value, against, said))
    return sorted(found, key=lambda one: (-one.size, one.unit))


def of_cell(found: Sequence[Difference], other: str, judge: str) -> list[Difference]:
    """Only those of one cell of the confusion matrix: the values of the other side and of the judge as they are written
    there; "" for any."""
    return [one for one in found if other in ("", written(one.other)) and judge in ("", written(one.judge))]


def _size(voice: Voice, unit: Unit, value: Value, other: Crowd | Voice, said: Sequence[Value]) -> float:
    if voice.facet == QUESTIONS:
        return sum(one != value for one in said) / len(said)
    ours = voice.said[unit]
    if voice.facet == PREFERENCE:
        ours = [SLIDING[str(one)] for one in ours]
        said = [SLIDING[str(one)] for one in said] if isinstance(other, Voice) else said
    return round(abs(mean_of(ours) - mean_of(said)), 9)  # so that 1/3 of one side is 1/3 of the other


@dataclass(frozen=True)
class Shown:
    """A difference with all that a reader needs to see who is right.

    response, other  of a pair both, the older one first, as "win" and "loss" have it
    said             the labels of the other side by value, with their number
    verdicts         of the run, and of the other judge where there is one
    """

    difference: Difference
    item: Item
    response: Response
    other: Response | None
    question: Question | None
    said: Sequence[tuple[Value, int]]
    verdicts: Sequence[Verdict]
    others: Sequence[Verdict]


@dataclass(frozen=True)
class Listed:
    """The differences of a run and its counterpart on one facet, at most `MOST_LISTED` of `number`."""

    facet: Facet
    run: Run
    other: Run | None
    number: int
    differences: Sequence[Difference]

    @classmethod
    def of(
        cls, run: Run, other: Run | None, round: Round | None, facet: Facet, said: str = "", judged: str = ""
    ) -> Listed:
        """Of a run and another one, or where there is none the people of a round. `said`, `judged`: only those of this
        cell of the confusion matrix."""

        def make() -> tuple[int, list[Difference]]:
            found = of_cell(_between(run, other, round, facet), said, judged)
            return len(found), found[:MOST_LISTED]

        sides = [side for side in (run, other, round) if side is not None]
        return cls(facet, run, other, *remembered(f"{facet} {said} {judged}", sides, make))

    def shown(self, found: Sequence[Difference]) -> list[Shown]:
        """A few of the differences with their texts and verdicts. At most six queries, whatever their number."""
        paired = self.facet == PREFERENCE
        units = [one.unit if isinstance(one.unit, tuple) else (one.unit, 0) for one in found]
        ids = {first for first, _second in units} | {second for _first, second in units if paired}
        responses = Response.objects.select_related("item").in_bulk(ids)
        questions = Question.objects.in_bulk([] if paired else {second for _first, second in units})
        ours = _verdicts(self.run, self.facet, ids)
        theirs = _verdicts(self.other, self.facet, ids) if self.other else {}
        return [
            Shown(
                difference=one,
                item=responses[first].item,
                response=responses[first],
                other=responses[second] if paired else None,
                question=questions.get(second),
                said=sorted(Counter(one.said).items(), key=lambda pair: (-pair[1], str(pair[0]))),
                verdicts=ours.get(one.unit, []),
                others=theirs.get(one.unit, []),
            )
            for one, (first, second) in zip(found, units, strict=True)
        ]


def _between(run: Run, other: Run | None, round: Round | None, facet: Facet) -> list[Difference]:
    against: Crowd | Voice | None = None
    if other:
        against = voices_beside(other, round).get(facet)
    elif round:
        against = crowd_of(round, facet)
    voice = voices_beside(run, round).get(facet)
    return differences(voice, against) if voice and against else []


def _verdicts(run: Run, facet: Facet, responses: Iterable[int]) -> dict[Unit, list[Verdict]]:
    """By unit, the verdicts of a run about these responses, each with its call."""
    found: dict[Unit, list[Verdict]] = {}
    rows = run.verdicts.filter(response__in=responses, question__isnull=facet != QUESTIONS)
    rows = rows.filter(other__isnull=facet != PREFERENCE) if facet != QUESTIONS else rows
    for verdict in rows.select_related("call", "dimension").defer("call__prompt", "call__reply").order_by("call"):
        unit: Unit = verdict.response_id
        if facet == QUESTIONS:
            unit = verdict.response_id, verdict.question_id
        elif facet == PREFERENCE and verdict.other_id:
            unit = facing((verdict.response_id, verdict.other_id))[0]
        found.setdefault(unit, []).append(verdict)
    return found

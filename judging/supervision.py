"""RocketEval's supervised scores: learned, instruction by instruction, from what people gave other responses.

Source: RocketEval (003), section 3.3, equations 3 and 4.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from judging.agreement import combined_score, supervised_scores, supervision_weight
from judging.labels import SCORE, people_labels, rounded_mean
from judging.models import Run

LEAST_TRAINING = 2  # labelled other responses to an instruction, from which a score is learned
MOST_TRAINED = 1000  # labelled responses in all: a forest is grown for each of them


class Judged(NamedTuple):
    """A response as a judge sees it: the probability of yes by question of its checklist, None where there is none; and
    the unsupervised score."""

    checklist: int
    probabilities: Mapping[int, float | None]
    unsupervised: float


class Learned(NamedTuple):
    """The final score, and the weight in [0, 1] that the supervised prediction has in it."""

    final: float
    weight: float


def people_means(run: Run) -> dict[int, float]:
    """The mean of what people gave each response in the round of the run, by response id; {} without a round."""
    if run.round is None:
        return {}
    given = people_labels(run.round, SCORE).by_unit()
    return {
        int(str(response)): math.fsum(float(score) for score in scores) / len(scores)
        for response, scores in given.items()
    }


def learned(judged: Mapping[int, Judged], labels: Mapping[int, float], low: int, high: int) -> dict[int, Learned]:
    """The supervised scores by response id, from the labels (means of people, from `low` to `high`).

    Responses are scored by what the labelled *other* responses with the same checklist teach, one left out at a time,
    so that neither forest nor weight has seen the label of a response that it scores. A response with fewer than
    LEAST_TRAINING such others has no score.
    """
    together: defaultdict[int, list[int]] = defaultdict(list)
    for response in sorted(judged):
        together[judged[response].checklist].append(response)
    found: dict[int, Learned] = {}
    for responses in together.values():
        questions = sorted({question for response in responses for question in judged[response].probabilities})
        table = {response: _vector(judged[response], questions) for response in responses}
        labelled = [response for response in responses if response in labels]
        unlabelled = [response for response in responses if response not in labels]
        for scored in [*([one] for one in labelled), unlabelled]:
            teachers = [one for one in labelled if one not in scored]
            if not scored or len(teachers) < LEAST_TRAINING:
                continue
            goals = [labels[one] for one in teachers]
            weight = supervision_weight([int(rounded_mean([goal])) for goal in goals], low, high)
            forest = supervised_scores([table[one] for one in teachers], goals, [table[one] for one in scored])
            for response, predicted in zip(scored, forest.scores, strict=True):
                final = combined_score(judged[response].unsupervised, float(predicted), weight)
                found[response] = Learned(final, weight)
    return found


class Weighed(NamedTuple):
    """What the questions of one checklist weigh in the supervised score: by question their importances, which sum to 1
    or are all 0; and `even`, which each would have if all weighed the same."""

    checklist: int
    labelled: int
    importances: Mapping[int, float]

    @property
    def even(self) -> float:
        return 1 / len(self.importances)


def weighed(judged: Mapping[int, Judged], labels: Mapping[int, float]) -> list[Weighed]:
    """The weights of the questions by checklist, learned from all labelled responses to the instruction. A checklist
    with fewer than LEAST_TRAINING of them has none. They are for reading: no response is scored by this forest."""
    together: defaultdict[int, list[Judged]] = defaultdict(list)
    goals: defaultdict[int, list[float]] = defaultdict(list)
    for response in sorted(judged.keys() & labels.keys()):
        together[judged[response].checklist].append(judged[response])
        goals[judged[response].checklist].append(labels[response])
    found = []
    for checklist, teachers in sorted(together.items()):
        if len(teachers) >= LEAST_TRAINING:
            questions = sorted({question for teacher in teachers for question in teacher.probabilities})
            table = [_vector(teacher, questions) for teacher in teachers]
            importances = supervised_scores(table, goals[checklist], table).item_weights.tolist()
            found.append(Weighed(checklist, len(teachers), dict(zip(questions, importances, strict=True))))
    return found


def _vector(response: Judged, questions: list[int]) -> list[float]:
    """The probabilities in the order of the questions; nan where there is none."""
    given = (response.probabilities.get(question) for question in questions)
    return [math.nan if probability is None else probability for probability in given]

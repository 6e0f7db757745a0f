"""The one place where annotations and verdicts become reliability data: (unit, rater, value).

A unit is a response id for the score, and a pair (response id, question id) for the answers. An answer or a
score that is not there is never replaced by a value: the unit stays in the data and counts as missing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from annotate.models import Annotation, Answer, Question, Round, Task
from judging.agreement import Histogram, Label, Value
from judging.models import Call, Run, Verdict

ANSWERS: tuple[Value, ...] = ("yes", "no", "na")
READ_ANSWERS = frozenset({Verdict.State.YES, Verdict.State.NO, Verdict.State.NA})
PENDING = frozenset({Call.State.PLANNED, Call.State.LEASED})


@dataclass(frozen=True, slots=True)
class Facet:
    """What is labelled: the score, one question (by id), or all questions pooled."""

    kind: Literal["score", "question", "questions"]
    question: int | None = None

    def __post_init__(self) -> None:
        if (self.kind == "question") == (self.question is None):
            raise ValueError("A facet names a question exactly when it is about one question.")

    @property
    def level(self) -> Literal["ordinal", "nominal"]:
        """The level of measurement: scores are ordered, answers are not."""
        return "ordinal" if self.kind == "score" else "nominal"


SCORE = Facet("score")
QUESTIONS = Facet("questions")


@dataclass(frozen=True)
class Labels:
    """Reliability data of one facet.

    labels      at most one for each unit and rater
    domain      all values that can occur, in order
    units       units that were to be labelled, with or without a label
    simulated   labels that were made by simulated annotators
    gaps        units of a judge without a value, by reason: pending, failed, unreadable, tied
    """

    labels: Sequence[Label]
    domain: tuple[Value, ...]
    units: int
    simulated: int = 0
    gaps: Mapping[str, int] = field(default_factory=dict)

    @property
    def raters(self) -> int:
        return len({label.rater for label in self.labels})

    def histogram(self) -> Histogram:
        """Count patterns; the units without any label are in it too, so that they count as missing."""
        histogram = Histogram.from_labels(self.labels, self.domain)
        unlabelled = self.units - len({label.unit for label in self.labels})
        if unlabelled > 0:
            histogram.add((0,) * len(self.domain), unlabelled)
        return histogram

    def by_unit(self) -> dict[Hashable, list[Value]]:
        """The values of every labelled unit, without their raters."""
        units: dict[Hashable, list[Value]] = {}
        for label in self.labels:
            units.setdefault(label.unit, []).append(label.value)
        return units

    def by_question(self) -> dict[int, list[Label]]:
        """The labels of every question, where the units are pairs of response and question."""
        questions: dict[int, list[Label]] = {}
        for label in self.labels:
            if isinstance(label.unit, tuple):
                questions.setdefault(label.unit[1], []).append(label)
        return questions


def facets_of(round: Round) -> list[Facet]:
    """The score, then the pooled questions and every question where the round uses checklists."""
    if not round.uses_checklist:
        return [SCORE]
    questions = Question.objects.filter(checklist__in=Task.objects.filter(round=round).values("checklist"))
    return [
        SCORE,
        QUESTIONS,
        *(Facet("question", question) for question in questions.values_list("pk", flat=True)),
    ]


def people_labels(round: Round, facet: Facet) -> Labels:
    """What people said in a round: submitted annotations that hold a seat, and nothing else."""
    if facet.kind == "score":
        return _people_scores(round)
    answers = Answer.objects.filter(annotation__in=Annotation.objects.counted(round))
    asked = Question.objects.filter(checklist__tasks__round=round)  # one row for each task and question
    if facet.question is not None:
        answers = answers.filter(question=facet.question)
        asked = asked.filter(pk=facet.question)
    rows = answers.order_by().values_list(
        "annotation__task__response_id",
        "question_id",
        "annotation__annotator_id",
        "value",
        "annotation__annotator__is_simulated",
    )
    labels = []
    simulated = 0
    for response, question, annotator, value, is_simulated in rows:
        labels.append(Label((response, question), annotator, value))
        simulated += is_simulated
    return Labels(labels, ANSWERS, asked.count(), simulated)


def _people_scores(round: Round) -> Labels:
    rows = (
        Annotation.objects.counted(round)
        .order_by()
        .values_list("task__response_id", "annotator_id", "score", "annotator__is_simulated")
    )
    labels = []
    simulated = 0
    for response, annotator, score, is_simulated in rows:
        if score is not None:
            labels.append(Label(response, annotator, float(score)))
            simulated += is_simulated
    units = Task.objects.filter(round=round, response__isnull=False).count()
    return Labels(labels, _scores(round, labels), units, simulated)


@dataclass(frozen=True, slots=True)
class Reply:
    """One repeat of one unit of a run: the state of its call, and of its verdict once there is one."""

    call: str
    verdict: str | None
    score: float | None


Replies = dict[tuple[int, int | None], list[Reply]]  # (response, question or None for the score)


def run_labels(run: Run, facet: Facet) -> Labels:
    """What a judge said in a run, its repeats reduced to one value for each unit.

    Answers: the majority of the repeats; an even split gives no value. Scores: the mean of the repeats,
    rounded half up. Repeats that could not be read are left out of both.
    """
    return _reduced(run, facet, _replies(run))


def labels_by_facet(run: Run) -> dict[Facet, Labels]:
    """The labels of the score and of the pooled questions, as far as the run asks for them. One query."""
    replies = _replies(run)
    found = {}
    if any(question is None for _, question in replies):
        found[SCORE] = _reduced(run, SCORE, replies)
    if any(question is not None for _, question in replies):
        found[QUESTIONS] = _reduced(run, QUESTIONS, replies)
    return found


def majority(values: Iterable[Value]) -> Value | None:
    """The value that occurs most often; None where two share the first place, or there is none."""
    first = Counter(values).most_common(2)
    if not first or (len(first) == 2 and first[0][1] == first[1][1]):
        return None
    return first[0][0]


def rounded_mean(values: Sequence[float]) -> float:
    """The mean, rounded half up to a whole number."""
    return float(math.floor(math.fsum(values) / len(values) + 0.5))


def reduced(facet: Facet, values: Sequence[Value]) -> Value | None:
    """Several labels of one unit as one value: the rounded mean of scores, the majority of answers."""
    if facet.kind == "score":
        return rounded_mean([float(value) for value in values]) if values else None
    return majority(values)


def _replies(run: Run) -> Replies:
    # Distinct units with all their repeats in one query; a call that has no verdict yet comes with None.
    rows = run.calls.order_by("position", "verdicts__pk").values_list(
        "response_id", "question_id", "verdicts__question_id", "state", "verdicts__state", "verdicts__score"
    )
    replies: Replies = {}
    for response, asked, answered, call, verdict, score in rows:
        if response is not None:
            replies.setdefault((response, answered or asked), []).append(Reply(call, verdict, score))
    return replies


def _reduced(run: Run, facet: Facet, replies: Replies) -> Labels:
    labels: list[Label] = []
    gaps: Counter[str] = Counter()
    units = 0
    for (response, question), repeats in replies.items():
        if (question is None) != (facet.kind == "score") or facet.question not in (None, question):
            continue
        units += 1
        values = _read_values(facet, repeats)
        value = reduced(facet, values)
        if value is None:
            gaps[_gap(repeats, tied=bool(values))] += 1
        else:
            unit: Hashable = response if question is None else (response, question)
            labels.append(Label(unit, f"run {run.pk}", value))
    domain = ANSWERS
    if facet.kind == "score":
        domain = _scores(run.round, labels)
    return Labels(labels, domain, units, gaps=dict(gaps))


def _read_values(facet: Facet, repeats: Sequence[Reply]) -> list[Value]:
    if facet.kind == "score":
        return [reply.score for reply in repeats if reply.score is not None]
    return [reply.verdict for reply in repeats if reply.verdict in READ_ANSWERS and reply.verdict is not None]


def _gap(repeats: Sequence[Reply], *, tied: bool) -> str:
    if tied:
        return "tied"
    if any(reply.call in PENDING for reply in repeats):
        return "pending"
    if any(reply.call == Call.State.FAILED or reply.verdict == Verdict.State.ERROR for reply in repeats):
        return "failed"
    return "unreadable"


def _scores(round: Round | None, labels: Iterable[Label]) -> tuple[Value, ...]:
    """The scores of the round's scale, and any other that occurs."""
    scale = {float(score) for score in round.scores} if round is not None else set()
    return tuple(sorted(scale | {float(label.value) for label in labels}))

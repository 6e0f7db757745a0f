"""The one place where annotations and verdicts become reliability data: (unit, rater, value).

A unit is a response id for the score, a pair (response id, other response id) for the preference, and a pair
(response id, question id) for the answers; where pairs are labelled, (response id, other response id, whether the
other one is meant, question id). Who answers "cannot tell" gives no label. A label that is not there is never replaced
by a value: the unit stays in the data and counts as missing. Which units a judge was asked about is known before it
answers, from what its protocol yields.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from django.db.models import Count, QuerySet

from annotate import prepared
from annotate.models import Annotation, Answer, Question, Round, Task
from judging import statements
from judging.agreement import Histogram, Label, Value
from judging.models import Call, Run, Verdict
from judging.protocols import PROTOCOLS

ANSWERS: tuple[Value, ...] = ("yes", "no", "na")
READ_ANSWERS = frozenset({Verdict.State.YES, Verdict.State.NO, Verdict.State.NA})
PREFERENCES = range(1, 6)
PENDING = frozenset({Call.State.PLANNED, Call.State.LEASED})


@dataclass(frozen=True, slots=True)
class Facet:
    """What is labelled: the score, the preference, one question (by id), or all questions pooled."""

    kind: Literal["score", "preference", "question", "questions"]
    question: int | None = None

    def __post_init__(self) -> None:
        if (self.kind == "question") == (self.question is None):
            raise ValueError("A facet names a question exactly when it is about one question.")

    @property
    def level(self) -> Literal["ordinal", "nominal"]:
        """The level of measurement: scores and preferences are ordered, answers are not."""
        return "ordinal" if self.numeric else "nominal"

    @property
    def numeric(self) -> bool:
        return self.kind in ("score", "preference")


SCORE = Facet("score")
PREFERENCE = Facet("preference")
QUESTIONS = Facet("questions")


@dataclass(frozen=True)
class Labels:
    """Reliability data of one facet.

    labels          at most one for each unit and rater
    domain          all values that can occur, in order
    units           units that were to be labelled, with or without a label
    simulated_on    by unit, how many of its labels simulated annotators made
    left_out        units of a judge without a value, with the reason: pending, failed, unreadable, tied
    """

    labels: Sequence[Label]
    domain: tuple[Value, ...]
    units: int
    simulated_on: Mapping[Hashable, int] = field(default_factory=dict)
    left_out: Mapping[Hashable, str] = field(default_factory=dict)

    @property
    def simulated(self) -> int:
        """Labels that were made by simulated annotators."""
        return sum(self.simulated_on.values())

    @property
    def gaps(self) -> dict[str, int]:
        """Units of a judge without a value, by reason."""
        return dict(Counter(self.left_out.values()))

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


def facets_of(round: Round) -> list[Facet]:
    """The score or the preference, where the round asks for one; then, where it uses checklists, the pooled questions
    and every question."""
    whole = [facet for part, facet in (("score", SCORE), ("preference", PREFERENCE)) if part in round.shape.parts]
    if not round.uses_checklist:
        return whole
    return [*whole, QUESTIONS, *(Facet("question", question) for question in asked_of(round))]


def asked_of(round: Round) -> dict[int, int]:
    """Of how many units every question of the round is asked, by question id; in the order of items."""
    questions = Question.objects.filter(checklist__tasks__round=round).annotate(asked=Count("checklist__tasks"))
    ordered = questions.order_by("checklist__item", "checklist", "position")
    return {pk: asked * _responses_a_task(round) for pk, asked in ordered.values_list("pk", "asked")}


def _responses_a_task(round: Round) -> int:
    return 2 if round.shape.unit == "pair" else 1


def people_labels(round: Round, facet: Facet) -> Labels:
    """What people said in a round: submitted annotations that hold a seat, and nothing else."""
    counted = Annotation.objects.counted(round)
    if facet.numeric:
        return _people_numbers(round, facet, counted)
    answers = Answer.objects.filter(annotation__in=counted).exclude(value=Answer.Value.UNSURE)
    asked = Question.objects.filter(checklist__tasks__round=round)  # one row for each task and question
    if facet.question is not None:
        answers = answers.filter(question=facet.question)
        asked = asked.filter(pk=facet.question)
    rows: Iterable[tuple[Any, ...]] = answers.order_by().values_list(
        "annotation__task__response_id",
        "annotation__task__other_id",
        "about_other",
        "question_id",
        "annotation__annotator_id",
        "value",
        "annotation__annotator__is_simulated",
    )
    labels = []
    simulated: Counter[Hashable] = Counter()
    for response, other, about_other, question, annotator, value, is_simulated in rows:
        unit = (response, question) if other is None else (response, other, about_other, question)
        labels.append(Label(unit, annotator, value))
        if is_simulated:
            simulated[unit] += 1
    return Labels(labels, ANSWERS, asked.count() * _responses_a_task(round), simulated)


def _people_numbers(round: Round, facet: Facet, counted: QuerySet[Annotation]) -> Labels:
    paired = facet == PREFERENCE
    rows = (
        counted.filter(task__other__isnull=not paired)
        .order_by()
        .values_list("task__response_id", "task__other_id", "annotator_id", facet.kind, "annotator__is_simulated")
    )
    labels = []
    simulated: Counter[Hashable] = Counter()
    for response, other, annotator, value, is_simulated in rows:
        if value is not None:
            unit = (response, other) if paired else response
            labels.append(Label(unit, annotator, float(value)))
            if is_simulated:
                simulated[unit] += 1
    units = Task.objects.filter(round=round, response__isnull=False, other__isnull=not paired).count()
    return Labels(labels, domain_of(round, facet, {float(label.value) for label in labels}), units, simulated)


class Said(NamedTuple):
    """The labels of one unit: their values, and how many of them simulated annotators made."""

    values: tuple[Value, ...] = ()
    simulated: int = 0

    def and_also(self, value: Value | None, *, is_simulated: bool) -> Said:
        """With one more label, where there is one."""
        if value is None:
            return self
        return Said((*self.values, value), self.simulated + is_simulated)


Told = tuple[Facet, bool]  # a facet of one task; of a question of a pair, whether about its other response


def about_task(task_id: int, *, without: int = 0, answers: bool = True) -> list[prepared.Statement]:
    """The statements that read what people said about one task; `labels_in` reads what they find.

    `without` leaves out the annotator with this id; `answers=False` reads none.
    """
    read = [statements.SCORES_OF_TASK, statements.ANSWERS_OF_TASK] if answers else [statements.SCORES_OF_TASK]
    return [(statement, [task_id, without]) for statement in read]


def labels_in(scores: Iterable[Sequence[Any]], answers: Iterable[Sequence[Any]] = ()) -> dict[Told, Said]:
    """What people said about one task: the score, the preference and every question."""
    said: defaultdict[Told, Said] = defaultdict(Said)
    for score, preference, is_simulated in scores:
        for facet, value in ((SCORE, score), (PREFERENCE, preference)):
            number = None if value is None else float(value)
            said[facet, False] = said[facet, False].and_also(number, is_simulated=is_simulated)
    for question, about_other, answer, is_simulated in answers:
        told = Facet("question", question), bool(about_other)
        said[told] = said[told].and_also(answer, is_simulated=is_simulated)
    return said


def task_labels(task_id: int, *, answers: bool = True) -> dict[Told, Said]:
    """What people said about one task. One exchange with the database."""
    return labels_in(*(found.rows for found in prepared.together(*about_task(task_id, answers=answers))))


def people_about(round_id: int, responses: Collection[int], *, answers: bool) -> dict[int, dict[Facet, Said]]:
    """What people said in a round about single responses, by response and facet. At most two queries."""
    said: defaultdict[int, defaultdict[Facet, Said]] = defaultdict(lambda: defaultdict(Said))
    parameters = [round_id, *responses]
    places = statements.places(responses)
    for response, score, is_simulated in prepared.rows(statements.SCORES_ABOUT.format(responses=places), parameters):
        number = None if score is None else float(score)
        said[response][SCORE] = said[response][SCORE].and_also(number, is_simulated=is_simulated)
    if answers and said:
        for response, question, answer, is_simulated in prepared.rows(
            statements.ANSWERS_ABOUT.format(responses=places), parameters
        ):
            facet = Facet("question", question)
            said[response][facet] = said[response][facet].and_also(answer, is_simulated=is_simulated)
    return {response: dict(facets) for response, facets in said.items()}


@dataclass(frozen=True, slots=True)
class Reply:
    """One repeat of one unit of a run: the state of its call, and of its verdict once there is one."""

    call: str
    verdict: str | None
    score: float | None


Replies = dict[tuple[int, int | None], list[Reply]]  # (response, question or None for the score)


class Asked(NamedTuple):
    """A call of a run with one of its verdicts; `answered`, `verdict` and `score` are None where it has none."""

    call: int
    response: int
    question: int | None
    checklist: int | None
    subdimension: str
    state: str
    answered: int | None
    verdict: str | None
    score: float | None


Listed = Mapping[int, Sequence[tuple[int, str]]]  # the questions of a checklist: id and sub-dimension


def run_labels(run: Run, facet: Facet) -> Labels:
    """What a judge said in a run, its repeats reduced to one value for each unit.

    Answers: the majority of the repeats (maj@k, paper 002, Figure 2); an even split gives no value. Scores: the mean of
    the repeats, rounded half up. Repeats that could not be read are left out of both.
    """
    return _reduced(run, facet, replies_to(run, by_dimension=False))


def labels_by_facet(run: Run) -> dict[Facet, Labels]:
    """The labels of the score and of the pooled questions, as far as the run asks for them. At most two queries."""
    replies = replies_to(run, by_dimension=False)
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
    if facet.numeric:
        return rounded_mean([float(value) for value in values]) if values else None
    return majority(values)


def replies_to(run: Run, *, by_dimension: bool = True) -> Replies:
    """The repeats of every question and score of single responses that a run asks about; one that has no verdict yet
    comes with None. At most two queries.

    The score of a dimension is none of these. Answers to the questions of a dimension are, unless `by_dimension` is
    False: they are no part of the round's.
    """
    calls = run.calls.filter(response__isnull=False, other=None)
    if not by_dimension or "answers" not in _yields(run.method):
        calls = calls.filter(dimension=None)
    fields = ("checklist", "subdimension", "state", "verdicts__question", "verdicts__state", "verdicts__score")
    rows = calls.order_by("position", "verdicts__pk").values_list("pk", "response", "question", *fields)
    asked = [Asked(*row) for row in rows]
    listed: Listed = {}
    if _asks_checklists(run.method, asked):
        of_run = Question.objects.filter(checklist__in=calls.order_by().values("checklist"))
        listed = _by_checklist(of_run.values_list("checklist", "pk", "subdimension"))
    return _by_unit(run.method, asked, listed)


def replies_about(response_id: int, round_id: int) -> dict[int, Replies]:
    """What the judging runs of a round were asked about one response for the round, by run. At most one query more than
    there are such runs that ask whole checklists."""
    by_run: dict[tuple[int, str], list[Asked]] = {}
    for run, method, *row in prepared.rows(statements.REPLIES, [response_id, round_id]):
        by_run.setdefault((run, method), []).append(Asked(*row))
    return {run: _by_unit(method, asked, _listed(method, asked)) for (run, method), asked in by_run.items()}


def replies_around(calls: Sequence[Call]) -> tuple[Replies, Replies]:
    """What a run was asked for its round about the responses of some of its calls: the repeats before these calls were
    settled, and as they are. At most two queries."""
    run, responses = calls[0].run, {call.response_id for call in calls}
    statement = statements.REPLIES_OF_RUN.format(responses=statements.places(responses))
    asked = [Asked(*row) for row in prepared.rows(statement, [run.pk, *responses])]
    listed = _listed(run.method, asked)
    before = _by_unit(run.method, asked, listed, unsettled={call.pk for call in calls})
    return before, _by_unit(run.method, asked, listed)


def _yields(method: str) -> frozenset[str]:
    return PROTOCOLS[method].yields if method in PROTOCOLS else frozenset()


def _asks_checklists(method: str, asked: Iterable[Asked]) -> bool:
    """Whether some of the calls ask several questions at once."""
    return "answers" in _yields(method) and any(one.question is None and one.checklist for one in asked)


def _listed(method: str, asked: Sequence[Asked]) -> Listed:
    """The questions that these calls ask several at once. At most one query."""
    if not _asks_checklists(method, asked):
        return {}
    checklists = {one.checklist for one in asked}
    statement = statements.QUESTIONS.format(checklists=statements.places(checklists))
    return _by_checklist(prepared.rows(statement, list(checklists)))


def _by_checklist(rows: Iterable[tuple[int, int, str]]) -> Listed:
    listed: dict[int, list[tuple[int, str]]] = {}
    for checklist, question, subdimension in rows:
        listed.setdefault(checklist, []).append((question, subdimension))
    return listed


def _units(method: str, one: Asked, listed: Listed) -> list[int | None]:
    """What a call asks about its response: questions, and None for the score."""
    if one.question is not None:
        return [one.question]
    yields = _yields(method)
    questions = listed.get(one.checklist or 0, ()) if "answers" in yields else ()
    units: list[int | None] = [pk for pk, part in questions if one.subdimension in ("", part)]
    return [*units, None] if "score" in yields or not units else units


def _by_unit(method: str, asked: Iterable[Asked], listed: Listed, unsettled: Collection[int] = ()) -> Replies:
    """Replies by unit; those of the `unsettled` calls as they were before."""
    calls: dict[int, list[Asked]] = {}
    for one in asked:
        calls.setdefault(one.call, []).append(one)
    replies: Replies = {}
    for pk, verdicts in calls.items():
        call = verdicts[0]
        state = Call.State.LEASED if pk in unsettled else call.state
        found = {unit: Reply(state, None, None) for unit in _units(method, call, listed)}
        if pk not in unsettled:
            found |= {one.answered: Reply(state, one.verdict, one.score) for one in verdicts if one.verdict is not None}
        for unit, reply in found.items():
            replies.setdefault((call.response, unit), []).append(reply)
    return replies


def _reduced(run: Run, facet: Facet, replies: Replies) -> Labels:
    labels: list[Label] = []
    left_out: dict[Hashable, str] = {}
    units = 0
    for (response, question), repeats in replies.items():
        if (question is None) != (facet.kind == "score") or facet.question not in (None, question):
            continue
        units += 1
        unit: Hashable = response if question is None else (response, question)
        value, gap = outcome(repeats, scored=question is None)
        if value is None:
            left_out[unit] = gap
        else:
            labels.append(Label(unit, f"run {run.pk}", value))
    domain = domain_of(run.round, facet, {label.value for label in labels})
    return Labels(labels, domain, units, left_out=left_out)


def outcome(repeats: Sequence[Reply], *, scored: bool) -> tuple[Value | None, str]:
    """The repeats of one unit as one value; or None, and why there is none."""
    facet = SCORE if scored else QUESTIONS
    values = _read_values(facet, repeats)
    value = reduced(facet, values)
    return value, "" if value is not None else _gap(repeats, tied=bool(values))


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


def domain_of(round: Round | None, facet: Facet, found: Iterable[Value]) -> tuple[Value, ...]:
    """All values that can occur, in order: answers; or the scores of the round's scale, and any other number that
    was found (a judge may leave the scale)."""
    if not facet.numeric:
        return ANSWERS
    scale: Iterable[int] = PREFERENCES if facet == PREFERENCE else round.scores if round is not None else ()
    return tuple(sorted({float(score) for score in scale} | {float(value) for value in found}))

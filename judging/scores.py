"""What a run says about each response, and the mean of it by system: pass rates, scores, and RocketEval's scores.

Only assembly: verdicts in, figures from `judging.agreement` out. Verdicts without a value are treated by a missing
policy where they are answers, and left out where they are scores. Verdicts about pairs score no single response.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, cast

import numpy as np
from django.utils.translation import gettext as _

from annotate.models import Checklist, Dimension, Question, Response
from judging.agreement import (
    Figure,
    MissingPolicy,
    pass_rate,
    pass_rates,
    unsupervised_score,
)
from judging.agreement.means import mean_figure
from judging.agreement.missing import AnswerState
from judging.labels import majority
from judging.models import Run, Verdict
from judging.sentences import translated
from judging.supervision import LEAST_TRAINING, MOST_TRAINED, Judged, Weighed, learned, people_means, weighed

READ = frozenset({Verdict.State.YES, Verdict.State.NO, Verdict.State.NA, Verdict.State.SCORE})


@dataclass(frozen=True)
class Column:
    """One score of a response. `key` names it in exports; values lie between `low` and `high`; `about` says in a
    sentence what it is. Of what is a share the ends are 0 and 1, and pages write it in per cent."""

    key: str
    title: str
    low: float = 0.0
    high: float = 1.0
    about: str = ""
    is_share: bool = False


@dataclass(frozen=True)
class Row:
    """One response: its scores by column key, None where there is none; how many verdicts have a value, and how many
    have none."""

    response: Response
    values: Mapping[str, float | None]
    read: int
    missing: int

    def cells(self, columns: Sequence[Column]) -> list[tuple[float | None, bool]]:
        """The values in the order of the columns, and whether each is a share."""
        return [(self.values[column.key], column.is_share) for column in columns]


class Mean(NamedTuple):
    """One figure of a system, under its heading."""

    title: str
    is_share: bool
    figure: Figure


@dataclass(frozen=True)
class SystemRow:
    """The means over the responses of one system; of all systems together where `system` is empty."""

    system: str
    responses: int
    means: Sequence[Mean]


@dataclass(frozen=True)
class Scores:
    """All that a run says: `rows` in the order of items, `systems` by name with all together last; `notes` in words.

    `weighed`: with supervised scores, what the questions of each checklist weigh in them.
    `answers`, `probabilities`: whether there are any, so that a missing policy or supervised scores make sense.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    systems: Sequence[SystemRow]
    answers: bool
    probabilities: bool
    notes: Sequence[str] = ()
    weighed: Sequence[Weighed] = ()

    @property
    def remarks(self) -> list[str]:
        """What is to be known of the means of all systems together: why one is undefined, what its interval lacks."""
        means = self.systems[-1].means if self.systems else []
        said = ((mean.title, mean.figure.reason or mean.figure.warning) for mean in means)
        return [
            _("%(title)s: %(words)s") % {"title": title, "words": translated(words)} for title, words in said if words
        ]


@dataclass
class Said:
    """The verdicts about one response, repeats together: answers and probabilities by question, scores by dimension
    (None for the response as a whole)."""

    answers: defaultdict[int, list[AnswerState]] = field(default_factory=lambda: defaultdict(list))
    probabilities: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    scores: defaultdict[int | None, list[float]] = field(default_factory=lambda: defaultdict(list))
    read: int = 0
    missing: int = 0

    def pooled(self, questions: Collection[int] | None = None) -> list[AnswerState]:
        """The answers of all repeats, to these questions where they are named."""
        among = (given for question, given in self.answers.items() if questions is None or question in questions)
        return list(chain.from_iterable(among))

    def by_majority(self) -> list[AnswerState]:
        """One answer for each question: that of most of its readable repeats; an even split counts as unreadable."""
        found: list[AnswerState] = []
        for repeats in self.answers.values():
            readable = [state for state in repeats if state in READ]
            found.append(cast(AnswerState, majority(readable) or "unparsed"))
        return found

    def probability(self, question: int) -> float | None:
        """The mean over repeats."""
        given = self.probabilities.get(question)
        return math.fsum(given) / len(given) if given else None


class Asked(NamedTuple):
    """Where a question stands."""

    checklist: int
    dimension: int | None


def scores_of(run: Run, missing: MissingPolicy = "exclude", *, supervised: bool = False) -> Scores:
    """The scores of every response that the run has a verdict about.

    `missing`: what an answer without a value counts as. `supervised`: with RocketEval's supervised scores, which take
    some milliseconds for each response.
    """
    said, asked = _read(run)
    responses = (
        Response.objects.filter(pk__in=run.verdicts.filter(other=None).values("response"))
        .select_related("item")
        .defer("text", "item__instruction")
    )
    ordered = list(responses.order_by("item__external_id", "item", "system"))
    dimensions = {dimension.pk: dimension for dimension in Dimension.objects.filter(project=run.project)}
    measures = [*_answer_measures(said, asked, dimensions, missing), *_score_measures(run, said, dimensions)]
    notes: list[str] = []
    weights: list[Weighed] = []
    probabilities = any(one.probabilities for one in said.values())
    if probabilities:
        measures += _rocketeval_measures(run, said, asked, notes, weights, supervised=supervised)
    columns = [measure.column for measure in measures]
    rows = [
        Row(
            response,
            {measure.column.key: measure.value(response.pk) for measure in measures},
            said[response.pk].read,
            said[response.pk].missing,
        )
        for response in ordered
    ]
    return Scores(columns, rows, _by_system(rows, measures), bool(asked), probabilities, notes, weights)


@dataclass(frozen=True)
class ItemWeights:
    """What the questions of an item's checklist weigh in its supervised scores, the heaviest first; each is with the
    weight that it would have if all weighed the same."""

    checklist: Checklist
    labelled: int
    even: float
    questions: Sequence[tuple[Question, float]]

    @property
    def learned(self) -> bool:
        """Whether any question mattered."""
        return any(weight for _, weight in self.questions)


def weights_of(scores: Scores, rows: Sequence[Row]) -> list[ItemWeights]:
    """The weights of the items of these rows. Two queries."""
    pks = {one.checklist: one for one in scores.weighed}
    items = {row.response.item_id for row in rows}
    checklists = Checklist.objects.filter(pk__in=pks, item__in=items).select_related("item")
    found = []
    for checklist in checklists.prefetch_related("questions").order_by("item__external_id", "pk"):
        one = pks[checklist.pk]
        questions = [(question, one.importances.get(question.pk, 0.0)) for question in checklist.questions.all()]
        questions.sort(key=lambda pair: -pair[1])
        found.append(ItemWeights(checklist, one.labelled, one.even, questions))
    return found


def _read(run: Run) -> tuple[dict[int, Said], dict[int, Asked]]:
    """What was said about every response, and where every question stands. One query."""
    said: defaultdict[int, Said] = defaultdict(Said)
    asked: dict[int, Asked] = {}
    rows = run.verdicts.filter(other=None).order_by("call__position", "pk")
    for response, question, checklist, of, dimension, state, score, probability in rows.values_list(
        "response_id",
        "question_id",
        "question__checklist_id",
        "question__checklist__dimension_id",
        "dimension_id",
        "state",
        "score",
        "probability",
    ):
        one = said[response]
        if state in READ:
            one.read += 1
        else:
            one.missing += 1
        if question is None:
            if score is not None:
                one.scores[dimension].append(score)
            continue
        asked[question] = Asked(checklist, of)
        one.answers[question].append(cast(AnswerState, state))
        if probability is not None:
            one.probabilities[question].append(probability)
    return said, asked


# -- measures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A column, how a response gets its value, and the figures of many responses; by response id."""

    column: Column
    value: Callable[[int], float | None]
    means: Callable[[Sequence[int]], list[Mean]]


def _answer_measures(
    said: Mapping[int, Said],
    asked: Mapping[int, Asked],
    dimensions: Mapping[int, Dimension],
    missing: MissingPolicy,
) -> list[Measure]:
    """The pass rate, with repeats also of the majority, and that of each dimension's questions."""
    if not asked:
        return []
    about = _("The share of yes among the answers to the questions.")
    column = Column("pass_rate", _("Pass rate"), about=about, is_share=True)
    whole = {response: one.pooled() for response, one in said.items()}
    found = [_rate_measure(column, whole, missing)]
    most = max(len(repeats) for one in said.values() for repeats in one.answers.values())
    if most > 1:
        about = _("The same, of one answer for each question: that of most of its repeats.")
        of = f", maj@{most}"
        column = Column("pass_rate_majority", _("Pass rate%(of)s") % {"of": of}, about=about, is_share=True)
        votes = {response: one.by_majority() for response, one in said.items()}
        found.append(_rate_measure(column, votes, missing, of=of))
    for dimension in _named(dimensions, {one.dimension for one in asked.values()}):
        questions = {question for question, one in asked.items() if one.dimension == dimension.pk}
        column = Column(f"pass_rate_{dimension.name}", dimension.name, is_share=True)
        part = {response: one.pooled(questions) for response, one in said.items()}
        found.append(_rate_measure(column, part, missing, of=None))
    return found


def _rate_measure(
    column: Column, answers: Mapping[int, Sequence[AnswerState]], missing: MissingPolicy, *, of: str | None = ""
) -> Measure:
    """A column of pass rates, with their mean over responses (macro) and the rate over all questions (micro). `of` says
    in both headings which answers they are about; where it is None, the mean has the title of the column and is all."""

    def means(responses: Sequence[int]) -> list[Mean]:
        rates = pass_rates([answers[response] for response in responses], missing)
        if of is None:
            return [Mean(column.title, True, rates.macro)]
        return [
            Mean(_("Mean pass rate%(of)s (macro)") % {"of": of}, True, rates.macro),
            Mean(_("DRFR%(of)s (micro)") % {"of": of}, True, rates.micro),
        ]

    return Measure(column, lambda response: pass_rate(answers[response], missing).value, means)


def _score_measures(run: Run, said: Mapping[int, Said], dimensions: Mapping[int, Dimension]) -> list[Measure]:
    """The mean score over repeats: of the response as a whole, and on each dimension."""
    kinds = {kind for one in said.values() for kind in one.scores}
    scale = run.round or run.project
    about = _("The mean of the scores, over the repeats.")
    columns: dict[int | None, Column] = {}
    if None in kinds:
        columns[None] = Column("score", _("Mean score"), scale.scale_low, scale.scale_high, about)
    for dimension in _named(dimensions, kinds):
        columns[dimension.pk] = Column(
            f"score_{dimension.name}", dimension.name, dimension.scale_low, dimension.scale_high
        )
    return [
        _mean_measure(column, {response: one.scores[kind] for response, one in said.items() if kind in one.scores})
        for kind, column in columns.items()
    ]


def _named(dimensions: Mapping[int, Dimension], wanted: Collection[int | None]) -> list[Dimension]:
    """The wanted dimensions by name."""
    return sorted((dimensions[pk] for pk in wanted if pk is not None), key=lambda dimension: dimension.name)


def _mean_measure(column: Column, given: Mapping[int, Sequence[float]]) -> Measure:
    """A column of numbers: of each response their mean."""
    values = {response: math.fsum(numbers) / len(numbers) for response, numbers in given.items() if numbers}

    def means(responses: Sequence[int]) -> list[Mean]:
        there = sorted(values[response] for response in responses if response in values)
        template = Figure(
            name=column.title,
            value=0.0,
            n_units=len(there),
            n_labels=sum(len(given[response]) for response in responses if response in values),
            missing=len(responses) - len(there),
        )
        units = np.ones(len(there), dtype=np.int64)
        figure = mean_figure(
            template,
            np.array(there, dtype=np.float64),
            units,
            "jackknife",
            0.95,
            42,
            1000,
            lowest=column.low,
            highest=column.high,
        )
        return [Mean(column.title, column.is_share, figure)]

    return Measure(column, values.get, means)


# -- RocketEval --------------------------------------------------------------------------------------------------------


def unsupervised_scores(run: Run) -> dict[int, float]:
    """RocketEval's unsupervised score on the scale of the run, by response id; of those that have a probability. One
    query."""
    scale = run.round or run.project
    return _unsupervised(_read(run)[0], scale.scale_low, scale.scale_high)


def _unsupervised(said: Mapping[int, Said], low: int, high: int) -> dict[int, float]:
    scores = {
        response: unsupervised_score([one.probability(question) for question in one.answers], low, high)
        for response, one in said.items()
    }
    return {response: score for response, score in scores.items() if score is not None}


def _rocketeval_measures(
    run: Run,
    said: Mapping[int, Said],
    asked: Mapping[int, Asked],
    notes: list[str],
    weights: list[Weighed],
    *,
    supervised: bool,
) -> list[Measure]:
    scale = run.round or run.project
    low, high = scale.scale_low, scale.scale_high
    alone = _unsupervised(said, low, high)
    column = Column(
        "rocketeval_unsupervised",
        _("RocketEval, unsupervised"),
        low,
        high,
        _("The mean probability of yes over the questions, mapped to the scale of the scores."),
    )
    found = [_mean_measure(column, {response: [score] for response, score in alone.items()})]
    if not supervised:
        return found
    labels = people_means(run)
    if not labels:
        notes.append(_("Nobody has scored these responses in the run's round: there is nothing to learn from."))
        return found
    if sum(response in alone for response in labels) > MOST_TRAINED:
        notes.append(
            _("More than %(most)s responses have scores of people: that is too much to learn from while you wait.")
            % {"most": f"{MOST_TRAINED:,}"}
        )
        return found
    judged = {
        response: Judged(
            asked[next(iter(said[response].answers))].checklist,
            {question: said[response].probability(question) for question in said[response].answers},
            score,
        )
        for response, score in alone.items()
    }
    weights += weighed(judged, labels)
    found_scores = learned(judged, labels, low, high)
    left_out = len(alone) - len(found_scores)
    if left_out:
        notes.append(
            _(
                "%(number)s responses have no supervised score: fewer than %(least)d other responses to their "
                "instruction have scores of people."
            )
            % {"number": f"{left_out:,}", "least": LEAST_TRAINING}
        )
    about = _(
        "Learned from what people gave the other responses to the same instruction, never from what they gave this "
        "one, and combined with the unsupervised score by the weight."
    )
    final = Column("rocketeval_supervised", _("RocketEval, supervised"), low, high, about)
    weight = Column("rocketeval_weight", _("Weight of the supervised score"), is_share=True)
    found.append(_mean_measure(final, {response: [one.final] for response, one in found_scores.items()}))
    found.append(_mean_measure(weight, {response: [one.weight] for response, one in found_scores.items()}))
    return found


# -- systems -----------------------------------------------------------------------------------------------------------


def _by_system(rows: Sequence[Row], measures: Sequence[Measure]) -> list[SystemRow]:
    systems: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        systems[row.response.system].append(row.response.pk)
    groups = sorted(systems.items())
    if len(groups) > 1:
        groups.append(("", [row.response.pk for row in rows]))
    return [
        SystemRow(system, len(responses), [mean for measure in measures for mean in measure.means(responses)])
        for system, responses in groups
    ]

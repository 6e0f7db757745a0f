"""What a researcher reads about one annotator of a round: agreement with the others, pace, habits, gold units.

Figures come with their n; a figure without anything to count is None. Annotators never see any of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median, quantiles
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotate import training
from annotate.contents import preference_labels, turned
from annotate.models import Annotation, Answer, Assignment, Participation, Round, User

LEFT, RIGHT = (1, 2), (4, 5)


class Agreement(NamedTuple):
    """With the others on one facet: how many of `n` comparisons (a unit, another annotator) are equal, in [0, 1], and
    the mean absolute difference of numbers (None for answers)."""

    facet: str
    units: int
    n: int
    equal: float | None
    difference: float | None


class Pace(NamedTuple):
    """Active seconds a task, over n tasks: quartiles, the shortest and the longest."""

    n: int
    shortest: int
    lower: float
    median: float
    upper: float
    longest: int


class Share(NamedTuple):
    """How often a value was given by the annotator and by the others, in [0, 1]."""

    value: str
    n: int
    share: float | None
    others: float | None


class Shares(NamedTuple):
    facet: str
    n: int
    others_n: int
    rows: Sequence[Share]


class Habit(NamedTuple):
    """Of n pairs in which one side was better: how often it was the left one, as displayed."""

    n: int
    left: int
    share: float | None


@dataclass(frozen=True)
class Sheet:
    agreement: Sequence[Agreement]
    pace: Pace | None
    others_pace: Pace | None
    shares: Sequence[Shares]
    habit: Habit | None  # of rounds of pairs
    gold: training.Met | None  # where gold units are mixed in
    qualification: Participation | None  # in the qualification set, where there is one
    cannot_tell: int  # answers that count as missing
    answers: int  # answers in all
    skipped: Sequence[Assignment]
    flagged: Sequence[Annotation]


def sheet_of(round: Round, annotator: User) -> Sheet:
    """All figures of one annotator. The number of queries does not depend on the number of labels."""
    mine, others = _said(round, annotator)
    counted = Annotation.objects.counted(round).select_related("task")
    own = counted.filter(annotator=annotator)
    answers = [value for facet, values in mine.items() if facet == "answers" for value in values.values()]
    unsure = Answer.objects.filter(annotation__in=own, value=Answer.Value.UNSURE).count()
    return Sheet(
        agreement=[_agreement(facet, mine[facet], others[facet]) for facet in _facets(round)],
        pace=_pace(own.values_list("active_seconds", flat=True)),
        others_pace=_pace(counted.exclude(annotator=annotator).values_list("active_seconds", flat=True)),
        shares=_shares(round, own, counted.exclude(annotator=annotator)),
        habit=_habit(own) if "preference" in round.shape.parts else None,
        gold=training.gold_accuracy(round, annotator) if round.gold_id else None,
        qualification=Participation.objects.filter(round=round.qualification_id, annotator=annotator).first(),
        cannot_tell=unsure,
        answers=len(answers) + unsure,
        skipped=list(
            Assignment.objects.filter(task__round=round, annotator=annotator)
            .skipped()
            .select_related("task__item")
            .order_by("task__position")
        ),
        flagged=list(own.exclude(flags={}).select_related("task__item").order_by("task__position")),
    )


Values = dict[Hashable, Any]


def _facets(round: Round) -> list[str]:
    names = {"questions": "answers", "score": "score", "preference": "preference"}
    return [names[part] for part in round.shape.parts if part in names]


def _said(round: Round, annotator: User) -> tuple[dict[str, Values], dict[str, dict[Hashable, list[Any]]]]:
    """By facet and unit: what the annotator said, and what the others said about the same tasks. Two queries."""
    mine: dict[str, Values] = defaultdict(dict)
    others: dict[str, dict[Hashable, list[Any]]] = defaultdict(lambda: defaultdict(list))
    own = Annotation.objects.counted(round).filter(annotator=annotator)
    shared = Annotation.objects.counted(round).filter(task__in=own.values("task"))

    def note(facet: str, unit: Hashable, who: int, value: Any) -> None:
        if who == annotator.pk:
            mine[facet][unit] = value
        else:
            others[facet][unit].append(value)

    for task, who, score, preference in shared.order_by().values_list("task", "annotator", "score", "preference"):
        if score is not None:
            note("score", task, who, score)
        if preference is not None:
            note("preference", task, who, preference)
    said = Answer.objects.filter(annotation__in=shared).exclude(value=Answer.Value.UNSURE).order_by()
    rows = said.values_list("annotation__task", "annotation__annotator", "question", "about_other", "value")
    for task, who, question, about_other, value in rows:
        note("answers", (task, question, about_other), who, value)
    return mine, others


def _agreement(facet: str, mine: Values, others: Mapping[Hashable, Sequence[Any]]) -> Agreement:
    compared = [(mine[unit], value) for unit in mine for value in others.get(unit, ())]
    return Agreement(
        {"score": _("Scores"), "preference": _("Preferences"), "answers": _("Answers")}[facet],
        sum(1 for unit in mine if others.get(unit)),
        len(compared),
        mean(one == other for one, other in compared) if compared else None,
        mean(abs(one - other) for one, other in compared) if compared and facet != "answers" else None,
    )


def _pace(seconds: Iterable[int]) -> Pace | None:
    taken = sorted(seconds)
    if not taken:
        return None
    lower, _middle, upper = quantiles(taken, n=4, method="inclusive") if len(taken) > 1 else [taken[0]] * 3
    return Pace(len(taken), taken[0], lower, median(taken), upper, taken[-1])


def _shares(round: Round, own: Any, others: Any) -> list[Shares]:
    """How often every value was given, facet by facet."""
    return [found for part in round.shape.parts if (found := _shares_of(part, round, own, others))]


def _shares_of(part: str, round: Round, own: Any, others: Any) -> Shares | None:
    if part not in ("questions", "score", "preference", "effect"):
        return None
    values: dict[Any, str]
    if part == "questions":
        title, column = _("Answers"), "value"
        values = {value.value: str(value.label) for value in Answer.Value}
        own, others = (Answer.objects.filter(annotation__in=said) for said in (own, others))
    elif part == "score":
        title, column = _("Scores"), "score"
        values = {score: f"{score} {text}".strip() for score, text in round.anchored_scores}
    elif part == "preference":
        title, column = _("Preferences, of the pair in its stored order"), "preference"
        values = {**preference_labels(_("The first"), _("The second"))}
    else:
        title, column = _("Effect of the checklist"), "effect"
        values = {effect.value: str(effect.label) for effect in Annotation.Effect}
    mine, theirs = (Counter(said.order_by().values_list(column, flat=True)) for said in (own, others))
    n, others_n = mine.total(), theirs.total()
    rows = [
        Share(text, mine[value], mine[value] / n if n else None, theirs[value] / others_n if others_n else None)
        for value, text in values.items()
        if part != "questions" or mine[value] or theirs[value]  # not every round offers every answer
    ]
    return Shares(title, n, others_n, rows)


def _habit(own: Any) -> Habit:
    """Ties say nothing about a side."""
    shown = [turned(said, swapped=bool(swapped)) for said, swapped in own.values_list("preference", "task__swapped")]
    left, right = (sum(1 for one in shown if one in side) for side in (LEFT, RIGHT))
    return Habit(left + right, left, left / (left + right) if left + right else None)

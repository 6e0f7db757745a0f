"""Agreement of a round as it stands now: among people, and of every judging run with the people.

Everything is read from histograms of count patterns, so no figure depends on the order in which labels came.
Machine raters never enter a figure about people.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.db.models import Count, Max, QuerySet, Sum

from annotate.models import Annotation, Question, Round
from judging.agreement import Figure, Histogram, Label, alpha_with_interval, percent_agreement, prevalence
from judging.labels import (
    QUESTIONS,
    SCORE,
    Facet,
    Labels,
    labels_by_facet,
    people_labels,
    reduced,
    run_labels,
)
from judging.models import Call, Run, Verdict

SHOWN_QUESTIONS = 20
TENTATIVE = 0.667
RELIABLE = 0.8

GAPS = {
    "pending": "not asked yet",
    "failed": "failed",
    "unreadable": "unreadable",
    "tied": "with repeats evenly split",
    "people": "without people",
    "people_tied": "with people evenly split",
}


@dataclass(frozen=True)
class Agreement:
    """Agreement of several raters on one facet: among people, or of a judge with the people.

    labels, simulated   all labels of people, and how many of them simulated annotators made
    raters              people who labelled
    gaps                units left out, by reason (a key of `GAPS`); only for a judge
    """

    facet: Facet
    alpha: Figure
    percent: Figure
    labels: int
    simulated: int
    raters: int
    gaps: Sequence[tuple[str, int]] = ()

    @property
    def title(self) -> str:
        return "Scores" if self.facet.kind == "score" else "Answers"

    @property
    def gaps_in_words(self) -> list[tuple[str, int]]:
        return [(GAPS[name], number) for name, number in self.gaps]

    @property
    def standing(self) -> str:
        return standing(self.alpha)


@dataclass(frozen=True)
class QuestionRow:
    """How far people agree on one question. `yes` is the share of yes, None without labels."""

    pk: int
    text: str
    language: str
    item: int
    external_id: str
    position: int
    alpha: Figure
    percent: Figure
    yes: float | None


@dataclass(frozen=True)
class JudgeRow:
    """How far one run of a judge agrees with the people on one facet."""

    run: Run
    agreement: Agreement


@dataclass(frozen=True)
class Panel:
    """All that the agreement panel of a round shows. `questions` are the worst of `question_count`."""

    people: Sequence[Agreement]
    questions: Sequence[QuestionRow]
    question_count: int
    judges: Sequence[JudgeRow]

    @property
    def lines(self) -> list[tuple[str, Figure]]:
        """Every alpha with the words that stand beside it in the chart."""
        return [(f"People, {part.title.lower()}", part.alpha) for part in self.people] + [
            (f"{row.run.judge.name} and people, {row.agreement.title.lower()}", row.agreement.alpha)
            for row in self.judges
        ]

    @property
    def labels(self) -> int:
        return sum(part.labels for part in self.people)

    @property
    def simulated(self) -> int:
        return sum(part.simulated for part in self.people)


def version(round: Round) -> str:
    """A string that changes whenever the panel does: four small queries, no label is read."""
    annotations = Annotation.objects.counted(round).aggregate(
        n=Count("pk"), newest=Max("pk"), versions=Sum("version"), saved=Max("saved_at")
    )
    verdicts = Verdict.objects.filter(run__round=round).aggregate(n=Count("pk"), newest=Max("pk"))
    calls = Call.objects.filter(run__round=round).order_by("run", "state")
    runs = Run.objects.filter(round=round).order_by("pk").values_list("pk", "state", "judge__name")
    state = (
        settings.VERSION,
        round.pk,
        round.state,
        tuple(annotations.values()),
        tuple(verdicts.values()),
        list(calls.values_list("run", "state").annotate(n=Count("pk"))),
        list(runs),
    )
    return hashlib.sha256(repr(state).encode()).hexdigest()[:32]


def histogram(round: Round, facet: Facet, run: Run | None = None) -> Histogram:
    """Count patterns of a facet: of the people's labels, or, with a run, of two raters: the judge, and the
    people's consensus (the majority of answers, the rounded mean of scores)."""
    people = people_labels(round, facet)
    if run is None:
        return people.histogram()
    return _joint(facet, people, run_labels(run, facet))[0]


def panel(round: Round, *, all_questions: bool = False) -> Panel:
    """The panel of a round: five queries, and one for each of its judging runs."""
    labels = {SCORE: people_labels(round, SCORE)}
    rows: list[QuestionRow] = []
    count = 0
    if round.uses_checklist:
        labels[QUESTIONS] = people_labels(round, QUESTIONS)
        rows, count = _question_rows(round, labels[QUESTIONS], None if all_questions else SHOWN_QUESTIONS)
    judges = []
    for run in _runs(round):
        for facet, machine in labels_by_facet(run).items():
            people = labels.get(facet) or Labels([], machine.domain, 0)
            judges.append(JudgeRow(run, _with_judge(facet, people, machine)))
    return Panel([_among_people(facet, found) for facet, found in labels.items()], rows, count, judges)


def standing(alpha: Figure) -> str:
    """What the interval says about alpha, in a few words; empty without an interval.

    Its lower bound decides, so that few units cannot pass for agreement by luck.
    """
    if alpha.low is None or alpha.high is None:
        return ""
    if alpha.low >= RELIABLE:
        return f"reliable, all of it from {RELIABLE} up"
    if alpha.low >= TENTATIVE:
        return f"tentative, all of it from {TENTATIVE} up"
    if alpha.high >= TENTATIVE:
        return f"open, it begins below {TENTATIVE}"
    return f"low, all of it below {TENTATIVE}"


def _runs(round: Round) -> QuerySet[Run]:
    shown = (Run.State.RUNNING, Run.State.PAUSED, Run.State.FINISHED)
    return Run.objects.filter(round=round, kind=Run.Kind.JUDGING, state__in=shown).select_related("judge")


def _among_people(facet: Facet, labels: Labels) -> Agreement:
    found = labels.histogram()
    return Agreement(
        facet=facet,
        alpha=alpha_with_interval(found, facet.level),
        percent=percent_agreement(found),
        labels=len(labels.labels),
        simulated=labels.simulated,
        raters=labels.raters,
    )


def _with_judge(facet: Facet, people: Labels, machine: Labels) -> Agreement:
    found, gaps = _joint(facet, people, machine)
    alpha, percent = alpha_with_interval(found, facet.level), percent_agreement(found)
    if not found.n_units:
        reason = _why_nothing_to_compare(facet, people, machine)
        alpha, percent = replace(alpha, reason=reason), replace(percent, reason=reason)
    return Agreement(
        facet=facet,
        alpha=alpha,
        percent=percent,
        labels=len(people.labels),
        simulated=people.simulated,
        raters=people.raters,
        gaps=[(name, gaps[name]) for name in GAPS if gaps[name]],
    )


def _joint(facet: Facet, people: Labels, machine: Labels) -> tuple[Histogram, Counter[str]]:
    """The people's consensus and the judge as two raters, and why units of the run are left out.

    A unit left out is counted once: under the judge's reason where it has one, else under the people's.
    """
    labelled = people.by_unit()
    gaps = Counter(machine.gaps)
    pairs: list[Label] = []
    for unit, _, value in machine.labels:
        consensus = reduced(facet, labelled.get(unit, []))
        if consensus is None:
            gaps["people_tied" if unit in labelled else "people"] += 1
        else:
            pairs += [Label(unit, "people", consensus), Label(unit, "judge", value)]
    domain = tuple(sorted({*people.domain, *machine.domain})) if facet.kind == "score" else people.domain
    compared = Histogram.from_labels(pairs, domain)
    if gaps:
        compared.add((0,) * len(domain), sum(gaps.values()))
    return compared, gaps


def _why_nothing_to_compare(facet: Facet, people: Labels, machine: Labels) -> str:
    what = "score" if facet.kind == "score" else "answer"
    if not people.labels:
        return f"Undefined: no person has given a{'n' if what == 'answer' else ''} {what} yet."
    if not machine.labels:
        return f"Undefined: the judge has no readable {what} yet."
    return "Undefined: no unit has both a consensus of people and a value of the judge."


def _question_rows(round: Round, labels: Labels, most: int | None) -> tuple[list[QuestionRow], int]:
    """The rows of the questions on which people agree least, and how many questions there are. One query."""
    questions = (
        Question.objects.filter(checklist__tasks__round=round)
        .annotate(asked=Count("checklist__tasks"))
        .order_by("checklist__item", "checklist", "position")
        .values_list(
            "pk",
            "text",
            "checklist__item__language",
            "checklist__item",
            "checklist__item__external_id",
            "position",
            "asked",
        )
    )
    said = labels.by_question()
    found = []
    for pk, text, language, item, external_id, position, asked in questions:
        patterns = Labels(said.get(pk, []), labels.domain, asked).histogram()
        found.append((patterns, (pk, text, language, item, external_id, position)))
    # Sorting is stable, so questions with the same agreement stay in the order of their items.
    found.sort(key=lambda row: _observed(row[0]))
    return [
        QuestionRow(
            *facts,
            alpha=alpha_with_interval(patterns, "nominal"),
            percent=percent_agreement(patterns),
            yes=prevalence(patterns).get("yes"),
        )
        for patterns, facts in found[:most]
    ], len(found)


def _observed(patterns: Histogram) -> float:
    """Percent agreement to sort by; questions without pairable labels come last."""
    value = percent_agreement(patterns).value
    return 2.0 if value is None else value

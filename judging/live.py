"""Agreement of a round as it stands now: among people, and of every judging run with the people.

Everything is read from cells (see `judging.cells`), so it costs the number of patterns, not of labels, and no figure
depends on the order in which labels came. Machine raters never enter a figure about people.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from django.conf import settings
from django.db.models import QuerySet

from annotate.models import Question, Round
from judging.agreement import Figure, Histogram, Value, ac1, ac2, alpha_with_interval, percent_agreement, prevalence
from judging.cells import Place, by_series, key_of, read, shown, values_of
from judging.labels import ANSWERS, QUESTIONS, Facet, domain_of, reduced
from judging.models import Cell, Ledger, Run, Series

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
ALL_LABELS = "Of all labels"
WHOSE = {"people": "The people", "judge": "The judge"}


@dataclass(frozen=True)
class Agreement:
    """Agreement of several raters on one facet: among people, or of a judge with the people.

    gwet                AC1 of answers, AC2 with ordinal weights of scores and preferences
    shares              how often each value was given, in [0, 1], by "people" and, beside a judge, by "judge": of all
                        labels, or of the units compared; without labels empty
    labels, simulated   all labels of people, and how many of them simulated annotators made
    gaps                units left out, by reason (a key of `GAPS`); only for a judge
    """

    facet: Facet
    alpha: Figure
    percent: Figure
    gwet: Figure
    shares: Mapping[str, Mapping[Value, float]]
    labels: int
    simulated: int
    gaps: Sequence[tuple[str, int]] = ()

    @property
    def title(self) -> str:
        return {"score": "Scores", "preference": "Preferences"}.get(self.facet.kind, "Answers")

    @property
    def gaps_in_words(self) -> list[tuple[str, int]]:
        return [(GAPS[name], number) for name, number in self.gaps]

    @property
    def shares_in_words(self) -> list[tuple[str, list[tuple[str, float]]]]:
        """Who, and how often they gave each value; nobody without labels."""
        beside = "judge" in self.shares
        return [
            (WHOSE[name] if beside else ALL_LABELS, [(shown(value), share) for value, share in given.items()])
            for name, given in self.shares.items()
            if given
        ]

    @property
    def standing(self) -> str:
        return standing(self.alpha)


@dataclass(frozen=True)
class QuestionRow:
    """How far people agree on one question. `gwet` is AC1, `yes` the share of yes, None without labels."""

    pk: int
    text: str
    language: str
    item: int
    external_id: str
    position: int
    alpha: Figure
    percent: Figure
    gwet: Figure
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
    def alphas(self) -> dict[str, tuple[str, Figure]]:
        """Every alpha with the words that stand beside it in a chart, under a name that stays the same."""
        found = {f"people/{part.facet.kind}": (f"People, {part.title.lower()}", part.alpha) for part in self.people}
        for row in self.judges:
            words = f"{row.run.judge.name} and people, {row.agreement.title.lower()}"
            found[f"run/{row.run.pk}/{row.agreement.facet.kind}"] = (words, row.agreement.alpha)
        return found

    @property
    def lines(self) -> list[tuple[str, Figure]]:
        return list(self.alphas.values())

    @property
    def labels(self) -> int:
        return sum(part.labels for part in self.people)

    @property
    def simulated(self) -> int:
        return sum(part.simulated for part in self.people)


def version(round: Round) -> str:
    """A string that changes whenever the panel does: two small queries, no cell is read."""
    state = (
        settings.VERSION,
        round.pk,
        round.state,
        Ledger.objects.filter(round=round).values_list("revision", flat=True).first(),
        list(_runs(round).order_by("pk").values_list("pk", "state", "judge__name", "judge__is_weak")),
    )
    return hashlib.sha256(repr(state).encode()).hexdigest()[:32]


def histogram(round: Round, facet: Facet, run: Run | None = None) -> Histogram:
    """Count patterns of a facet: of the people's labels, or, with a run, of two raters: the judge, and the
    people's consensus (the majority of answers, the rounded mean of scores).

    For a run the facet is the score or all questions; single questions are not kept beside judges.
    """
    series = Series.objects.filter(round=round, run=run, kind=facet.kind, question=facet.question)
    found = sum(_contents(series).values(), Counter[Place]())
    return _people(round, facet, found) if run is None else _joint(round, facet, found)[0]


def panel(round: Round, *, all_questions: bool = False) -> Panel:
    """The panel of a round: six queries, whatever it holds."""
    runs = {run.pk: run for run in _runs(round)}
    wanted = Series.objects.filter(round=round, question=None)
    series = {key_of(row): row.pk for row in wanted if row.run_id is None or row.run_id in runs}
    contents = _contents(wanted)
    people = [
        _among_people(round, key.facet, contents.get(pk, Counter())) for key, pk in series.items() if key.run is None
    ]
    labelled = {part.facet: part for part in people}
    judges = [
        JudgeRow(runs[key.run], _with_judge(round, key.facet, contents[pk], labelled.get(key.facet)))
        for key, pk in sorted(series.items(), key=lambda pair: -(pair[0].run or 0))
        if key.run is not None and pk in contents
    ]
    rows: list[QuestionRow] = []
    count = 0
    if QUESTIONS in labelled:
        count = Ledger.objects.filter(round=round).values_list("questions", flat=True).first() or 0
        rows = _question_rows(round, None if all_questions else SHOWN_QUESTIONS)
    return Panel(people, rows, count, judges)


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


def _contents(series: QuerySet[Series]) -> dict[int, Counter[Place]]:
    return by_series(Cell.objects.filter(series__in=series.order_by()))


def _people(round: Round, facet: Facet, contents: Counter[Place]) -> Histogram:
    """The labels of people; of a series of a run, the labels beside the judge's."""
    said: Counter[tuple[tuple[Value, int], ...]] = Counter()
    for place, units in contents.items():
        said[tuple(values_of(place.pattern, facet).items())] += units
    domain = _domain(round, facet, {value for counts in said for value, _ in counts})
    histogram = Histogram(domain)
    for counts, units in said.items():
        given = dict(counts)
        histogram.add([given.get(value, 0) for value in domain], units)
    return histogram


def _domain(round: Round, facet: Facet, found: Collection[Value]) -> tuple[Value, ...]:
    """All values that can occur, of which Gwet's coefficients depend on the number: without "na" where the round does
    not offer it and nobody gave it."""
    values = domain_of(round, facet, found)
    return values if round.allow_na or "na" in found else tuple(value for value in values if value != "na")


def _gwet(histogram: Histogram, facet: Facet) -> Figure:
    return ac2(histogram, "ordinal") if facet.numeric else ac1(histogram)


def _among_people(round: Round, facet: Facet, contents: Counter[Place]) -> Agreement:
    found = _people(round, facet, contents)
    return Agreement(
        facet=facet,
        alpha=alpha_with_interval(found, facet.level),
        percent=percent_agreement(found),
        gwet=_gwet(found, facet),
        shares={"people": prevalence(found)},
        labels=sum(sum(pattern) * units for pattern, units in found.patterns.items()),
        simulated=sum(place.simulated * units for place, units in contents.items()),
    )


def _with_judge(round: Round, facet: Facet, contents: Counter[Place], people: Agreement | None) -> Agreement:
    found, gaps, pairs = _joint(round, facet, contents)
    alpha, percent, gwet = alpha_with_interval(found, facet.level), percent_agreement(found), _gwet(found, facet)
    labels = people.labels if people else 0
    if not found.n_units:
        judged = any(place.judge not in GAPS for place in contents)
        reason = _why_nothing_to_compare(facet, labels, judged=judged)
        alpha, percent, gwet = (replace(figure, reason=reason) for figure in (alpha, percent, gwet))
    return Agreement(
        facet=facet,
        alpha=alpha,
        percent=percent,
        gwet=gwet,
        shares={
            name: _shares(found.domain, ((pair[place], units) for pair, units in pairs.items()))
            for place, name in enumerate(("people", "judge"))
        },
        labels=labels,
        simulated=people.simulated if people else 0,
        gaps=[(name, gaps[name]) for name in GAPS if gaps[name]],
    )


def _shares(domain: Iterable[Value], given: Iterable[tuple[Value, int]]) -> dict[Value, float]:
    """How often each value was given, in the order of the domain; empty where nothing was."""
    numbers: Counter[Value] = Counter()
    for value, units in given:
        numbers[value] += units
    total = numbers.total()
    return {value: numbers[value] / total for value in domain} if total else {}


def _joint(
    round: Round, facet: Facet, contents: Counter[Place]
) -> tuple[Histogram, Counter[str], Counter[tuple[Value, Value]]]:
    """The people's consensus and the judge as two raters; why units of the run are left out; and how many units have
    each pair of consensus and judge.

    A unit left out is counted once: under the judge's reason where it has one, else under the people's.
    """
    gaps: Counter[str] = Counter()
    pairs: Counter[tuple[Value, Value]] = Counter()
    occurring: set[Value] = set()
    for place, units in contents.items():
        said = values_of(place.pattern, facet)
        occurring |= said.keys()
        if place.judge in GAPS:
            gaps[place.judge] += units
            continue
        consensus = reduced(facet, [value for value, number in said.items() for _ in range(number)])
        if consensus is None:
            gaps["people_tied" if said else "people"] += units
        else:
            pairs[consensus, read(place.judge, facet)] += units
        occurring.add(read(place.judge, facet))
    domain = _domain(round, facet, occurring | {consensus for consensus, _ in pairs})
    compared = Histogram(domain)
    for (consensus, judge), units in pairs.items():
        compared.add([(value == consensus) + (value == judge) for value in domain], units)
    if gaps:
        compared.add((0,) * len(domain), gaps.total())
    return compared, gaps, pairs


def _why_nothing_to_compare(facet: Facet, labels: int, *, judged: bool) -> str:
    what = "score" if facet.kind == "score" else "answer"
    if not labels:
        return f"Undefined: no person has given a{'n' if what == 'answer' else ''} {what} yet."
    if not judged:
        return f"Undefined: the judge has no readable {what} yet."
    return "Undefined: no unit has both a consensus of people and a value of the judge."


def worst_questions(round: Round) -> QuerySet[Series]:
    """The series of single questions, those with the least agreement first; an index has them in this order."""
    everything = Series.objects.filter(round=round, run=None, kind=Series.Kind.QUESTION)
    return everything.order_by("observed", "pk")


def _question_rows(round: Round, most: int | None) -> list[QuestionRow]:
    """The rows of the questions on which people agree least, or of all. Three queries.

    Those with the same agreement stay in the order of their items, in which their series were made.
    """
    everything = worst_questions(round)
    chosen = dict(everything.values_list("pk", "question")[:most])
    questions = Question.objects.select_related("checklist__item").only(
        "text", "position", "checklist__item__language", "checklist__item__external_id"
    )
    texts = {row.pk: row for row in questions.filter(series__in=chosen if most else everything)}
    contents = _contents(Series.objects.filter(pk__in=chosen) if most else everything)
    rows = []
    for pk, question in chosen.items():
        asked = texts[question]
        item = asked.checklist.item
        assert item is not None  # noqa: S101 - tasks pin checklists of items
        cells = contents.get(pk, Counter())
        patterns = tuple(sorted((place.pattern, units) for place, units in cells.items()))
        alpha, percent, gwet, yes = _of_question(patterns, with_na=round.allow_na)
        rows.append(
            QuestionRow(
                pk=asked.pk,
                text=asked.text,
                language=item.language,
                item=item.pk,
                external_id=item.external_id,
                position=asked.position,
                alpha=alpha,
                percent=percent,
                gwet=gwet,
                yes=yes,
            )
        )
    return rows


@lru_cache(maxsize=4096)
def _of_question(cells: tuple[tuple[str, int], ...], *, with_na: bool) -> tuple[Figure, Figure, Figure, float | None]:
    """Alpha, percent agreement, AC1 and the share of yes. Few units give the same cells to many questions, at every
    poll."""
    counted = [(values_of(pattern, QUESTIONS), units) for pattern, units in cells]
    with_na = with_na or any("na" in said for said, _ in counted)
    domain = [value for value in ANSWERS if value != "na" or with_na]
    histogram = Histogram(domain)
    for said, units in counted:
        histogram.add([said.get(value, 0) for value in domain], units)
    return (
        alpha_with_interval(histogram, "nominal"),
        percent_agreement(histogram),
        ac1(histogram),
        prevalence(histogram).get("yes"),
    )

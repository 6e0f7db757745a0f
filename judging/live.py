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

import numpy as np
from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotate.models import Question, Round
from judging.agreement import (
    PREFERENCES,
    CrossTable,
    Figure,
    Histogram,
    Value,
    ac1,
    ac2,
    alpha_with_interval,
    percent_agreement,
    pld,
    pld_between_people,
    preference_from_mean,
    prevalence,
)
from judging.cells import Place, by_series, key_of, read, shown, values_of
from judging.labels import ANSWERS, PREFERENCE, QUESTIONS, Facet, domain_of
from judging.models import Cell, Ledger, Run, Series
from judging.voices import consensus_of

SHOWN_QUESTIONS = 20
TENTATIVE = 0.667
RELIABLE = 0.8
FEWEST_UNITS = 5  # with labels of two people, for a word about alpha

GAPS = {
    "pending": _("not asked yet"),
    "failed": _("failed"),
    "unreadable": _("unreadable"),
    "tied": _("with repeats evenly split"),
    "people": _("without people"),
    "people_tied": _("with people evenly split"),
}
ALL_LABELS = _("Of all labels")
WHOSE = {"people": _("The people"), "judge": _("The judge")}
TITLES = {"score": _("Scores"), "preference": _("Preferences")}
OF_PEOPLE = {"score": _("People, scores"), "preference": _("People, preferences")}
WITH_PEOPLE = {"score": _("%(judge)s and people, scores"), "preference": _("%(judge)s and people, preferences")}
UNITS = {
    "score": _("A unit of the scores is a response."),
    "preference": _("A unit of the preferences is two responses to the same instruction."),
}
LEVELS = {"ordinal": _("ordinal"), "nominal": _("nominal")}
ANSWER_WORDS = {
    "yes": _("yes"),
    "no": _("no"),
    "na": _("na"),
    "win": _("the first is better"),
    "tie": _("near-identical"),
    "loss": _("the second is better"),
}
# Kept in English: see `judging.sentences`.
NOT_GIVEN = {
    "score": "Undefined: no person has given a score yet.",
    "preference": "Undefined: no person has given a preference yet.",
}
NOT_READABLE = {
    "score": "Undefined: the judge has no readable score yet.",
    "preference": "Undefined: the judge has no readable preference yet.",
}


@dataclass(frozen=True)
class Agreement:
    """Agreement of several raters on one facet: among people, or of a judge with the people.

    gwet                AC1 of answers, AC2 with ordinal weights of scores and preferences
    shares              how often each value was given, in [0, 1], by "people" and, beside a judge, by "judge": of all
                        labels, or of the units compared; without labels empty
    labels, simulated   all labels of people, and how many of them simulated annotators made
    wpld                of preferences the weighted preference label distance, 0 to 2 (Cook et al. 2024, TICK)
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
    wpld: Figure | None = None

    @property
    def title(self) -> str:
        return str(TITLES.get(self.facet.kind, _("Answers")))

    @property
    def unit(self) -> str:
        """What one unit is, in a sentence."""
        return str(UNITS.get(self.facet.kind, _("A unit of the answers is a question about a response.")))

    @property
    def level(self) -> str:
        """The level of measurement, in words."""
        return str(LEVELS[self.facet.level])

    @property
    def gaps_in_words(self) -> list[tuple[str, int]]:
        return [(str(GAPS[name]), number) for name, number in self.gaps]

    @property
    def shares_in_words(self) -> list[tuple[str, list[tuple[str, float]]]]:
        """Who, and how often they gave each value; nobody without labels."""
        beside = "judge" in self.shares
        return [
            (str(WHOSE[name] if beside else ALL_LABELS), [(_in_words(value), share) for value, share in given.items()])
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
        found: dict[str, tuple[str, Figure]] = {}
        for part in self.people:
            kind = part.facet.kind
            found[f"people/{kind}"] = (str(OF_PEOPLE.get(kind, _("People, answers"))), part.alpha)
        for row in self.judges:
            kind = row.agreement.facet.kind
            words = WITH_PEOPLE.get(kind, _("%(judge)s and people, answers")) % {"judge": row.run.judge.name}
            found[f"run/{row.run.pk}/{kind}"] = (words, row.agreement.alpha)
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


def version(round: Round, beside: str = "") -> str:
    """A string that changes whenever the panel does, or what stands beside it: two small queries, no cell is read."""
    state = (
        settings.VERSION,
        round.pk,
        round.state,
        Ledger.objects.filter(round=round).values_list("revision", flat=True).first(),
        list(_runs(round).order_by("pk").values_list("pk", "state", "judge__name", "judge__is_weak")),
        beside,
    )
    return hashlib.sha256(repr(state).encode()).hexdigest()[:32]


def histogram(round: Round, facet: Facet, run: Run | None = None) -> Histogram:
    """Count patterns of a facet: of the people's labels, or, with a run, of two raters: the judge, and the
    people's consensus (the majority of answers, the rounded mean of scores, the bin of the mean of preferences).

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


def _in_words(value: Value) -> str:
    return str(ANSWER_WORDS.get(shown(value), shown(value)))


def standing(alpha: Figure) -> str:
    """What the interval says about alpha, in a few words; empty without an interval, or with one of no width.

    Its lower bound decides, so that few units cannot pass for agreement by luck. With very few it says nothing.
    """
    if alpha.low is None or alpha.high is None or alpha.low == alpha.high:
        return ""
    if alpha.n_units < FEWEST_UNITS:
        return gettext("nothing yet, with fewer than %(units)s units") % {"units": FEWEST_UNITS}
    if alpha.low >= RELIABLE:
        return gettext("reliable, all of it from %(bound)s up") % {"bound": RELIABLE}
    if alpha.low >= TENTATIVE:
        return gettext("tentative, all of it from %(bound)s up") % {"bound": TENTATIVE}
    if alpha.high >= TENTATIVE:
        return gettext("open, it begins below %(bound)s") % {"bound": TENTATIVE}
    return gettext("low, all of it below %(bound)s") % {"bound": TENTATIVE}


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
        wpld=pld_between_people(_binned(found)).wpld if facet == PREFERENCE else None,
    )


def _binned(found: Histogram) -> Histogram:
    """The steps of the sliding scale as loss, tie and win."""
    bins = [PREFERENCES.index(preference_from_mean(float(step))) for step in found.domain]
    binned = Histogram(PREFERENCES)
    for pattern, units in found.patterns.items():
        counts = [0, 0, 0]
        for place, number in zip(bins, pattern, strict=True):
            counts[place] += number
        binned.add(counts, units)
    return binned


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
        wpld=_distance(pairs, gaps.total()) if facet == PREFERENCE else None,
    )


def _distance(pairs: Mapping[tuple[Value, Value], int], missing: int) -> Figure:
    cells = [[pairs.get((people, judge), 0) for judge in PREFERENCES] for people in PREFERENCES]
    return replace(pld(CrossTable(PREFERENCES, np.array(cells, dtype=np.int64))).wpld, missing=missing)


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
    """The people's consensus and the judge as two raters, of preferences as loss, tie and win of a pair's first
    response; why units of the run are left out; and how many units have
    each pair of consensus and judge.

    A unit left out is counted once: under the judge's reason where it has one, else under the people's.
    """
    gaps: Counter[str] = Counter()
    pairs: Counter[tuple[Value, Value]] = Counter()
    occurring: set[Value] = set()
    for place, units in contents.items():
        said = values_of(place.pattern, facet)
        occurring |= said.keys() if facet != PREFERENCE else set()
        if place.judge in GAPS:
            gaps[place.judge] += units
            continue
        consensus = consensus_of(facet, tuple(value for value, number in said.items() for _ in range(number)))
        if consensus is None:
            gaps["people_tied" if said else "people"] += units
        else:
            pairs[consensus, read(place.judge, facet)] += units
        occurring.add(read(place.judge, facet))
    occurring |= {consensus for consensus, _ in pairs}
    domain = PREFERENCES if facet == PREFERENCE else _domain(round, facet, occurring)
    compared = Histogram(domain)
    for (consensus, judge), units in pairs.items():
        compared.add([(value == consensus) + (value == judge) for value in domain], units)
    if gaps:
        compared.add((0,) * len(domain), gaps.total())
    return compared, gaps, pairs


def _why_nothing_to_compare(facet: Facet, labels: int, *, judged: bool) -> str:
    if not labels:
        return NOT_GIVEN.get(facet.kind, "Undefined: no person has given an answer yet.")
    if not judged:
        return NOT_READABLE.get(facet.kind, "Undefined: the judge has no readable answer yet.")
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

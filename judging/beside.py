"""What stands beside a run: the people and the other judges that labelled the same units."""

from __future__ import annotations

import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.db.models import Count, Exists, Max, OuterRef, Q
from django.utils.translation import gettext as _

from annotate.models import Round, Task
from judging.agreement import Ceiling, Figure
from judging.comparison import Comparison, Line, ceilings, closeness, compare, consistency
from judging.hearing import YIELDS, crowd_of, facets_of, instructions_of, margin_of, repeats_of, voices_beside
from judging.labels import SCORE, Facet
from judging.live import GAPS
from judging.models import Ledger, Run, Verdict
from judging.panels import Pair, among_judges, pair_of, panel_of_judges
from judging.sentences import translated
from judging.voices import Voice

T = TypeVar("T")
CACHE_SECONDS = 600


# -- what stands beside what ----------------------------------------------------------------------------------------


def rounds_beside(run: Run) -> list[Round]:
    """The rounds whose people may have labelled what a run is about: its own, then others with the same responses."""
    judged = run.calls.filter(response__isnull=False).values("response")
    shared = Task.objects.filter(Q(response__in=judged) | Q(other__in=judged), round=OuterRef("pk"))
    labelled = Round.objects.for_labels().filter(Exists(shared), project=run.project_id)
    others = labelled.exclude(state=Round.State.DRAFT)
    found = [round for round in others.order_by("-created_at", "-pk") if round != run.round]
    return [run.round, *found] if run.round else found


def runs_on(round: Round) -> list[Run]:
    """The judging runs of a round, and others that say something about the same responses; newest first."""
    tasks = Task.objects.filter(round=round, response__isnull=False)
    shared = Exists(Verdict.objects.filter(run=OuterRef("pk"), response__in=tasks.values("response")))
    found = Run.objects.filter(Q(round=round) | shared, project=round.project_id)
    judging = found.filter(kind=Run.Kind.JUDGING).select_related("judge", "round", "project")
    return list(judging.order_by("-created_at", "-pk"))


# -- a run beside people -------------------------------------------------------------------------------------------

TITLES: dict[str, Callable[[], str]] = {
    "score": lambda: _("Scores"),
    "preference": lambda: _("Preferences"),
    "questions": lambda: _("Answers"),
}


def gaps_in_words(gaps: Counter[str]) -> list[tuple[str, int]]:
    """Units left out by reason, as pages say it."""
    reasons = {name: str(words) for name, words in GAPS.items()}
    reasons["no_rate"] = _("with a response without a yes or no")
    return [(words, gaps[name]) for name, words in reasons.items() if gaps[name]]


def notes_on(lines: Iterable[Line]) -> list[tuple[str, str]]:
    """Why figures are undefined, and what must be known before they are trusted: each sentence once, with the first
    measure that it is about."""
    notes: dict[str, str] = {}
    for line in lines:
        for figure in (line.judge, line.people):
            note = figure and (figure.reason or figure.warning)
            if note:
                notes.setdefault(translated(note), line.title)
    return [(measure, note) for note, measure in notes.items()]


@dataclass(frozen=True)
class Section:
    """All figures of a run on one facet.

    asked       units that the judge was asked about, and those without a value by reason
    follows     the preferences follow from scores or pass rates of single responses
    margin      numbers of two responses that differ by less are a tie; 0 where only equal ones are
    comparison  None where no round stands beside the run
    repeats     how far the judge agrees with itself
    """

    facet: Facet
    asked: int
    without: Counter[str]
    follows: bool
    comparison: Comparison | None
    closeness: Sequence[Line]
    ceilings: Sequence[Ceiling]
    repeats: Sequence[Line]
    margin: float = 0.0

    @property
    def title(self) -> str:
        return _("Preferences that follow from its scores") if self.follows else TITLES[self.facet.kind]()

    @property
    def lines(self) -> Sequence[Line]:
        """Figures with people; none where they said nothing about these units."""
        return self.comparison.lines if self.comparison and self.comparison.people else []

    @property
    def chart(self) -> list[tuple[str, Figure]]:
        """The figures that tell most, under the words that stand beside them."""
        found = []
        for line in [*self.lines, *self.repeats]:
            if line.drawn and line.people:
                found += [
                    (_("%(measure)s: judge") % {"measure": line.title}, line.judge),
                    (_("%(measure)s: people") % {"measure": line.title}, line.people),
                ]
            elif line.drawn:
                found.append((line.title, line.judge))
        return [(words, figure) for words, figure in found if figure is not None]

    @property
    def notes(self) -> list[tuple[str, str]]:
        """Why figures are undefined, and what must be known before they are trusted: each sentence once."""
        return notes_on([*self.lines, *self.closeness, *self.repeats])

    @property
    def gaps(self) -> list[tuple[str, int]]:
        """What is left out, in words."""
        return gaps_in_words(self.comparison.gaps if self.comparison else self.without)


def sections_of(run: Run, round: Round | None) -> list[Section]:
    """A run on every facet that it labels, beside the people of a round; from the cache while nothing has moved."""
    return remembered("sections", [run, round] if round else [run], lambda: _sections(run, round))


def remembered(what: str, sides: Sequence[Round | Run], make: Callable[[], T]) -> T:
    """What `make` made of the labels of these rounds and runs, once for as long as none of them changes.

    The ledger of a round is raised by everything that its people say, and each verdict that is stored, or read again,
    has an id of its own. A round without a ledger is read anew each time.
    """
    states = [_state_of(side) for side in sides]
    if None in states:
        with _collector_at_rest():
            return make()
    state = repr((settings.VERSION, what, states))
    key = f"beside:{hashlib.sha256(state.encode()).hexdigest()}"
    found: T | None = cache.get(key)
    if found is None:
        with _collector_at_rest():
            found = make()
        cache.set(key, found, CACHE_SECONDS)
    return found


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Labels are hundreds of thousands of small objects that all live until the figures are made. The collector of
    cycles would walk over them again and again and find nothing, which is half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _state_of(side: Round | Run) -> object | None:
    if isinstance(side, Round):
        revision = Ledger.objects.filter(round=side).values_list("revision", flat=True).first()
        return None if revision is None else (side.pk, side.created_at, revision)
    return side.pk, side.created_at, side.progress(), side.verdicts.aggregate(Max("pk"), Count("pk"))


def _sections(run: Run, round: Round | None) -> list[Section]:
    voices = voices_beside(run, round)
    repeated = repeats_of(run, voices)
    yielded = facets_of(run)
    sections = []
    for facet, voice in voices.items():
        made = Section(
            facet=facet,
            asked=voice.units,
            without=Counter(voice.gaps.values()),
            follows=facet not in yielded,
            comparison=None,
            closeness=[],
            ceilings=[],
            repeats=consistency(repeated[facet]),
            margin=margin_of(run),
        )
        sections.append(_with_people(made, voice, run, round) if round else made)
    return sections


def _with_people(section: Section, voice: Voice, run: Run, round: Round) -> Section:
    crowd = crowd_of(round, voice.facet)
    shared = voice.values.keys() & crowd.said.keys()
    return replace(
        section,
        comparison=compare(voice, crowd),
        closeness=closeness(voice, crowd, instructions_of(run.project)) if voice.facet == SCORE and shared else [],
        ceilings=ceilings(voice, crowd),
    )


# -- judges beside each other --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """Several runs beside each other, and beside people, on one facet.

    pairs        by the places of two runs, the lower first
    with_people  each run beside the people
    panel        all of them as one judge; None for a single run
    """

    facet: Facet
    runs: Sequence[Run]
    lines: Sequence[Line]
    pairs: dict[tuple[int, int], Pair]
    with_people: Sequence[Comparison]
    panel: Comparison | None

    @property
    def title(self) -> str:
        return TITLES[self.facet.kind]()

    @property
    def following(self) -> list[tuple[Run, float]]:
        """The runs whose preferences follow from numbers of single responses, with the margin within which they tie."""
        return [(run, margin_of(run)) for run in self.runs if self.facet not in facets_of(run)]

    @property
    def has_people(self) -> bool:
        """Whether people said anything about the units of these runs."""
        return any(comparison.people for comparison in self.with_people)

    @property
    def widest(self) -> Comparison:
        """Of the comparisons with people, the one on the units of all these runs."""
        return self.panel or self.with_people[0]

    @property
    def columns(self) -> Sequence[Run]:
        return self.runs[1:]

    @property
    def rows(self) -> list[tuple[Run, list[tuple[Run, Pair | None]]]]:
        """Every run but the last, with its pair with each of the columns; None where the pair stands elsewhere."""
        places = range(1, len(self.runs))
        return [
            (run, [(self.runs[other], self.pairs.get((place, other))) for other in places])
            for place, run in enumerate(self.runs[:-1])
        ]

    @property
    def measures(self) -> list[Line]:
        return [line for line in self.with_people[0].lines if line.judge]

    @property
    def beside_people(self) -> list[tuple[Run | None, Comparison, list[tuple[str, int]]]]:
        """Every run, and the panel as None, with its figures and what is left out in words."""
        found: list[tuple[Run | None, Comparison]] = list(zip(self.runs, self.with_people, strict=True))
        if self.panel:
            found.append((None, self.panel))
        return [(run, comparison, gaps_in_words(comparison.gaps)) for run, comparison in found]

    @property
    def chart(self) -> list[tuple[str, Figure]]:
        """Alpha of every judge, of the panel and of people among themselves, under the words that stand beside them."""
        lines = []
        for run, comparison, _gaps in self.beside_people:
            words = f"{run.pk}: {run.judge.name}" if run else _("All as a panel")
            lines.append((words, comparison.alpha.judge))
        lines.append((_("People among themselves"), self.with_people[0].alpha.people))
        return [(words, figure) for words, figure in lines if figure is not None]

    @property
    def notes(self) -> list[tuple[str, str]]:
        """As those of a section."""
        found = notes_on(self.lines)
        if not self.has_people:
            return found
        for run, comparison, _gaps in self.beside_people:
            name = f"{run.pk}: {run.judge.name}" if run else _("All as a panel")
            found += [
                (_("%(who)s, %(measure)s") % {"who": name, "measure": measure}, note)
                for measure, note in notes_on(comparison.lines)
            ]
        return found


def benches_of(round: Round, runs: Sequence[Run]) -> list[Bench]:
    """These runs beside each other on every facet that one of them labels; from the cache while nothing has moved."""
    made = remembered("benches", [round, *runs], lambda: _benches(round, runs))
    return [replace(bench, runs=[runs[place] for place in places]) for places, bench in made]


def _benches(round: Round, runs: Sequence[Run]) -> list[tuple[list[int], Bench]]:
    """Benches without their runs, whose names may change, and the places of those among all runs."""
    voices = [voices_beside(run, round) for run in runs]
    benches = []
    for facet in YIELDS.values():
        places = [place for place, said in enumerate(voices) if facet in said]
        if not places:
            continue
        crowd = crowd_of(round, facet)
        heard = [voices[place][facet] for place in places]
        several = len(heard) > 1
        bench = Bench(
            facet=facet,
            runs=[],
            lines=among_judges(heard) if several else [],
            pairs={
                (one, other): pair_of(heard[one], heard[other]) for other in range(len(heard)) for one in range(other)
            },
            with_people=[compare(voice, crowd) for voice in heard],
            panel=compare(panel_of_judges(heard), crowd) if several else None,
        )
        benches.append((places, bench))
    return benches


# -- figures as rows -----------------------------------------------------------------------------------------------

FIGURE_COLUMNS = (
    *("run", "judge", "protocol", "round_id", "round", "facet", "part", "measure", "of"),
    *("value", "low", "high", "level", "method", "seed", "n_units", "n_labels", "missing", "reason", "warning"),
)


def figure_rows(run: Run, round: Round | None, sections: Sequence[Section]) -> Iterator[dict[str, Any]]:
    """Every figure of a run beside people under the names of `FIGURE_COLUMNS`, as the page shows it.

    `part`: "agreement", "closeness" or "repeats"; `of`: "judge" (with the people) or "people" (among themselves).
    """
    common = {
        "run": run.pk,
        "judge": run.judge.name,
        "protocol": run.method,
        "round_id": round.pk if round else None,
        "round": round.name if round else None,
    }
    for section in sections:
        parts = {
            "agreement": section.lines,
            "closeness": section.closeness,
            "repeats": section.repeats,
        }
        for part, lines in parts.items():
            for line in lines:
                for of, figure in (("judge", line.judge), ("people", line.people)):
                    if figure is not None:
                        facet = {"facet": section.facet.kind, "part": part, "measure": line.measure, "of": of}
                        yield {**common, **facet, **figure.as_dict()}

"""The cells of a round from its raw labels: to write them, and to check those that were moved against them; and with
them how far people disagree on each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

from django.db import transaction

from annotate import adjudication
from annotate.models import Round
from judging.cells import Contents, Key, Place, hold, observed, pattern_of, replace, shown, stored
from judging.labels import (
    PREFERENCE,
    QUESTIONS,
    SCORE,
    Facet,
    Labels,
    asked_of,
    facets_of,
    labels_by_facet,
    people_labels,
)
from judging.models import Ledger, Run, Series
from judging.pairs import judged_in

UNLOCKED_TRIES = 3


def compute(round: Round) -> Contents:
    """All series of a round, from its raw labels."""
    facets = facets_of(round)
    people = {facet: people_labels(round, facet) for facet in facets if facet.kind != "question"}
    contents: Contents = {Key(facet): _people(labels) for facet, labels in people.items()}
    if QUESTIONS in people:
        contents |= _questions(round, people[QUESTIONS])
    for run in Run.objects.filter(round=round, kind=Run.Kind.JUDGING).order_by("pk"):
        contents |= _of_run(run, labels_by_facet(run), people)
    return contents


def compute_run(run: Run) -> Contents:
    """The series of one judging run of a round, from raw labels."""
    assert run.round is not None  # noqa: S101 - judging runs have one
    machine = labels_by_facet(run)
    asked = [facet for facet in facets_of(run.round) if facet in machine or facet == PREFERENCE]
    return _of_run(run, machine, {facet: people_labels(run.round, facet) for facet in asked})


def _people(labels: Labels) -> Counter[Place]:
    cells = Counter(
        Place(pattern_of(values), "", labels.simulated_on.get(unit, 0)) for unit, values in labels.by_unit().items()
    )
    return _with_unlabelled(cells, labels.units)


def _with_unlabelled(cells: Counter[Place], units: int) -> Counter[Place]:
    if units > cells.total():
        cells[Place()] = units - cells.total()
    return cells


def _questions(round: Round, pooled: Labels) -> Contents:
    asked = asked_of(round)
    contents: Contents = {Key(Facet("question", question)): Counter() for question in asked}
    for unit, values in pooled.by_unit().items():
        assert isinstance(unit, tuple)  # noqa: S101 - that ends in the question
        place = Place(pattern_of(values), "", pooled.simulated_on.get(unit, 0))
        contents[Key(Facet("question", unit[-1]))][place] += 1
    for question, units in asked.items():
        _with_unlabelled(contents[Key(Facet("question", question))], units)
    return contents


def _of_run(run: Run, judged_labels: Mapping[Facet, Labels], people: Mapping[Facet, Labels]) -> Contents:
    if run.round is not None and run.round.shape.unit == "pair":
        return {Key(PREFERENCE, run.pk): _of_pairs(run, people[PREFERENCE])} if PREFERENCE in people else {}
    contents: Contents = {Key(facet, run.pk): Counter() for facet in (SCORE, QUESTIONS)}
    for facet, machine in judged_labels.items():
        said = people[facet].by_unit() if facet in people else {}
        simulated: Mapping[Hashable, int] = people[facet].simulated_on if facet in people else {}
        judged: dict[Hashable, str] = {label.unit: shown(label.value) for label in machine.labels}
        for unit, judge in (judged | dict(machine.left_out)).items():
            place = Place(pattern_of(said.get(unit, [])), judge, simulated.get(unit, 0))
            contents[Key(facet, run.pk)][place] += 1
    return contents


def _of_pairs(run: Run, people: Labels) -> Counter[Place]:
    said, simulated = people.by_unit(), people.simulated_on
    return Counter(
        Place(pattern_of(said.get(one.pair, [])), one.standing, simulated.get(one.pair, 0)) for one in judged_in(run)
    )


def audit(round: Round) -> list[str]:
    """How the cells of a round differ from its labels, in words; an empty list where they do not.

    Nobody waits for it, unless labels keep coming while it counts: then it holds the movers up.
    """
    for _ in range(UNLOCKED_TRIES):
        revision = _revision(round)
        found = _differences(round)
        if _revision(round) == revision:
            return found
    with transaction.atomic():
        hold(round.pk)
        return _differences(round)


def _revision(round: Round) -> int | None:
    return Ledger.objects.filter(round=round).values_list("revision", flat=True).first()


def _differences(round: Round) -> list[str]:
    if not Ledger.objects.filter(round=round).exists():
        needs_none = round.is_training or round.state == Round.State.DRAFT
        return [] if needs_none else ["It was opened before there were cells."]
    (found, agreed), counted = stored(round), compute(round)
    differences = []
    noted = Ledger.objects.values_list("questions", flat=True).get(round=round)
    if noted != _asked(counted):
        differences.append(f"{noted:,} questions are noted where the round asks {_asked(counted):,}.")
    for key in {**counted, **found}:
        name = _named(key)
        if key not in found:
            differences.append(f"{name}: there are no cells.")
        elif key not in counted:
            differences.append(f"{name}: there are cells, and nothing to count.")
        else:
            differences += _places_that_differ(name, found[key], counted[key])
            if key in agreed and agreed[key] != observed(counted[key]):
                differences.append(f"{name}: {agreed[key]} is stored as percent agreement.")
    if sizes := adjudication.wrong_sizes(round):
        differences.append(f"{sizes:,} tasks have another size of disagreement than their labels.")
    return differences


def _asked(contents: Contents) -> int:
    """How many questions have a series."""
    return sum(key.facet.kind == "question" for key in contents)


def _places_that_differ(name: str, found: Counter[Place], counted: Counter[Place]) -> list[str]:
    return [
        f"{name}: {found[place]:,} units with {_in_words(place)} where the labels have {counted[place]:,}."
        for place in sorted(found.keys() | counted.keys())
        if found[place] != counted[place]
    ]


def _named(key: Key) -> str:
    kind = f"question {key.facet.question}" if key.facet.question is not None else key.facet.kind
    return kind if key.run is None else f"{kind} of run {key.run}"


def _in_words(place: Place) -> str:
    words = place.pattern or "no labels"
    if place.judge:
        words += f", the judge says {place.judge}"
    return words + (f", {place.simulated} simulated" if place.simulated else "")


def rebuild(round: Round) -> None:
    """Write all cells of a round anew from its raw labels; a training set has neither, and gets no ledger."""
    if round.is_training:
        return
    with transaction.atomic():
        Ledger.objects.get_or_create(round=round)
        hold(round.pk)
        contents = compute(round)
        replace(round, contents, Series.objects.filter(round=round))
        adjudication.keep_sizes(round)
        Ledger.objects.filter(round=round).update(questions=_asked(contents))


def rebuild_run(run: Run) -> None:
    """Write the cells of one run of a round anew. Runs that write checklists have none."""
    if run.round is None:
        return
    with transaction.atomic():
        if hold(run.round.pk):
            replace(run.round, compute_run(run), Series.objects.filter(run=run))
        else:
            rebuild(run.round)

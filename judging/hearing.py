"""What was said, read from the database: by a judge in a run, and by the people of a round.

Pairs of responses face one way in all of them, the older response first, so that runs and rounds that hold a pair
either way meet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import lru_cache

from annotate.models import Project, Response, Round, Task
from judging import pairs
from judging.agreement import PREFERENCES, Label, Value
from judging.labels import (
    ANSWERS,
    PREFERENCE,
    QUESTIONS,
    READ_ANSWERS,
    SCORE,
    Facet,
    Replies,
    Reply,
    domain_of,
    outcome,
    people_labels,
    replies_to,
)
from judging.models import Call, Run
from judging.protocols import PROTOCOLS
from judging.voices import Crowd, Unit, Voice, numbers_of, preferences_from, verdict_of

YIELDS = {"preference": PREFERENCE, "score": SCORE, "answers": QUESTIONS}
OPPOSITE: dict[Value, Value] = {"win": "loss", "tie": "tie", "loss": "win"}


def facets_of(run: Run) -> list[Facet]:
    """What a run of a judge labels; nothing where its protocol is no longer there."""
    method = PROTOCOLS.get(run.method)
    return [facet for name, facet in YIELDS.items() if method and name in method.yields]


def voices_of(run: Run) -> dict[Facet, Voice]:
    """What the judge said in a run, by facet. At most two queries."""
    method = PROTOCOLS.get(run.method)
    facets = facets_of(run)
    if method and method.pairs:
        judged = pairs.judged_in(run)
        made = {PREFERENCE: _preferences(judged), QUESTIONS: _answers_about(judged)}
        return {facet: made[facet] for facet in facets if facet in made}
    if method and method.by_dimension and SCORE in facets:
        return {SCORE: _voice(run.round, SCORE, _over_dimensions(run))}
    replies = replies_to(run)
    return {facet: _voice(run.round, facet, replies) for facet in facets}


def voices_beside(run: Run, round: Round | None) -> dict[Facet, Voice]:
    """As `voices_of`; where the people of the round compare pairs and the judge scores single responses, also the
    preferences that follow from its scores, or else from its pass rates."""
    voices = voices_of(run)
    source = voices.get(SCORE) or voices.get(QUESTIONS)
    if round is None or source is None or PREFERENCE in voices:
        return voices
    tasks = Task.objects.filter(round=round, response__isnull=False, other__isnull=False)
    paired = [facing((first or 0, second or 0))[0] for first, second in tasks.values_list("response", "other")]
    return {**voices, PREFERENCE: preferences_from(*numbers_of(source), paired)} if paired else voices


def facets_beside(run: Run, round: Round | None) -> list[Facet]:
    """The facets of `voices_beside`, without reading what was said. One query."""
    facets = facets_of(run)
    if round is None or PREFERENCE in facets or not facets:
        return facets
    return [*facets, PREFERENCE] if round.tasks.filter(other__isnull=False).exists() else facets


def _over_dimensions(run: Run) -> Replies:
    """The scores of a response on all dimensions together, as what the judge says about it as a whole."""
    replies: Replies = {}
    calls = run.calls.filter(dimension__isnull=False, response__isnull=False, other=None).order_by("position")
    for response, state, verdict, score in calls.values_list("response", "state", "verdicts__state", "verdicts__score"):
        replies.setdefault((response or 0, None), []).append(Reply(state, verdict, score))
    return replies


def _voice(round: Round | None, facet: Facet, replies: Replies) -> Voice:
    said: dict[Unit, tuple[Value, ...]] = {}
    gaps: dict[Unit, str] = {}
    scored = facet == SCORE
    values: tuple[Value, ...]
    for (response, question), repeats in replies.items():
        if (question is None) != scored:
            continue
        unit: Unit = response if scored else (response, question)
        if scored:
            values = tuple(reply.score for reply in repeats if reply.score is not None)
        else:
            values = tuple(reply.verdict for reply in repeats if reply.verdict in READ_ANSWERS)
        if values:
            said[unit] = values
        if not values or verdict_of(facet, values) is None:
            gaps[unit] = _gap(tuple(repeats), scored)
    return Voice(facet, said, _domain(round, facet, said.values()), gaps)


@lru_cache(maxsize=4096)
def _gap(repeats: tuple[Reply, ...], scored: bool) -> str:
    """Why repeats come to no value. Few differ, and a run may have a hundred thousand."""
    return outcome(repeats, scored=scored)[1]


def _preferences(judged: Iterable[pairs.Judged]) -> Voice:
    said: dict[Unit, tuple[Value, ...]] = {}
    gaps: dict[Unit, str] = {}
    orders: dict[Unit, tuple[Value | None, Value | None]] = {}
    for one in judged:
        unit, turned = facing(one.pair)
        votes = tuple(OPPOSITE[vote] if turned else vote for vote in one.votes)
        if votes:
            said[unit] = votes
        else:
            gaps[unit] = one.gap
        orders[unit] = one.orders
    return Voice(PREFERENCE, said, PREFERENCES, gaps, orders)


def _answers_about(judged: Iterable[pairs.Judged]) -> Voice:
    """Answers given while a pair was compared. A response that is in several pairs has the answers of all."""
    replies: Replies = {}
    for one in judged:
        for unit, states in one.answers.items():
            replies.setdefault(unit, []).extend(Reply(Call.State.DONE, state, None) for state in states)
    return _voice(None, QUESTIONS, replies)


def facing(pair: tuple[int, int]) -> tuple[tuple[int, int], bool]:
    """A pair with the older response first, so that runs and rounds that hold it either way meet; and whether it was
    turned."""
    return (min(pair), max(pair)), pair[0] > pair[1]


def _domain(round: Round | None, facet: Facet, said: Iterable[tuple[Value, ...]]) -> tuple[Value, ...]:
    """All values of single repeats and of what they come to."""
    distinct = set(said)
    found = {value for values in distinct for value in (*values, verdict_of(facet, values)) if value is not None}
    if facet == SCORE:
        return domain_of(round, facet, found)
    return tuple(value for value in ANSWERS if value != "na" or "na" in found)


def repeats_of(run: Run, voices: dict[Facet, Voice]) -> dict[Facet, Voice]:
    """The same voices for a look at repeats: scores on several dimensions are units of their own there."""
    method = PROTOCOLS.get(run.method)
    if method is None or not method.by_dimension or SCORE not in voices:
        return voices
    said: dict[Unit, tuple[Value, ...]] = {}
    rows = run.verdicts.order_by("call", "pk").values_list("response_id", "dimension_id", "score")
    for response, dimension, score in rows:
        if score is not None:
            said[response, dimension] = (*said.get((response, dimension), ()), score)
    return {**voices, SCORE: Voice(SCORE, said, _domain(None, SCORE, said.values()))}


def crowd_of(round: Round, facet: Facet) -> Crowd:
    """What people said in a round. Pairs face the way that those of runs do."""
    labels = people_labels(round, facet)
    if facet == PREFERENCE:
        simulated: dict[Unit, int] = {}
        for unit, number in labels.simulated_on.items():
            simulated[facing(unit)[0]] = number  # type: ignore[arg-type]
        labels = replace(labels, labels=[_turned(label) for label in labels.labels], simulated_on=simulated)
    return Crowd.of(facet, labels, with_na=round.allow_na)


def _turned(label: Label) -> Label:
    unit, turned = facing(label.unit)  # type: ignore[arg-type]
    return Label(unit, label.rater, 6.0 - float(label.value) if turned else label.value)


def instructions_of(project: Project) -> dict[Unit, Hashable]:
    """The item of every response."""
    return dict(Response.objects.filter(item__project=project).values_list("pk", "item_id"))

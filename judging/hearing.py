"""What was said, read from the database: by a judge in a run, and by the people of a round.

Pairs of responses face one way in all of them, the older response first, so that runs and rounds that hold a pair
either way meet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from annotate.models import Project, Response, Round, Task
from judging import pairs
from judging.agreement import PREFERENCES, Label, Value
from judging.labels import (
    ANSWERS,
    PENDING,
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
from judging.scores import unsupervised_scores
from judging.voices import Crowd, Unit, Voice, mean_of, numbers_of, preferences_from, verdict_of

YIELDS = {"preference": PREFERENCE, "score": SCORE, "answers": QUESTIONS}
ROCKETEVAL_MARGIN = 0.1  # scores that differ by less are a tie (paper 003, section 4)
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
        whole = _voice(run.round, SCORE, _over_dimensions(run))
        return {SCORE: replace(whole, domain=domain_of(run.round, SCORE, set(whole.values.values())))}
    replies = replies_to(run)
    return {facet: _voice(run.round, facet, replies) for facet in facets}


def voices_beside(run: Run, round: Round | None) -> dict[Facet, Voice]:
    """As `voices_of`; where the people of the round compare pairs and the judge scores single responses, also the
    preferences that follow from its scores, or else from RocketEval's scores, or else from its pass rates."""
    voices = voices_of(run)
    source = voices.get(SCORE) or voices.get(QUESTIONS)
    if round is None or source is None or PREFERENCE in voices:
        return voices
    tasks = Task.objects.filter(round=round, response__isnull=False, other__isnull=False)
    paired = [facing((first or 0, second or 0))[0] for first, second in tasks.values_list("response", "other")]
    if not paired:
        return voices
    numbers, gaps = _rocketeval_numbers(run, source) if by_probabilities(run) else numbers_of(source)
    return {**voices, PREFERENCE: preferences_from(numbers, gaps, paired, margin_of(run))}


def by_probabilities(run: Run) -> bool:
    """Whether the run has RocketEval's scores."""
    return run.method in PROTOCOLS and PROTOCOLS[run.method].needs_probabilities


def margin_of(run: Run) -> float:
    """By how much the numbers of two responses must differ for a preference to follow; 0 where any difference does."""
    return ROCKETEVAL_MARGIN if by_probabilities(run) else 0.0


def _rocketeval_numbers(run: Run, answers: Voice) -> tuple[dict[Unit, float], dict[Unit, str]]:
    """RocketEval's score of each response, once no question is left to ask; and why others have none."""
    rates, gaps = numbers_of(answers)
    waiting = {unit for unit, gap in gaps.items() if gap == "pending"}
    numbers: dict[Unit, float] = {
        response: score for response, score in unsupervised_scores(run).items() if response not in waiting
    }
    return numbers, dict.fromkeys(rates, "unreadable") | gaps


def facets_beside(run: Run, round: Round | None) -> list[Facet]:
    """The facets of `voices_beside`, without reading what was said. One query."""
    facets = facets_of(run)
    if round is None or PREFERENCE in facets or not facets:
        return facets
    return [*facets, PREFERENCE] if round.tasks.filter(other__isnull=False).exists() else facets


def _over_dimensions(run: Run) -> Replies:
    """What the judge says about a response as a whole: of each repeat the mean of the scores on all dimensions, each
    mapped from its own scale to that of the round, or else of the project. A repeat that lacks a dimension has no
    score; its reply is that of the dimension that is missing."""
    scale = run.round or run.project
    fields = ("response", "repeat", "dimension__scale_low", "dimension__scale_high")
    calls = run.calls.filter(dimension__isnull=False, response__isnull=False, other=None).order_by("position")
    repeats: dict[tuple[int, int], list[Reply]] = {}
    for response, repeat, low, high, *said in calls.values_list(*fields, "state", "verdicts__state", "verdicts__score"):
        state, verdict, score = said
        if score is not None:
            score = scale.scale_low + (score - low) / (high - low) * (scale.scale_high - scale.scale_low)
        repeats.setdefault((response or 0, repeat), []).append(Reply(state, verdict, score))
    replies: Replies = {}
    for (response, _), parts in repeats.items():
        replies.setdefault((response, None), []).append(_together(parts))
    return replies


def _together(parts: Sequence[Reply]) -> Reply:
    """The replies about all dimensions as one; where some have no score, that of one of them, first of one to wait
    for."""
    missing = [part for part in parts if part.score is None]
    if missing:
        return next((part for part in missing if part.call in PENDING), missing[0])
    return replace(parts[0], score=mean_of([part.score for part in parts if part.score is not None]))


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

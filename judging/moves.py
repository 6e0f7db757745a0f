"""What happens moves cells: a person submits, corrects or withdraws; a judge's call is settled.

Each move is part of the transaction that stores the label, and costs the same however many labels there are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from annotate.labelling import Content
from annotate.models import Annotation, Round, Task, User
from annotate.signals import labels_changed, round_opened
from judging import cells, recount
from judging.agreement import Value
from judging.cells import Drift, Key, Move, Place, Row, pattern_of, shown
from judging.labels import (
    PREFERENCE,
    QUESTIONS,
    SCORE,
    Facet,
    Reply,
    Said,
    outcome,
    people_about,
    replies_about,
    replies_around,
    task_labels,
)
from judging.models import Call, Run

log = logging.getLogger(__name__)

Find = Callable[[Mapping[Key, Row]], Iterator[Move]]


def connect() -> None:
    """Listen to the human side."""
    labels_changed.connect(on_labels_changed, sender=Annotation, dispatch_uid="live agreement")
    round_opened.connect(on_round_opened, sender=Round, dispatch_uid="live agreement")


def on_round_opened(round: Round, **signal: Any) -> None:
    """Write the cells of a round whose tasks were just made."""
    recount.rebuild(round)


def on_labels_changed(
    task: Task, annotator: User, before: Content | None, after: Content | None, **signal: Any
) -> None:
    """One annotator's counted labels of one task changed: move its units, and theirs beside every judge."""
    old, new = _said_in(before), _said_in(after)
    touched = [facet for facet in sorted(old.keys() | new.keys(), key=str) if old.get(facet) != new.get(facet)]
    questions = {facet.question for facet in touched if facet.question is not None}
    if not touched:
        return

    def find(series: Mapping[Key, Row]) -> Iterator[Move]:
        rest = task_labels(task.pk, without=annotator.pk, answers=bool(questions))
        judged = task.response_id is not None and task.other_id is None and any(key.run for key in series)
        replies = replies_about(task.response_id or 0, task.round_id) if judged else {}
        for facet in touched:
            others = rest.get(facet, Said())
            was = others.and_also(old.get(facet), is_simulated=annotator.is_simulated)
            now = others.and_also(new.get(facet), is_simulated=annotator.is_simulated)
            pooled = facet if facet.question is None else QUESTIONS
            for key in dict.fromkeys((Key(facet), Key(pooled))):
                yield Move(key, _place(was), _place(now))
            for run, asked in replies.items():
                repeats = asked.get((task.response_id or 0, facet.question))
                if repeats:
                    judge = _judged(facet, repeats)
                    yield Move(Key(pooled, run), _place(was, judge), _place(now, judge))

    _carry_out(task.round, find, questions)


def settled(run: Run, calls: Sequence[Call]) -> None:
    """Calls of a run were answered or given up, and their verdicts are stored: move the units that they speak of."""
    about = [call for call in calls if call.response_id is not None and call.other_id is None]
    if run.round is None or not about:
        return
    round_id = run.round.pk

    def find(series: Mapping[Key, Row]) -> Iterator[Move]:
        before, after = replies_around(about)
        units = before.keys() | after.keys()
        asked = any(question is not None for _, question in units)
        people = people_about(round_id, {response for response, _ in units}, answers=asked)
        for response, question in units:
            facet = SCORE if question is None else Facet("question", question)
            said = people.get(response, {}).get(facet, Said())
            was, now = before.get((response, question)), after.get((response, question))
            if was == now:
                continue
            yield Move(
                Key(facet if question is None else QUESTIONS, run.pk),
                _place(said, _judged(facet, was)) if was else None,
                _place(said, _judged(facet, now)) if now else None,
            )

    _carry_out(run.round, find, set())


def _carry_out(round: Round, find: Find, questions: set[int]) -> None:
    """Make the moves that `find` finds once the ledger is held; cells that turn out wrong are written anew."""
    if not cells.hold(round.pk):
        recount.rebuild(round)
        return
    series = cells.rows_of(round.pk, questions)
    try:
        cells.apply(series, find(series))
    except Drift as drift:
        log.error("The live agreement of round %s was wrong and is computed anew. %s", round.pk, drift)
        recount.rebuild(round)


def _said_in(content: Content | None) -> dict[Facet, Value]:
    if content is None:
        return {}
    said: dict[Facet, Value] = {Facet("question", question): value for question, value in content.answers.items()}
    for facet, number in ((SCORE, content.score), (PREFERENCE, content.preference)):
        if number is not None:
            said[facet] = float(number)
    return said


def _place(said: Said, judge: str = "") -> Place:
    return Place(pattern_of(said.values), judge, said.simulated)


def _judged(facet: Facet, repeats: list[Reply]) -> str:
    value, gap = outcome(repeats, scored=facet == SCORE)
    return gap if value is None else shown(value)

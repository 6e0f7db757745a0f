"""What happens moves cells: a person submits, corrects or withdraws; a judge's call is settled.

Each move is part of the transaction that stores the label, and costs the same however many labels there are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from annotate import adjudication
from annotate.contents import Content
from annotate.models import Annotation, Answer, Round, Task, User
from annotate.prepared import Statement, together
from annotate.signals import labels_changed, round_opened
from judging import cells, recount
from judging.agreement import Value
from judging.cells import Drift, Held, Key, Move, Place, pattern_of, shown
from judging.labels import (
    PREFERENCE,
    QUESTIONS,
    SCORE,
    Facet,
    Reply,
    Said,
    Told,
    about_task,
    facets_of,
    labels_in,
    outcome,
    people_about,
    replies_about,
    replies_around,
    task_labels,
)
from judging.models import Call, Run
from judging.pairs import judged_about, judged_around

log = logging.getLogger(__name__)

Find = Callable[[Held], Iterator[Move]]


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
    touched = [told for told in sorted(old.keys() | new.keys(), key=str) if old.get(told) != new.get(told)]
    questions = {facet.question for facet, _ in touched if facet.question is not None}
    if not touched:
        return

    def find(held: Held) -> Iterator[Move]:
        rest = labels_in(*held.read)
        has_runs = any(key.run for key in held.series)
        judged = task.response_id is not None and task.other_id is None and has_runs
        replies = replies_about(task.response_id or 0, task.round_id) if judged else {}
        compared = (PREFERENCE, False) in touched and has_runs
        beside = judged_about(task.round_id, (task.response_id or 0, task.other_id or 0)) if compared else {}
        for told in touched:
            facet, others = told[0], rest.get(told, Said())
            was = others.and_also(old.get(told), is_simulated=annotator.is_simulated)
            now = others.and_also(new.get(told), is_simulated=annotator.is_simulated)
            pooled = facet if facet.question is None else QUESTIONS
            for key in dict.fromkeys((Key(facet), Key(pooled))):
                yield Move(key, _place(was), _place(now))
            if facet == PREFERENCE:
                for run, one in beside.items():
                    yield Move(Key(PREFERENCE, run), _place(was, one.standing), _place(now, one.standing))
            for run, asked in replies.items():
                repeats = asked.get((task.response_id or 0, facet.question))
                if repeats:
                    judge = _judged(facet, repeats)
                    yield Move(Key(pooled, run), _place(was, judge), _place(now, judge))

    reads = about_task(task.pk, without=annotator.pk, answers=bool(questions))
    _carry_out(task.round, find, questions, reads, [adjudication.keep_size(task)])


def settled(run: Run, calls: Sequence[Call]) -> None:
    """Calls of a run were answered or given up, and their verdicts are stored: move the units that they speak of."""
    if run.round is None:
        return
    if run.round.shape.unit == "pair":
        _settled_pairs(run, run.round, [call for call in calls if call.other_id is not None])
        return
    about = [call for call in calls if call.response_id is not None and call.other_id is None]
    if not about:
        return
    round_id = run.round.pk

    def find(held: Held) -> Iterator[Move]:
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

    _carry_out(run.round, find)


def _settled_pairs(run: Run, round: Round, about: Sequence[Call]) -> None:
    if not about or PREFERENCE not in facets_of(round):
        return

    def find(held: Held) -> Iterator[Move]:
        before, after = judged_around(about)
        changed = [pair for pair in after if before[pair].standing != after[pair].standing]
        tasks = Task.objects.filter(round=round, response__in=[first for first, _ in changed], other__isnull=False)
        task_of = {(first or 0, other or 0): pk for first, other, pk in tasks.values_list("response", "other", "pk")}
        for pair in changed:
            said = task_labels(task_of[pair], answers=False).get((PREFERENCE, False), Said())
            was, now = _place(said, before[pair].standing), _place(said, after[pair].standing)
            yield Move(Key(PREFERENCE, run.pk), was, now)

    _carry_out(round, find)


def _carry_out(
    round: Round,
    find: Find,
    questions: Collection[int] = (),
    reads: Sequence[Statement] = (),
    also: Sequence[Statement] = (),
) -> None:
    """Make the moves that `find` finds once the ledger is held; cells that turn out wrong are written anew.

    `reads` are asked once the ledger is held, and `also` is done with the moves.
    """
    held = cells.hold_and_read(round.pk, questions, *reads)
    try:
        if held is not None:
            cells.apply(held.series, find(held), *also)
            return
    except Drift as drift:
        log.error("The live agreement of round %s was wrong and is computed anew. %s", round.pk, drift)
    recount.rebuild(round)
    together(*also)


def _said_in(content: Content | None) -> dict[Told, Value]:
    if content is None:
        return {}
    said: dict[Told, Value] = {
        (Facet("question", question), other): value
        for other, answers in ((False, content.answers), (True, content.other_answers))
        for question, value in answers.items()
        if value != Answer.Value.UNSURE
    }
    for facet, number in ((SCORE, content.score), (PREFERENCE, content.preference)):
        if number is not None:
            said[facet, False] = float(number)
    return said


def _place(said: Said, judge: str = "") -> Place:
    return Place(pattern_of(said.values), judge, said.simulated)


def _judged(facet: Facet, repeats: list[Reply]) -> str:
    value, gap = outcome(repeats, scored=facet == SCORE)
    return gap if value is None else shown(value)

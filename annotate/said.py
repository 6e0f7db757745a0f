"""Everything that was said about a task, by one or several people or in two versions, in words that can be read.

It is told in the words of the annotation screen, where the responses of a pair are A and B as they stand there; or to
researchers, by the systems' names and in the stored order of a pair. The words of the screen name nobody and no system.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.contents import (
    CHECKLIST,
    LETTERS,
    WHOLE,
    Content,
    letters_of,
    preference_labels,
    questions_of,
    quote_key,
    sides,
    turned,
)
from annotate.models import Annotation, Answer, Task


class Said(NamedTuple):
    """One person's part of a row: a value ("" for nothing), the passage given as evidence, and a note on a fault."""

    value: str = ""
    quote: str = ""
    note: str | None = None  # None where nothing was reported


class Row(NamedTuple):
    """One thing that can be said, and what everybody said."""

    about: str  # of a question its text, in the language of the item
    said: list[Said]
    kind: Literal["question", "choice", "text"] = "choice"
    side: str = ""  # of a pair: which response a question is about

    @property
    def differs(self) -> bool:
        """Whether people chose different things; who did not say or cannot tell differs from nobody."""
        nothing = ("", str(Answer.Value.UNSURE.label))
        return self.kind != "text" and len({said.value for said in self.said if said.value not in nothing}) > 1

    @property
    def same(self) -> bool:
        """Whether all said the very same, or nothing."""
        return len(set(self.said)) == 1


def side_by_side(task: Task, contents: Sequence[Content], *, named: bool = False) -> list[Row]:
    """Everything that anybody said, in the order of the screen; `named` in the words for researchers."""
    rows = [*_questions(task, contents, named), *_whole(task, contents, named)]
    return [row for row in rows if any(said != Said() for said in row.said)]


def in_lots(task: Task, annotations: Iterable[Annotation]) -> list[Annotation]:
    """Annotations of one task in an order that follows from the seed of its round, not from names, numbers or times.

    It differs from task to task: "Annotator 1" is somebody else on each.
    """

    def lot(annotation: Annotation) -> bytes:
        text = f"{task.round.seed}:{task.pk}:{annotation.annotator_id}:lot"
        return hashlib.blake2b(text.encode(), digest_size=8).digest()

    return sorted(annotations, key=lot)


def counted_about(task: Task, *, but: Annotation | None = None) -> list[Content]:
    """What the annotators said who are counted, one of them left out where that is given; in lots."""
    found = Annotation.objects.counted().filter(task=task).prefetch_related("answers")
    others = found if but is None else found.exclude(pk=but.pk)
    return [Content.of(annotation) for annotation in in_lots(task, others)]


def in_short(task: Task, content: Content) -> str:
    """What one person said, on a line, in the words of the screen; without a query."""
    counts = Counter(content.said())
    said = [f"{value.label} {counts[value]}" for value in Answer.Value if counts[value]]
    if content.score is not None:
        said.append(_("score %(score)d") % {"score": content.score})
    if content.preference is not None:
        said.append(_preferred(task, content.preference))
    if content.written:
        n = len(content.written.questions)
        said.append(ngettext("%(n)d question", "%(n)d questions", n) % {"n": n})
    return " · ".join(said)


def _questions(task: Task, contents: Sequence[Content], named: bool) -> Iterator[Row]:
    labels = {value.value: str(value.label) for value in Answer.Value}
    shown = _named_sides(task) if named else _lettered_sides(task)
    for question in questions_of(task):
        for place, (side, other) in enumerate(shown):
            key = quote_key(question.pk, other)
            said = [
                Said(
                    labels.get((each.other_answers if other else each.answers).get(question.pk, ""), ""),
                    each.quotes.get(key, ""),
                    each.flags.get(str(question.pk)) if place == 0 else None,
                )
                for each in contents
            ]
            yield Row(f"{question.position}. {question.text}", said, "question", side)


def _lettered_sides(task: Task) -> list[tuple[str, bool]]:
    """What the responses are called, as they stand on the screen, and whether each is the other one of the pair."""
    return [(letter, other) for letter, (_ending, other) in zip(letters_of(task), sides(task), strict=True)]


def _named_sides(task: Task) -> list[tuple[str, bool]]:
    """The same by the systems' names, in the stored order; a single response needs no name."""
    if task.response is None or task.other is None:
        return [("", False)]
    return [(task.response.system, False), (task.other.system, True)]


def _whole(task: Task, contents: Sequence[Content], named: bool) -> Iterator[Row]:
    anchors = dict(task.round.anchored_scores)
    effects = {effect.value: str(effect.label) for effect in Annotation.Effect}
    answers = {value.value: str(value.label) for value in Answer.Value}
    preferred = _preferred_by_name if named else _preferred
    written = [content.written for content in contents]
    chosen = {
        _("Is the instruction safe?"): [answers.get(each.safe, "") if each else "" for each in written],
        _("Does the instruction make sense?"): [answers.get(each.sensible, "") if each else "" for each in written],
        _("Score"): ["" if c.score is None else f"{c.score} {anchors.get(c.score, '')}".strip() for c in contents],
        _("Preference"): ["" if c.preference is None else preferred(task, c.preference) for c in contents],
        _("Effect of the checklist"): [effects.get(content.effect, "") for content in contents],
    }
    for about, values in chosen.items():
        yield Row(about, [Said(value) for value in values])
    yield Row(_("Questions"), [Said("\n".join(each.questions) if each else "") for each in written], "text")
    yield Row(_("Passage"), [Said(quote=content.quotes.get(WHOLE, "")) for content in contents], "text")
    yield Row(_("The checklist"), [Said(note=content.flags.get(CHECKLIST)) for content in contents], "text")
    yield Row(_("Comment"), [Said(content.comment) for content in contents], "text")


def _preferred(task: Task, preference: int) -> str:
    return preference_labels(*LETTERS)[turned(preference, swapped=bool(task.swapped))]


def _preferred_by_name(task: Task, preference: int) -> str:
    (first, _response), (second, _other) = _named_sides(task)
    return preference_labels(first, second)[preference]

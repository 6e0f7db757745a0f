"""What an annotator says beside what a task's key expects.

Every answer counts as one, about both responses of a pair, and so do the score and the preference. What is a matter of
opinion (whether the checklist helped) or of wording (questions that were written) is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.contents import LETTERS, Content, Written, preference_labels, questions_of, sides, turned
from annotate.models import Annotation, Answer, Comparison, Participation, Task

# From this many scores on, a score next to the expected one meets it.
LONG_SCALE = 5

Point = tuple[str, int, bool]  # part, question (0: none), whether about the other response of a pair


def points(expected: Content, said: Content, steps: int) -> Iterator[tuple[Point, bool]]:
    """Everything that is expected, and whether it was said; on a scale of `steps` scores."""
    for other, wanted, given in (
        (False, expected.answers, said.answers),
        (True, expected.other_answers, said.other_answers),
    ):
        for question, value in wanted.items():
            yield ("questions", question, other), given.get(question) == value
    if expected.score is not None:
        tolerance = 1 if steps >= LONG_SCALE else 0
        yield ("score", 0, False), said.score is not None and abs(said.score - expected.score) <= tolerance
    if expected.preference is not None:
        yield ("preference", 0, False), said.preference is not None and _side(said) == _side(expected)
    if expected.written is not None:
        given_of = said.written or Written()
        yield ("safe", 0, False), given_of.safe == expected.written.safe
        yield ("sensible", 0, False), given_of.sensible == expected.written.sensible


def _side(content: Content) -> int:
    """-1: the response is better, 0: near-identical, 1: the other one is better."""
    preference = content.preference or 3
    return (preference > 3) - (preference < 3)


def matches(expected: Content, said: Content, steps: int) -> tuple[int, int]:
    """How many of the expected answers were given, and how many are expected; on a scale of `steps` scores.

    An answer is met by the same answer; a score by one that differs by at most 1 on a scale of five or more scores, by
    the same one on a shorter scale; a preference by one for the same side, however strong.
    """
    met = [given for _point, given in points(expected, said, steps)]
    return sum(met), len(met)


def compare(annotation: Annotation, said: Content) -> None:
    """Keep how what was submitted (or corrected) stands beside the key of its task, where it has one."""
    task = annotation.task
    if task.key is None:
        return
    attempt = 1
    if task.round.is_training:  # a gold unit stands in the round that it is shown in
        own = Participation.objects.filter(round=task.round, annotator=annotation.annotator)
        attempt += own.values_list("attempts", flat=True).first() or 0
    expected = Content.of(task.key)
    met, of = matches(expected, said, len(task.round.scores))
    Comparison.objects.update_or_create(
        annotation=annotation,
        attempt=attempt,
        defaults={"said": said.as_json(), "expected": expected.as_json(), "met": met, "of": of},
    )


@dataclass(frozen=True)
class Row:
    """One expected answer on the feedback page, in the words of the screen."""

    about: str
    said: str
    expected: str
    met: bool
    is_question: bool  # then `about` is in the language of the item


def rows_of(task: Task, comparison: Comparison) -> list[Row]:
    """The comparison in the order of the screen."""
    said, expected = Content.from_json(comparison.said), Content.from_json(comparison.expected)
    met = dict(points(expected, said, len(task.round.scores)))
    letters = dict(zip((other for _ending, other in sides(task)), LETTERS, strict=False))
    order: list[tuple[Point, str]] = [
        (("questions", question.pk, other), f"{question.text} ({letters[other]})" if task.other_id else question.text)
        for question in questions_of(task)
        for _ending, other in sides(task)
    ]
    order += [
        (("score", 0, False), _("Score")),
        (("preference", 0, False), _("Which response is better")),
        (("safe", 0, False), _("The instruction is safe")),
        (("sensible", 0, False), _("The instruction makes sense")),
    ]
    return [
        Row(about, _word(task, said, point), _word(task, expected, point), met[point], point[0] == "questions")
        for point, about in order
        if point in met
    ]


def _word(task: Task, content: Content, point: Point) -> str:
    """What the content says at this point, in the words of the screen; "" for nothing."""
    part, question, other = point
    if part == "questions":
        answers = content.other_answers if other else content.answers
        return str(Answer.Value(answers[question]).label) if question in answers else ""
    if part == "score":
        return "" if content.score is None else _scored(task, content.score)
    if part == "preference":
        if content.preference is None:
            return ""
        return preference_labels(*LETTERS)[turned(content.preference, swapped=bool(task.swapped))]
    value = getattr(content.written or Written(), part)
    return str(Answer.Value(value).label) if value else ""


def _scored(task: Task, score: int) -> str:
    anchor = dict(task.round.anchored_scores).get(score, "")
    return f"{score} ({anchor})" if anchor else str(score)

"""What an annotator says about a task: read from a form, checked against the round, asked for where it is missing.

The screen speaks of the left and the right response of a pair, what is stored of the response and the other one. This
module is the one place that turns one into the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from annotate.characters import has_control
from annotate.models import Annotation, Answer, Question, Round, Task

LONGEST_ACTIVE_SECONDS = 24 * 3600
LONGEST_QUOTE = 2_000
LONGEST_NOTE = 500
# A pass rate this high with a score in the lowest third of the scale, or this low with one in the highest, is asked
# about once. It may well be right (Cook et al. 2024, TICK, appendix H.4: nine of ten yes, score 2).
HIGH_RATE, LOW_RATE = 0.8, 0.2

WHOLE, CHECKLIST = "whole", "checklist"
LETTERS = ("A", "B")  # what the responses of a pair are called on the screen, from the left


class InvalidLabel(Exception):
    """The content does not fit the round; the message is a sentence for the annotator. `content` is what fits, with the
    texts as they were written, so that a screen can show it again."""

    def __init__(self, message: str, content: Content | None = None) -> None:
        super().__init__(message)
        self.content = content


@dataclass(frozen=True)
class Written:
    """What a checklist writer says about an instruction: "yes" | "no" | "" twice, and the questions."""

    safe: str = ""
    sensible: str = ""
    questions: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the instruction can have a checklist at all."""
        return self.safe == "yes" and self.sensible == "yes"


@dataclass(frozen=True)
class Content:
    """What one annotator says about one task, of a pair in its original order. Parts not said yet are None or empty.

    answers         question id -> yes | no | na | unsure
    other_answers   the same about the other response of a pair
    preference      1 (the response is much better) to 5 (the other one is much better)
    quotes, flags   passages as evidence, notes on faults of the checklist; by question id as text, with "-other" for
                    the other response of a pair, or by "whole" and "checklist"
    """

    score: int | None = None
    answers: Mapping[int, str] = field(default_factory=dict)
    effect: str = ""
    comment: str = ""
    active_seconds: int = 0
    preference: int | None = None
    other_answers: Mapping[int, str] = field(default_factory=dict)
    quotes: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    written: Written | None = None

    @classmethod
    def of(cls, annotation: Annotation) -> Content:
        """What is stored. One query, or none where the answers were prefetched, or nothing was ever saved."""
        if annotation.version == 0:
            return cls()
        answers: tuple[dict[int, str], dict[int, str]] = ({}, {})
        for answer in annotation.answers.all():
            answers[answer.about_other][answer.question_id] = answer.value
        written = annotation.written
        return cls(
            annotation.score,
            answers[False],
            annotation.effect,
            annotation.comment,
            annotation.active_seconds,
            annotation.preference,
            answers[True],
            annotation.quotes,
            annotation.flags,
            Written(written["safe"], written["sensible"], tuple(written["questions"])) if written else None,
        )

    def as_json(self) -> dict[str, Any]:
        """For keeping (see `Revision` and `Adjudication`). Question ids become text."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Content:
        """What `as_json` made, after its way through a JSON column."""
        written = data.get("written")
        return cls(
            **{
                **data,
                "answers": {int(question): value for question, value in data["answers"].items()},
                "other_answers": {int(question): value for question, value in data["other_answers"].items()},
                "written": Written(**{**written, "questions": tuple(written["questions"])}) if written else None,
            }
        )

    def said(self) -> Iterator[str]:
        """All answers to questions."""
        yield from self.answers.values()
        yield from self.other_answers.values()


# -- what the screen calls things ----------------------------------------------------------------------------------


def turned(preference: int, *, swapped: bool) -> int:
    """A preference as shown (1: the left response is much better) in the pair's original order, or back."""
    return 6 - preference if swapped else preference


def preference_labels(first: str, second: str) -> dict[int, str]:
    """The five steps between two responses in words, from 1 (the first is much better), by what the two are called."""
    return {
        1: _("%(name)s is much better") % {"name": first},
        2: _("%(name)s is better") % {"name": first},
        3: _("Near-identical"),
        4: _("%(name)s is better") % {"name": second},
        5: _("%(name)s is much better") % {"name": second},
    }


def sides(task: Task) -> list[tuple[str, bool]]:
    """Of the responses on the screen, from the left: the ending of their field names, and whether each is the other
    response of the pair. A single response has no ending."""
    if task.other_id is None:
        return [("", False)]
    return [("-left", bool(task.swapped)), ("-right", not task.swapped)]


def letters_of(task: Task) -> tuple[str, ...]:
    """What the responses on the screen are called, from the left; a single one has no letter."""
    return LETTERS if task.other_id else ("",)


def fields_of(task: Task, content: Content) -> dict[str, str]:
    """The content as the screen's form fields, as `read_content` reads them; empty fields are left out."""
    found: dict[str, str] = {"comment": content.comment, "effect": content.effect}
    if content.score is not None:
        found["score"] = str(content.score)
    if content.preference is not None:
        found["preference"] = str(turned(content.preference, swapped=bool(task.swapped)))
    for ending, other in sides(task):
        answers = content.other_answers if other else content.answers
        for question in questions_of(task):
            found[f"answer-{question.pk}{ending}"] = answers.get(question.pk, "")
            found[f"quote-{question.pk}{ending}"] = content.quotes.get(quote_key(question.pk, other), "")
    found[f"quote-{WHOLE}"] = content.quotes.get(WHOLE, "")
    for name, note in content.flags.items():
        found |= {f"flag-{name}": "on", f"note-{name}": note}
    if content.written:
        found |= {"safe": content.written.safe, "sensible": content.written.sensible}
        found["questions"] = "\n".join(content.written.questions)
    return {name: value for name, value in found.items() if value}


def questions_of(task: Task) -> list[Question]:
    """The questions that the task asks, in order."""
    return list(task.checklist.questions.all()) if task.checklist and task.round.uses_checklist else []


def answer_values(round: Round) -> list[Answer.Value]:
    """The answers that the round offers."""
    offered = {Answer.Value.NA: round.allow_na, Answer.Value.UNSURE: round.allow_unsure}
    return [value for value in Answer.Value if offered.get(value, True)]


def quote_key(question: int, other: bool) -> str:
    """Under which the passage for an answer is kept: the question's, about the response or the other one of a pair."""
    return f"{question}-other" if other else str(question)


# -- reading ---------------------------------------------------------------------------------------------------------


def read_content(task: Task, data: Mapping[str, Any]) -> Content:
    """Content from submitted form fields, named as `fields_of` names them, and `active_seconds`.

    Raises InvalidLabel when a value is off the round's scale, unknown, too long, about a question of another checklist,
    or no part of this kind of round.
    """
    problems: list[str] = []
    parts = task.round.shape.parts
    texts = _Texts(data, problems)
    foreign = {
        name
        for name, part in (("score", "score"), ("preference", "preference"), ("effect", "effect"), ("safe", "writing"))
        if data.get(name) and part not in parts
    }
    if foreign:
        problems.append(_("This round does not ask for everything that was sent: reload the page."))
    answers = _read_answers(task, data, problems)
    quotes, flags = _read_quotes(task, texts), _read_flags(task, texts)
    comment = texts.read("comment", Annotation.LONGEST_COMMENT, _("The comment"))
    seconds = _whole(str(data.get("active_seconds") or "0"))
    if seconds is None or seconds < 0:
        problems.append(_("The active time must be a whole number of seconds."))
    content = Content(
        score=_read_score(task.round, data, problems) if "score" in parts else None,
        answers=answers[False],
        effect=_read_effect(data, problems) if "effect" in parts else "",
        comment=comment,
        active_seconds=min(max(seconds or 0, 0), LONGEST_ACTIVE_SECONDS),
        preference=_read_preference(task, data, problems) if "preference" in parts else None,
        other_answers=answers[True],
        quotes=quotes,
        flags=flags,
        written=_read_written(data, texts, problems) if "writing" in parts else None,
    )
    if problems:
        raise InvalidLabel(" ".join(problems), content)
    return content


class _Texts:
    """Texts that people write: line ends made one kind; too long ones and control characters refused."""

    def __init__(self, data: Mapping[str, Any], problems: list[str]) -> None:
        self.data = data
        self.problems = problems

    def read(self, name: str, longest: int, what: str) -> str:
        text = str(self.data.get(name) or "").replace("\r\n", "\n")
        if len(text) > longest:
            numbers = {"what": what, "n": f"{len(text):,}", "most": f"{longest:,}"}
            self.problems.append(_("%(what)s has %(n)s characters; shorten it to %(most)s.") % numbers)
        if has_control(text, apart_from="\n\t"):
            self.problems.append(_("%(what)s contains control characters: remove them.") % {"what": what})
        return text


def _whole(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 16):
        return None
    return -int(digits) if text.startswith("-") else int(digits)


def _read_score(round: Round, data: Mapping[str, Any], problems: list[str]) -> int | None:
    text = str(data.get("score") or "")
    if not text:
        return None
    score = _whole(text)
    if score not in round.scores:
        limits = {"low": round.scale_low, "high": round.scale_high}
        problems.append(_("The score must be a whole number from %(low)d to %(high)d.") % limits)
        return None
    return score


def _read_preference(task: Task, data: Mapping[str, Any], problems: list[str]) -> int | None:
    text = str(data.get("preference") or "")
    if not text:
        return None
    preference = _whole(text)
    if preference is None or not 1 <= preference <= 5:
        problems.append(_("The preference must be a whole number from 1 to 5."))
        return None
    return turned(preference, swapped=bool(task.swapped))


def _read_effect(data: Mapping[str, Any], problems: list[str]) -> str:
    effect = str(data.get("effect") or "")
    if effect and effect not in Annotation.Effect.values:
        problems.append(_("The effect of the checklist must be easier, no effect or harder."))
        return ""
    return effect


def _read_answers(task: Task, data: Mapping[str, Any], problems: list[str]) -> tuple[dict[int, str], dict[int, str]]:
    allowed = answer_values(task.round)
    about = {
        f"answer-{question.pk}{ending}": (question.pk, other)
        for question in questions_of(task)
        for ending, other in sides(task)
    }
    answers: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for name in data:
        if not name.startswith("answer-"):
            continue
        value = str(data[name])
        if name not in about:
            problems.append(_("An answer belongs to a question that is not on this checklist: reload the page."))
        elif value not in allowed:
            labels = ", ".join(str(each.label).lower() for each in allowed)
            problems.append(_("An answer must be one of: %(answers)s.") % {"answers": labels})
        else:
            question, other = about[name]
            answers[other][question] = value
    return answers


def _read_quotes(task: Task, texts: _Texts) -> dict[str, str]:
    quotes = {WHOLE: texts.read(f"quote-{WHOLE}", LONGEST_QUOTE, _("The passage"))}
    for question in questions_of(task):
        for ending, other in sides(task):
            quote = texts.read(f"quote-{question.pk}{ending}", LONGEST_QUOTE, _("The passage"))
            quotes[quote_key(question.pk, other)] = quote
    return {name: quote for name, quote in quotes.items() if quote.strip()}


def _read_flags(task: Task, texts: _Texts) -> dict[str, str]:
    """A note flags, and so does the mark without a note."""
    questions = questions_of(task)
    names = [CHECKLIST, *(str(question.pk) for question in questions)] if questions else []
    notes = {name: texts.read(f"note-{name}", LONGEST_NOTE, _("The note")) for name in names}
    return {name: note for name, note in notes.items() if note.strip() or texts.data.get(f"flag-{name}")}


def _read_written(data: Mapping[str, Any], texts: _Texts, problems: list[str]) -> Written:
    said = {name: str(data.get(name) or "") for name in ("safe", "sensible")}
    if any(value not in ("", "yes", "no") for value in said.values()):
        problems.append(_("Whether the instruction is safe and makes sense must be yes or no."))
    longest = Question.MOST * Question.LONGEST
    lines = texts.read("questions", longest, _("The list of questions")).split("\n")
    questions = tuple(line.strip() for line in lines if line.strip())
    if len(questions) > Question.MOST:
        problems.append(_("A checklist has at most %(most)d questions: shorten the list.") % {"most": Question.MOST})
    if any(len(question) > Question.LONGEST for question in questions):
        most = {"most": f"{Question.LONGEST:,}"}
        problems.append(_("A question has at most %(most)s characters: shorten or split it.") % most)
    return Written(said["safe"], said["sensible"], questions)


# -- what is missing, and what is odd --------------------------------------------------------------------------------


def missing_parts(task: Task, content: Content) -> list[str]:
    """What must still be said before the task can be submitted, in the order of the screen."""
    missing = [name for part in task.round.shape.parts for name in _missing_of(part, task, content)]
    if not missing and not content.comment.strip() and (reason := _comment_needed(task.round, content)):
        missing.append(_("a comment, because %(reason)s") % {"reason": reason})
    return missing


def out_of_order(task: Task, content: Content) -> str:
    """The sentence that refuses a part said before an earlier one is complete; "" where the order is kept.

    A check-then-score label is one in which the questions came first (Cook et al. 2024, TICK, appendix H.4).
    """
    earlier: list[str] = []
    for part in task.round.shape.parts:
        if earlier and _begun(part, content):
            return _("Answer in the order of the screen: first %(what)s.") % {"what": ", ".join(earlier)}
        earlier += _missing_of(part, task, content)
    return ""


def doubt(task: Task, content: Content) -> str:
    """A question to ask once where pass rate and score contradict each other; "" where they do not."""
    said = [value for value in content.said() if value in ("yes", "no")]
    if not said or content.score is None:
        return ""
    rate = said.count("yes") / len(said)
    third = (task.round.scale_high - task.round.scale_low) / 3
    low = content.score <= task.round.scale_low + third
    high = content.score >= task.round.scale_high - third
    if (rate >= HIGH_RATE and low) or (rate <= LOW_RATE and high):
        return _(
            "You said yes to %(yes)d of %(n)d questions and gave the score %(score)d. That can be right: the checklist "
            "does not decide the score. If you meant it, submit once more."
        ) % {"yes": said.count("yes"), "n": len(said), "score": content.score}
    return ""


def _begun(part: str, content: Content) -> bool:
    said = {
        "questions": bool(content.answers or content.other_answers),
        "score": content.score is not None,
        "preference": content.preference is not None,
        "effect": bool(content.effect),
        "writing": content.written is not None,
    }
    return said[part]


def _missing_of(part: str, task: Task, content: Content) -> Iterable[str]:
    if part == "questions":
        for question in questions_of(task):
            given = [content.answers] if task.other_id is None else [content.answers, content.other_answers]
            if any(question.pk not in answers for answers in given):
                yield _("question %(n)d") % {"n": question.position}
    elif part == "score" and content.score is None:
        yield _("the score")
    elif part == "preference" and content.preference is None:
        yield _("which response is better")
    elif part == "effect" and not content.effect:
        yield _("whether the checklist helped")
    elif part == "writing":
        written = content.written or Written()
        if not written.safe:
            yield _("whether the instruction is safe")
        if not written.sensible:
            yield _("whether the instruction makes sense")
        if written.usable and not written.questions:
            yield _("the questions")


def _comment_needed(round: Round, content: Content) -> str:
    """Why the round wants a comment on this content, in words; "" where it does not."""
    said = set(content.said())
    holds = {
        Round.CommentFor.NO: "no" in said,
        Round.CommentFor.NA: "na" in said,
        Round.CommentFor.UNSURE: "unsure" in said,
        Round.CommentFor.LOWEST: content.score == round.scale_low,
        Round.CommentFor.HIGHEST: content.score == round.scale_high,
        Round.CommentFor.TIE: content.preference == 3,
    }
    return next((str(reason.label) for reason, true in holds.items() if true and reason in round.comment_for), "")

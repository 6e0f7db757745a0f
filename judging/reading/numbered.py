"""Reading the answers to a numbered list of questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from judging.reading.answers import (
    ALONE,
    ANSWER,
    CLAUSE,
    OWN_LINE,
    PAUSE,
    UNCLEAR,
    VALUES,
    agreed,
    answer,
    sentences,
    stated,
)
from judging.reading.structured import ANSWER_KEY, DEEPEST, NUMBER_KEY, as_text, is_plain, spelled_out
from judging.reading.words import MARKUP_INLINE, SCORE_MARK, VERDICT_MARK, fold

_NAME = r"(?:question|item|check|q|no\.|問|質問|項目|設問)"
_BEFORE = rf"{_NAME}?{MARKUP_INLINE}#?"
_NUMBER = rf"{_BEFORE}(?P<number>\d{{1,3}})(?!\d)(?:番目?|つ目)?"
# "1.", "Q1:", "(1)", "| 1 |", "問1：", or a number and then the answer; not "1.5" and not "2-3 sentences".
_ITEM = re.compile(
    rf"^{MARKUP_INLINE}(?:(?:[-+•・|]|#{{1,6}}){MARKUP_INLINE})?(?:{VERDICT_MARK}s?{MARKUP_INLINE}:{MARKUP_INLINE})?{_NUMBER}"
    rf"{MARKUP_INLINE}(?:(?:[.:)\]】|=>、。・—–-]|->)(?!\s?\d)|(?={ANSWER}))",
    re.M,
)
# The next item on the same line: "1. yes, 2. no".
_RUN_ON = re.compile(
    rf"{ALONE}{MARKUP_INLINE}[,;、|.。]?[ \t]{{0,10}}"
    rf"(?={MARKUP_INLINE}{_BEFORE}\d{{1,3}}{MARKUP_INLINE}[.:)\]】|=-]{MARKUP_INLINE}{ANSWER})"
)
_LEADING = re.compile(
    rf"{MARKUP_INLINE}[-—–:|✅❌✔✓✗✘]?\ufe0f?{MARKUP_INLINE}{ALONE}"
    rf"{MARKUP_INLINE}(?:{PAUSE}|\(|{CLAUSE})(?![ \t]{{0,3}}\d{{1,3}}[.):])"
)
_ENDING = re.compile(rf"[?.!。:;|,、)\]—–-]{MARKUP_INLINE}{ALONE}{MARKUP_INLINE}[.!。|,;]?{MARKUP_INLINE}$")
_LISTING = re.compile(rf"(?<![a-z]){ANSWER}{MARKUP_INLINE}[,、]{MARKUP_INLINE}$")
# What speaks of the whole, and no longer of the last question.
_WHOLE = re.compile(
    rf"^{MARKUP_INLINE}[#-]{{0,6}}{MARKUP_INLINE}"
    rf"(?:overall|final|(?:in )?(?:total|summary|conclusion)|all in all|総合|全体|合計|総評|結論|{SCORE_MARK})",
    re.M,
)
_ANSWERS_KEY = re.compile(rf"{VERDICT_MARK}s?|checklist|チェックリスト")
_NUMBERED_KEY = re.compile(rf"{_NAME}?[ _-]?(?P<number>\d{{1,3}})")


def numbered(reply: str, questions: Sequence[str], *, na: bool = False, cut_off: bool = False) -> list[str | None]:
    """The answer to each of the questions, which were numbered from 1: "yes", "no", "na" where `na` allows it, or None
    where it is missing or cannot be read.

    Of several answers with one number the last counts; numbers beyond the list are ignored. Answers without numbers
    count only where nothing is numbered, they stand by themselves line after line, and there are exactly as many as
    questions. Of a reply that was cut off the last line is left out, because it may lack its end.
    """
    text = spelled_out(reply, _said)
    lost = False
    if cut_off:
        whole, _, last = text.rpartition("\n")
        text, lost = f"{whole}\n", bool(last.strip())
    words = _numbered(_RUN_ON.sub(lambda match: match[0] + "\n", text), [fold(question) for question in questions])
    values = {number: VALUES.get(word) for number, word in words.items()}
    if not values and not lost:
        values = dict(enumerate(_listed(text, len(questions)), start=1))
    if not values and len(questions) == 1:
        values = {1: answer(reply, cut_off=cut_off)}
    allowed = {"yes", "no", "na"} if na else {"yes", "no"}
    return [value if (value := values.get(number)) in allowed else None for number in range(1, len(questions) + 1)]


def _numbered(text: str, questions: Sequence[str]) -> dict[int, str]:
    """The last word that was said under each number."""
    items = list(_ITEM.finditer(text))
    ends = [item.start() for item in items[1:]] + [len(text)]
    words = {}
    for item, end in zip(items, ends, strict=False):
        number = int(item["number"])
        if 1 <= number <= len(questions):
            word = _word(_without(questions[number - 1], text[item.end() : end]))
            if word is not None:
                words[number] = word
    return words


def _without(question: str, said: str) -> str:
    """What was said after the question was repeated, if it was: it may name an answer itself."""
    start = re.match(MARKUP_INLINE, said)
    assert start is not None  # noqa: S101 - it matches nothing, too
    return said[start.end() + len(question) :] if said.startswith(question, start.end()) else said


def _word(said: str) -> str | None:
    """The answer in what was said under one number: in its first line, else in the lines below; a sentence in the first
    line counts last."""
    first, _, below = said.partition("\n")
    return _of_line(first) or stated(_WHOLE.split(below, maxsplit=1)[0]) or agreed(sentences(first))


def _of_line(line: str) -> str | None:
    """The answer that a line states: marked, at its end or at its beginning. Where these differ, or the end is one of a
    list ("yes, no"), it is nothing clear."""
    marked, ending, leading = stated(line), _ENDING.search(line), _LEADING.match(line)
    if ending and _LISTING.search(line[: ending.start("word")]):
        return UNCLEAR
    said = [*([marked] if marked else []), *(match["word"] for match in (leading, ending) if match)]
    if not said:
        return None
    return said[0] if len({VALUES.get(word) for word in said}) == 1 else UNCLEAR


def _listed(text: str, count: int) -> list[str | None]:
    """Answers that stand by themselves, line after line; none unless there are so many."""
    found = list(OWN_LINE.finditer(text))
    if len(found) != count:
        return []
    between = text[found[0].start() : found[-1].end()].splitlines()
    if sum(1 for line in between if line.strip()) != count:
        return []
    return [VALUES.get(match["word"]) for match in found]


def _said(value: Any, depth: int = DEEPEST) -> list[str]:
    """Answers in a JSON value, one per line, with their numbers where they have any."""
    if depth == 0 or is_plain(value):
        return []
    if isinstance(value, list):
        if all(is_plain(part) for part in value):
            return [as_text(part) for part in value]
        return [line for part in value for line in _said(part, depth - 1)]
    lines: list[str] = []
    for written, inner in value.items():
        key = fold(written).strip()
        if numbered_key := _NUMBERED_KEY.fullmatch(key):
            lines.append(f"{numbered_key['number']}: {as_text(inner) if is_plain(inner) else _own_answer(inner)}")
        elif isinstance(inner, dict) or _ANSWERS_KEY.fullmatch(key) or _has_objects(inner):
            lines += _said(inner, depth - 1)
    if lines or not (own := _own_answer(value)):
        return lines
    return [f"{_own_number(value)}{own}"]


def _own_answer(value: Any) -> str:
    """What an object says under the last key that names an answer; "" where it has none."""
    return _last(value, ANSWER_KEY)


def _own_number(value: dict[str, Any]) -> str:
    """The number that an object gives its answer: "3: "; "" where it gives none."""
    named = _NUMBERED_KEY.fullmatch(fold(_last(value, NUMBER_KEY)))
    return f"{named['number']}: " if named else ""


def _last(value: Any, wanted: re.Pattern[str]) -> str:
    if not isinstance(value, dict):
        return ""
    found = [as_text(inner) for key, inner in value.items() if is_plain(inner) and wanted.fullmatch(fold(key).strip())]
    return found[-1] if found else ""


def _has_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(part, dict) for part in value)

"""Reading a score on a scale."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from judging.reading.structured import held, spelled_out
from judging.reading.words import MARKUP, MARKUP_INLINE, SCORE_MARK, SPACES

_DIGITS = r"\d{1,9}"
_NUMBER = rf"(?P<number>[-+]?{_DIGITS}(?:\.{_DIGITS})?)"
_OUT_OF = rf"(?:(?P<scale>{_DIGITS})点(?:満点)?中)?"
_DENOMINATOR = rf"{SPACES}(?:点|points?)?{SPACES}(?:(?:/|out of|of){SPACES}(?P<most>{_DIGITS}))?"
# Of a scale, and no score: "maximum score: 5".
_ENDS = ("maximum", "minimum", "max", "min", "highest", "lowest", "top", "best", "worst", "possible", "full", "perfect")
_OPENING = rf"[\s*_`\"'{{#>「【\[(-]{{0,30}}(?:(?!(?:{'|'.join(_ENDS)})\b)[a-z]{{1,20}} )?"
_NOT_OF_ENDS = "".join(rf"(?<!\b{word} )" for word in _ENDS)
_SCALE = rf"(?:\({SPACES}-?{_DIGITS}{SPACES}(?:-|–|~|to){SPACES}-?{_DIGITS}{SPACES}\)){{0,1}}"  # "Score (1-5): 4"
# A range ("1-5", "4 or 5", "3~4") or a sum ("2 + 3") is no score; neither is a number that goes on.
_SINGLE = r"(?![.,\u2044]?\d|e[-+]?\d|\s?%)(?!\s{0,10}(?:[-~–+*x×=/]|to|or|and|または|から|か)\s{0,10}\d)"
# What is said about a score, and gives none: "a score of 5 would need more", "Score: 1 = bad", "5点ではない".
_SAID_ABOUT_IT = (
    rf"(?!\s?=|{_DENOMINATOR.replace('?P<most>', '?:')}{MARKUP_INLINE}"
    r"(?:(?:would|means?|meaning|could|should|might|may|must|can|cannot|requires?|needs|indicates?|represents?"
    r"|stands for|denotes?|isn't|is (?:too|not|for|given|reserved|only)|if|when|where|unless"
    r"|or (?:more|less|higher|lower))\b|では|とは|には|以上|以下|未満|なら|の場合|はつけ|は付け))"
)
_AMOUNT = rf"{_OUT_OF}{_NUMBER}{_DENOMINATOR}"
_AT_LINE = re.compile(
    rf"^{_OPENING}(?:{SCORE_MARK}{MARKUP_INLINE}{_SCALE}{MARKUP_INLINE}(?:is|は|:|=|->|—|-)"
    rf"|points?{MARKUP_INLINE}(?:is|:|=)){MARKUP}{_AMOUNT}{_SINGLE}{_SAID_ABOUT_IT}",
    re.M,
)
# "Score 4" is a score where it is a whole line; "Score 5: perfect" is the line of a scale.
_WHOLE_LINE = re.compile(
    rf"^{_OPENING}{SCORE_MARK}{MARKUP_INLINE}{_AMOUNT}{MARKUP_INLINE}(?:です)?[.!。]?{MARKUP_INLINE}$", re.M
)
_ALONE = re.compile(rf"^{MARKUP_INLINE}{_AMOUNT}{MARKUP_INLINE}[.。]?{MARKUP_INLINE}$", re.M)
_IN_PROSE = re.compile(
    rf"{_NOT_OF_ENDS}(?:{SCORE_MARK}|points?){MARKUP_INLINE}(?:is|of|は|を|:|=){MARKUP}{_AMOUNT}{_SINGLE}{_SAID_ABOUT_IT}"
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|cannot|no|than|without|below|above|under|if|unless|neither|nor|only)\b|n['’]t\b)[^.!?;,\n]{0,60}$"
)
_OVERALL = re.compile(r"overall|final|total|総合|最終|全体")
_LOOK_BACK = 80  # characters
_SHORTEST_SCALE = 3  # lines that name rising or falling scores one after the other
_KEY = re.compile(rf"(?:(?:final|overall|total|総合)[ _-]?)?(?:{SCORE_MARK}|points?)")


def score(reply: str, scores: Sequence[int], *, cut_off: bool = False, marked: bool = False) -> int | None:
    """The score of a reply: a whole number of `scores` (rising), or None where there is none on the scale.

    The last "Score: n" that starts a line, or score in a JSON object, counts; else lines that are a number alone, else
    scores named in prose, as long as all of them agree. "n/m" counts only where m is the highest score. A scale that is
    recited line by line gives no score, and neither does what is said about a score ("a score of 5 would need more").
    With `marked`, only the first of these is looked for, because other numbers are to be expected in the reply.
    """
    text = spelled_out(reply, lambda value: [f"score: {said}" for said in held(value, _KEY)])
    whole_lines = list(_WHOLE_LINE.finditer(text))
    if len({match["number"] for match in whole_lines}) > 1:  # headings
        whole_lines = []
    found = _without_scales(sorted([*_AT_LINE.finditer(text), *whole_lines], key=re.Match.start), text)
    if cut_off:
        found = [match for match in found if "\n" in text[match.end() :]]
    if found or cut_off or marked:
        return _on_scale(found[-1], scores) if found else None
    in_prose = [match for match in _IN_PROSE.finditer(text) if not _is_denied(match, text)]
    for matches in (list(_ALONE.finditer(text)), in_prose):
        said = {_on_scale(match, scores) for match in matches}
        if said:
            return said.pop() if len(said) == 1 else None
    return None


def _without_scales(found: list[re.Match[str]], text: str) -> list[re.Match[str]]:
    """Scores without those in neighbouring lines that rise or fall from each to the next, as a scale does."""
    runs: list[list[re.Match[str]]] = []
    for match in found:
        run = runs[-1] if runs else []
        steps = [float(after["number"]) - float(before["number"]) for before, after in pairwise([*run[-2:], match])]
        if (
            run
            and not _OVERALL.search(match[0])
            and _next_line(run[-1], match, text)
            and 0 not in steps
            and len({step > 0 for step in steps}) == 1
        ):
            run.append(match)
        else:
            runs.append([match])
    return [match for run in runs if len(run) < _SHORTEST_SCALE for match in run]


def _next_line(match: re.Match[str], after: re.Match[str], text: str) -> bool:
    """Whether nothing but the rest of its line stands between a match and the one after it."""
    return not text[match.end() : after.start()].partition("\n")[2].strip()


def _is_denied(match: re.Match[str], text: str) -> bool:
    """Whether the words before a score in prose say that it is not given: "I cannot give it a score of 5"."""
    return _DENIED.search(text[max(0, match.start() - _LOOK_BACK) : match.start()]) is not None


def _on_scale(match: re.Match[str], scores: Sequence[int]) -> int | None:
    number = float(match["number"])
    denominators = {int(match[name]) for name in ("most", "scale") if match[name]}
    if number != int(number) or int(number) not in scores or denominators - {scores[-1]}:
        return None
    return int(number)

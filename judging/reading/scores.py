"""Reading a score on a scale."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
_AT_LINE = re.compile(
    rf"^{_OPENING}(?:{SCORE_MARK}{MARKUP_INLINE}{_SCALE}{MARKUP_INLINE}(?:is|は|:|=|->|—|-)?"
    rf"|points?{MARKUP_INLINE}(?:is|:|=)){MARKUP}{_OUT_OF}{_NUMBER}{_DENOMINATOR}{_SINGLE}",
    re.M,
)
_ALONE = re.compile(rf"^{MARKUP_INLINE}{_OUT_OF}{_NUMBER}{_DENOMINATOR}{MARKUP_INLINE}[.。]?{MARKUP_INLINE}$", re.M)
_IN_PROSE = re.compile(
    rf"{_NOT_OF_ENDS}(?:{SCORE_MARK}|points?){MARKUP_INLINE}(?:is|of|は|を|:|=){MARKUP}{_OUT_OF}{_NUMBER}{_DENOMINATOR}{_SINGLE}"
)
_KEY = re.compile(rf"(?:(?:final|overall|total|総合)[ _-]?)?(?:{SCORE_MARK}|points?)")


def score(reply: str, scores: Sequence[int], *, cut_off: bool = False, marked: bool = False) -> int | None:
    """The score of a reply: a whole number of `scores` (rising), or None where there is none on the scale.

    The last "Score: n" that starts a line, or score in a JSON object, counts; else lines that are a number alone, else
    scores named in prose, as long as all of them agree. "n/m" counts only where m is the highest score. With `marked`,
    only the first of these is looked for, because other numbers are to be expected in the reply.
    """
    text = spelled_out(reply, lambda value: [f"score: {said}" for said in held(value, _KEY)])
    found = list(_AT_LINE.finditer(text))
    if cut_off:
        found = [match for match in found if "\n" in text[match.end() :]]
    if found or cut_off or marked:
        return _on_scale(found[-1], scores) if found else None
    for form in (_ALONE, _IN_PROSE):
        said = {_on_scale(match, scores) for match in form.finditer(text)}
        if said:
            return said.pop() if len(said) == 1 else None
    return None


def _on_scale(match: re.Match[str], scores: Sequence[int]) -> int | None:
    number = float(match["number"])
    denominators = {int(match[name]) for name in ("most", "scale") if match[name]}
    if number != int(number) or int(number) not in scores or denominators - {scores[-1]}:
        return None
    return int(number)

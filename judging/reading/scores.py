"""Reading a score on a scale."""

from __future__ import annotations

import re
from collections.abc import Sequence

from judging.reading.words import MARKUP, MARKUP_INLINE, SPACES, fold

_DIGITS = r"\d{1,9}"
_NUMBER = rf"(?P<number>[-+]?{_DIGITS}(?:\.{_DIGITS})?)"
_SCORE_MARK = r"(?:score|rating|grade|points?|評価|点数|スコア|採点|得点|評点)"
_OUT_OF = rf"(?:(?P<scale>{_DIGITS})点(?:満点)?中)?"
_DENOMINATOR = rf"{SPACES}(?:点|points?)?{SPACES}(?:(?:/|out of|of){SPACES}(?P<most>{_DIGITS}))?"
_OPENING = r"[\s*_`\"'{#>「【\[(-]{0,30}(?:[a-z]{1,20} )?"
# A range ("1-5", "4 or 5", "3~4") or a sum ("2 + 3") is no score; neither is a number that goes on.
_SINGLE = r"(?!\.?\d)(?!\s{0,10}(?:[-~–+*x×=/]|to|or|and|または|から|か)\s{0,10}\d)"
_SCORE_AT_LINE = re.compile(
    rf"^{_OPENING}{_SCORE_MARK}{MARKUP_INLINE}(?:is|は|:|=|->|—|-)?{MARKUP}"
    rf"{_OUT_OF}{_NUMBER}{_DENOMINATOR}{_SINGLE}",
    re.M,
)
_SCORE_ALONE = re.compile(
    rf"^{MARKUP_INLINE}{_OUT_OF}{_NUMBER}{_DENOMINATOR}{MARKUP_INLINE}[.。]?{MARKUP_INLINE}$", re.M
)
_SCORE_IN_PROSE = re.compile(
    rf"{_SCORE_MARK}{MARKUP_INLINE}(?:is|of|は|を|:|=){MARKUP}{_OUT_OF}{_NUMBER}{_DENOMINATOR}{_SINGLE}"
)


def score(reply: str, scores: Sequence[int], *, cut_off: bool = False) -> int | None:
    """The score of a reply: a whole number of `scores` (rising), or None where there is none on the scale.

    The last "Score: n" that starts a line counts, else the last line that is a number alone, else scores named in prose
    as long as all agree. "n/m" counts only where m is the highest score.
    """
    text = fold(reply)
    marked = list(_SCORE_AT_LINE.finditer(text))
    if cut_off:
        marked = [match for match in marked if "\n" in text[match.end() :]]
        return _on_scale(marked[-1], scores) if marked else None
    if marked:
        return _on_scale(marked[-1], scores)
    alone = list(_SCORE_ALONE.finditer(text))
    if alone:
        return _on_scale(alone[-1], scores)
    said = {_on_scale(match, scores) for match in _SCORE_IN_PROSE.finditer(text)}
    return said.pop() if len(said) == 1 else None


def _on_scale(match: re.Match[str], scores: Sequence[int]) -> int | None:
    number = float(match["number"])
    denominators = {int(match[name]) for name in ("most", "scale") if match[name]}
    if number != int(number) or int(number) not in scores or denominators - {scores[-1]}:
        return None
    return int(number)

"""How a judge's reply is read: the last verdict counts, and a reply that says none is None, never a guess.

Readers are tolerant of form (case, full-width characters, Markdown, Japanese words, prose around) and strict in
substance: a verdict other than the ones asked for, a score off the scale, or a reply cut off in its verdict is None.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Every repetition has a bound: a hostile reply must not make the search slow.
_SPACES = r"[ \t]{0,10}"
_MARKUP = r"[\s*_`\"'“”‘’「」『』【】()\[\]{}<>]{0,30}"
_MARKUP_INLINE = _MARKUP.replace(r"\s", r" \t")
_YES_NO = r"(?:yes|no|はい|いいえ)"
_NEITHER = (
    r"(?:n/a|na|not applicable|unclear|unknown|undecided|partial(?:ly)?|maybe|neither|both|該当なし|不明|どちらとも)"
)
_OR = r"(?:/|\||or|and|または|か|,|、)"
_END = r"(?![a-z0-9ぁ-ん])"
# "YES or NO" repeats the question and is no verdict.
_ALONE = rf"(?P<word>{_YES_NO}|{_NEITHER}){_END}(?!{_MARKUP_INLINE}{_OR}{_MARKUP_INLINE}(?:{_YES_NO}|{_NEITHER}){_END})"
_MARK = r"(?:verdict|answer|judge?ment|conclusion|decision|result|判定|答え|回答|結論|判断|結果)"
_MARKED = re.compile(
    rf"{_MARK}{_MARKUP_INLINE}(?:is|は|:|=|->|—|-){_MARKUP}(?:{_MARK}{_MARKUP_INLINE}:{_MARKUP})?{_ALONE}"
)
_OWN_LINE = re.compile(
    rf"^{_MARKUP_INLINE}(?:-|\d\.|=>|->)?{_MARKUP_INLINE}{_ALONE}{_MARKUP_INLINE}[.!。]?{_MARKUP_INLINE}$", re.M
)
_LEADING = re.compile(rf"^{_MARKUP_INLINE}{_ALONE}{_MARKUP_INLINE}(?:[,.:;!。、,]|-|—|$)", re.M)
_VALUES = {"yes": True, "はい": True, "no": False, "いいえ": False}

_DIGITS = r"\d{1,9}"
_NUMBER = rf"(?P<number>[-+]?{_DIGITS}(?:\.{_DIGITS})?)"
_SCORE_MARK = r"(?:score|rating|grade|points?|評価|点数|スコア|採点|得点|評点)"
_OUT_OF = rf"(?:(?P<scale>{_DIGITS})点(?:満点)?中)?"
_DENOMINATOR = rf"{_SPACES}(?:点|points?)?{_SPACES}(?:(?:/|out of|of){_SPACES}(?P<most>{_DIGITS}))?"
_OPENING = r"[\s*_`\"'{#>「【\[(-]{0,30}(?:[a-z]{1,20} )?"
# A range ("1-5", "4 or 5", "3~4") or a sum ("2 + 3") is no score; neither is a number that goes on.
_SINGLE = r"(?!\.?\d)(?!\s{0,10}(?:[-~–+*x×=/]|to|or|and|または|から|か)\s{0,10}\d)"
_SCORE_AT_LINE = re.compile(
    rf"^{_OPENING}{_SCORE_MARK}{_MARKUP_INLINE}(?:is|は|:|=|->|—|-)?{_MARKUP}"
    rf"{_OUT_OF}{_NUMBER}{_DENOMINATOR}{_SINGLE}",
    re.M,
)
_SCORE_ALONE = re.compile(
    rf"^{_MARKUP_INLINE}{_OUT_OF}{_NUMBER}{_DENOMINATOR}{_MARKUP_INLINE}[.。]?{_MARKUP_INLINE}$", re.M
)
_SCORE_IN_PROSE = re.compile(
    rf"{_SCORE_MARK}{_MARKUP_INLINE}(?:is|of|は|を|:|=){_MARKUP}{_OUT_OF}{_NUMBER}{_DENOMINATOR}{_SINGLE}"
)

_BRACKETED = re.compile(r"\[\[((?:[^\[\]]|\[(?!\[)|\](?!\])){1,2000})\]\]")


def fold(text: str) -> str:
    """One width and one case, so that YES, Ｙｅｓ and yes are the same word."""
    return unicodedata.normalize("NFKC", text).casefold()


def yes_or_no(reply: str, *, cut_off: bool = False) -> bool | None:
    """The verdict of a reply: True for yes, False for no, None where it says neither or cannot be read.

    A verdict is a marked one ("Verdict: no") or one on a line of its own; the last of them counts. Where there is none,
    a reply that opens a line with "Yes," or "No." counts as long as all such lines agree. Of a reply that was cut off
    only a marked verdict with text after it counts: the rest may have lacked its end.
    """
    text = fold(reply)
    verdicts = list(_MARKED.finditer(text))
    if cut_off:
        whole = [match for match in verdicts if "\n" in text[match.end() :]]
        return _VALUES.get(whole[-1]["word"]) if whole else None
    verdicts = sorted([*verdicts, *_OWN_LINE.finditer(text)], key=lambda match: match.end("word"))
    if verdicts:
        return _VALUES.get(verdicts[-1]["word"])
    leading = {_VALUES.get(match["word"]) for match in _LEADING.finditer(text)}
    return leading.pop() if len(leading) == 1 else None


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


def bracketed(reply: str) -> list[str]:
    """The texts in double square brackets, in order, each once, without list marks and blank ones."""
    found: dict[str, str] = {}
    for inner in _BRACKETED.findall(reply.replace("［［", "[[").replace("］］", "]]")):
        text = " ".join(inner.strip("[] \n\t").split())
        if any(char.isalpha() for char in text):
            found.setdefault(text.casefold(), text)
    return list(found.values())


def is_question(text: str) -> bool:
    """Whether a text ends as a question does, in English or Japanese."""
    return fold(text).rstrip(" 。.\"'」』)").endswith(("?", "か"))


def _on_scale(match: re.Match[str], scores: Sequence[int]) -> int | None:
    number = float(match["number"])
    denominators = {int(match[name]) for name in ("most", "scale") if match[name]}
    if number != int(number) or int(number) not in scores or denominators - {scores[-1]}:
        return None
    return int(number)

"""Reading one answer to one question."""

from __future__ import annotations

import re

from judging.reading.words import MARKUP, MARKUP_INLINE, fold

_YES_NO = r"(?:yes|no|はい|いいえ)"
_NEITHER = (
    r"(?:n/a|na|not applicable|unclear|unknown|undecided|partial(?:ly)?|maybe|neither|both|該当なし|不明|どちらとも)"
)
_OR = r"(?:/|\||or|and|または|か|,|、)"
_END = r"(?![a-z0-9ぁ-ん])"
# "YES or NO" repeats the question and is no verdict.
_ALONE = rf"(?P<word>{_YES_NO}|{_NEITHER}){_END}(?!{MARKUP_INLINE}{_OR}{MARKUP_INLINE}(?:{_YES_NO}|{_NEITHER}){_END})"
_MARK = r"(?:verdict|answer|judge?ment|conclusion|decision|result|判定|答え|回答|結論|判断|結果)"
_MARKED = re.compile(rf"{_MARK}{MARKUP_INLINE}(?:is|は|:|=|->|—|-){MARKUP}(?:{_MARK}{MARKUP_INLINE}:{MARKUP})?{_ALONE}")
_OWN_LINE = re.compile(
    rf"^{MARKUP_INLINE}(?:-|\d\.|=>|->)?{MARKUP_INLINE}{_ALONE}{MARKUP_INLINE}[.!。]?{MARKUP_INLINE}$", re.M
)
_LEADING = re.compile(rf"^{MARKUP_INLINE}{_ALONE}{MARKUP_INLINE}(?:[,.:;!。、,]|-|—|$)", re.M)
_VALUES = {"yes": True, "はい": True, "no": False, "いいえ": False}


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

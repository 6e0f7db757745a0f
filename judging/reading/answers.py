"""Reading one answer to one question."""

from __future__ import annotations

import re

from judging.reading.structured import held, spelled_out
from judging.reading.words import MARKUP, MARKUP_INLINE, NO, NOT_APPLICABLE, UNDECIDED, VERDICT_MARK, YES

VALUES = {word: value for value, words in (("yes", YES), ("no", NO), ("na", NOT_APPLICABLE)) for word in words}

_WORD = "(?:" + "|".join(map(re.escape, [*VALUES, *UNDECIDED])) + ")"
_OR = r"(?:/|\||or|and|または|か|,|、)"
# The word ends here: "nothing", "no-one" and "yes'm" are others.
_END = r"(?:(?=です)|(?![a-z0-9\u00c0-\u024fぁ-ん]|[-'’][a-z]))"
# "YES or NO" repeats the question and is no verdict.
ANSWER = rf"{_WORD}{_END}"
ALONE = rf"(?P<word>{_WORD}){_END}(?!{MARKUP_INLINE}{_OR}{MARKUP_INLINE}{ANSWER})"
MARKED = re.compile(
    rf"{VERDICT_MARK}{MARKUP_INLINE}(?:is|は|:|=|->|—|-){MARKUP}(?:{VERDICT_MARK}{MARKUP_INLINE}:{MARKUP})?{ALONE}"
)
OWN_LINE = re.compile(
    rf"^{MARKUP_INLINE}(?:-|\d\.|=>|->)?{MARKUP_INLINE}{ALONE}{MARKUP_INLINE}[.!。]?{MARKUP_INLINE}$", re.M
)
# "No. 3" names a thing.
_GOES_ON = r"(?:[,.:;!。、]|-|—|$)(?![ \t]{0,3}\d)"
_LEADING = re.compile(rf"^{MARKUP_INLINE}{ALONE}{MARKUP_INLINE}{_GOES_ON}", re.M)
_VERDICT_KEY = re.compile(rf"(?:final[ _-]?)?{VERDICT_MARK}")


def yes_or_no(reply: str, *, cut_off: bool = False) -> bool | None:
    """The verdict of a reply: True for yes, False for no, None where it says neither or cannot be read.

    A verdict is a marked one ("Verdict: no", or what a JSON object says under such a name) or one on a line of its own;
    the last of them counts. Where there is none, a reply that opens a line with "Yes," or "No." counts as long as all
    such lines agree. Of a reply that was cut off only a marked verdict with text after it counts: the rest may have
    lacked its end.
    """
    return {"yes": True, "no": False}.get(answer(reply, cut_off=cut_off) or "")


def answer(reply: str, *, cut_off: bool = False) -> str | None:
    """As `yes_or_no`, in words: "yes", "no" or "na"."""
    text = spelled_out(reply, lambda value: [f"verdict: {said}" for said in held(value, _VERDICT_KEY)])
    verdicts = list(MARKED.finditer(text))
    if cut_off:
        whole = [match for match in verdicts if "\n" in text[match.end() :]]
        return VALUES.get(whole[-1]["word"]) if whole else None
    verdicts = sorted([*verdicts, *OWN_LINE.finditer(text)], key=lambda match: match.end("word"))
    if verdicts:
        return VALUES.get(verdicts[-1]["word"])
    leading = {VALUES.get(match["word"]) for match in _LEADING.finditer(text)}
    return leading.pop() if len(leading) == 1 else None

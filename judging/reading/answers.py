"""Reading one answer to one question."""

from __future__ import annotations

import re

from judging.reading.structured import held, spelled_out
from judging.reading.words import MARKUP, MARKUP_INLINE, NO, NOT_APPLICABLE, THEREFORE, UNDECIDED, VERDICT_MARK, YES

VALUES = {word: value for value, words in (("yes", YES), ("no", NO), ("na", NOT_APPLICABLE)) for word in words}
UNCLEAR = "unclear"  # said of a text that contradicts itself

_WORD = "(?:" + "|".join(map(re.escape, [*VALUES, *UNDECIDED])) + ")"
_OR = r"(?:/|\||or|and|または|か)"
# "はいです", and not "はいではない", "はいですか", "はいですが".
_JAPANESE_END = r"(?:です(?![かが])|でした|である|だ(?=[。、\s]|$)|と(?:判断|判定|し[たま]|する|な[りる]|考え))"
# The word ends here: "nothing", "no-one" and "yes'm" are others.
_END = rf"(?:(?={_JAPANESE_END})|(?![a-z0-9\u00c0-\u024fぁ-ん]|[-'’][a-z]))"
ANSWER = rf"{_WORD}{_END}"
# "YES or NO" and "YES, NO" repeat the question and are no verdict; "YES, no fault was found" is one.
_LISTED = rf"(?:(?:[,、][ \t]?)?{_OR}[,、]?{MARKUP_INLINE}{ANSWER}|[,、]{MARKUP_INLINE}{ANSWER}(?!{MARKUP_INLINE}\w))"
_TAKEN_BACK = r"[,.;、。…—–-]{1,3}[ \t]{0,3}(?:no,? )?(?:wait\b|hmm|correction\b|いや)"
ALONE = rf"(?P<word>{_WORD}){_END}(?!{MARKUP_INLINE}(?:{_LISTED}|{_TAKEN_BACK}))"

# The answer ends here, or is explained. In "no errors" it does not, and "No. 3" names a thing.
CLAUSE = (
    r"(?:because|since|as|due to|but|(?:al)?though|while|it|its|the|this|that|there|they|he|she|we"
    r"|all|both|only|with|so|in my (?:view|opinion))\b"
)
PAUSE = r"(?:[,:;!|。、…—–✅❌-]|(?<!\bno)\.|\.(?![ \t]{0,3}\d)|$)"
_REMARK = rf"\((?:[^\n]{{0,400}}\){MARKUP_INLINE}{PAUSE}|[^)\n]{{0,400}}$)"
_COMPLETE = rf"(?:{MARKUP_INLINE}(?:{PAUSE}|{CLAUSE}|{_JAPANESE_END})|[ \t*_]{{0,10}}{_REMARK})"
_UNDECIDED = rf"(?:{'|'.join(map(re.escape, UNDECIDED))}){_END}"  # whatever follows

# A verdict is said of the judge's own: at the beginning of a line or a sentence, or with "so the" or "my" before it.
# "The expected answer is yes" and "it says that the answer is yes" are about something else.
_EDGE = r"^(?:[^\w\n]|_){0,30}(?:(?:step[ \t])?\d{1,2}[.):](?:[^\w\n]|_){0,10})?"
_BREAK = r"(?:[.!?;。)\]|>→*_`—–]|[ \t]-)[ \t*_`\"'“「(\[-]{0,10}"
_WHOSE = r"(?:(?:(?P<own>my|our|final|overall|judge|judge's)|the|your|short)[ \t]{1,3}){0,3}(?:最終的な|最終|総合)?"
_MARKED = re.compile(
    rf"(?:(?P<edge>{_EDGE})|{_BREAK}|(?=\b(?:{THEREFORE}|my[ ]|final[ ])|最終))(?P<therefore>{THEREFORE})?{_WHOSE}"
    rf"{VERDICT_MARK}{MARKUP_INLINE}(?:(?P<label>(?:(?:is|は){MARKUP_INLINE})?(?::|=>|=|->|→|—|–|-))|is|は){MARKUP}"
    rf"(?:{VERDICT_MARK}{MARKUP_INLINE}:{MARKUP})?(?=(?:{_UNDECIDED}|{_WORD}{_COMPLETE})){ALONE}",
    re.M,
)
OWN_LINE = re.compile(
    rf"^{MARKUP_INLINE}(?:-|\d\.|=>|->)?{MARKUP_INLINE}{ALONE}{MARKUP_INLINE}[.!。]?{MARKUP_INLINE}$", re.M
)
_LEADING = re.compile(rf"^{MARKUP_INLINE}{ALONE}{MARKUP_INLINE}{PAUSE}", re.M)
_VERDICT_KEY = re.compile(rf"(?:final[ _-]?)?{VERDICT_MARK}")


def yes_or_no(reply: str, *, cut_off: bool = False) -> bool | None:
    """The verdict of a reply: True for yes, False for no, None where it says neither or cannot be read.

    A verdict is one that is marked where a line begins ("Verdict: no", "So my answer is no", or what a JSON object says
    under such a name) or that has a line of its own; the last of them counts, unless what follows on it in prose
    contradicts it. Where there is none, marks within lines count ("It is short. Verdict: yes"), else sentences ("The
    answer is yes.") and lines that open with "Yes," or "No.": either as long as all of them agree. The word must end
    there, or be explained: "Result: no errors" says nothing. Of a reply that was cut off only a marked verdict with
    text after its line counts: the rest may have lacked its end.
    """
    return {"yes": True, "no": False}.get(answer(reply, cut_off=cut_off) or "")


def answer(reply: str, *, cut_off: bool = False) -> str | None:
    """As `yes_or_no`, in words: "yes", "no" or "na"."""
    text = spelled_out(reply, lambda value: [f"verdict: {said}" for said in held(value, _VERDICT_KEY)])
    word = stated(text, cut_off=cut_off)
    if word is None and not cut_off:
        word = agreed([*sentences(text), *_LEADING.finditer(text)])
    return VALUES.get(word or "")


def stated(text: str, *, cut_off: bool = False) -> str | None:
    """The word of the verdict that a folded text marks as one or puts on a line of its own; UNCLEAR where it marks
    several that differ; None where there is none but in `sentences`, or none that is whole in a text that was cut off.
    """
    marks = list(_MARKED.finditer(text))
    firm = [match for match in marks if match["edge"] is not None and _is_own(match)]
    if cut_off:
        firm, marks = _finished(firm, text), _finished(marks, text)
    else:
        firm = sorted([*firm, *OWN_LINE.finditer(text)], key=lambda match: match.end("word"))
    if not firm:
        return agreed([match for match in marks if _is_own(match)])
    return agreed([firm[-1], *(match for match in marks if match.start("word") > firm[-1].start("word"))])


def sentences(text: str) -> list[re.Match[str]]:
    """The verdicts of a folded text that are plain sentences: "The answer is yes." They may be about something else."""
    return [match for match in _MARKED.finditer(text) if not _is_own(match)]


def agreed(matches: list[re.Match[str]]) -> str | None:
    """The word of these answers; UNCLEAR where they differ, None where there are none."""
    words = {VALUES.get(match["word"], UNCLEAR): match["word"] for match in matches}
    return next(iter(words.values())) if len(words) == 1 else UNCLEAR if words else None


def _is_own(match: re.Match[str]) -> bool:
    """Whether a verdict is labelled as one, or says whose it is."""
    return any(match[name] is not None for name in ("label", "own", "therefore"))


def _finished(matches: list[re.Match[str]], text: str) -> list[re.Match[str]]:
    return [match for match in matches if "\n" in text[match.end() :]]

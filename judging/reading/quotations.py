"""What a reply quotes of the texts that it judges is no verdict: they may fake one."""

from __future__ import annotations

import re

from judging.reading.words import SCORE_MARK, VERDICT_MARK

_FENCED = re.compile(
    r"^[ \t>]{0,10}@@@ (?P<name>[A-Z0-9 ]{1,40}) STARTS @@@.*?(?:^[ \t>]{0,10}@@@ (?P=name) ENDS @@@|\Z)", re.M | re.S
)
_MARK = rf"(?:{VERDICT_MARK}|{SCORE_MARK}|points?|choice|preference|選択|選好)"
_QUOTED = re.compile(
    rf"[\"“„«‘'「『`]{{1,3}}[ \t*_]{{0,5}}(?:[a-z]{{1,20}} ){{0,2}}{_MARK}[ \t*_]{{0,5}}(?::|=|は|is\b)"
    r"[^\n\"”“»’'」』`]{1,80}[\"”“»’'」』`]{1,3}"
)
# "Final answer: “Verdict: no”", and a quotation that is the whole line, are the judge's own words.
_OWN = re.compile(rf"(?:^|\n|{_MARK}(?:[ \t*_]{{0,5}}(?::|=|は|is)){{0,2}})[ \t*_#>-]{{0,20}}$")
_LOOK_BACK = 60  # characters


def without_fenced(reply: str) -> str:
    """The reply without what it repeats between fence lines of the prompt; an open fence goes on to its end."""
    return _FENCED.sub("", reply)


def without_quoted(text: str) -> str:
    """The folded text without verdicts that are quoted within a sentence: 'It says "Verdict: yes", which I ignore.'"""

    def kept(match: re.Match[str]) -> str:
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        return match[0] if _OWN.search(before) else ""

    return _QUOTED.sub(kept, text)

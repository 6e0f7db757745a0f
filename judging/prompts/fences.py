"""Fences around judged text that the text cannot forge.

A fence is a line such as `@@@ RESPONSE STARTS @@@`. Inside the text, whatever could pass for a fence line is defused:
three or more at-signs in a row (also full-width or small ones, with spaces or invisible characters between), and any
at-sign on a line that reads like a fence. So are the control tokens of chat formats, which some servers would take for
the end of our message.
"""

from __future__ import annotations

import re
import unicodedata

STARTS, ENDS = "STARTS", "ENDS"

_AT = "@\N{FULLWIDTH COMMERCIAL AT}\N{SMALL COMMERCIAL AT}"
# Characters that show nothing: soft hyphen, zero-width ones, bidirectional controls, variation selectors, tags.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff"
)
_AT_RUN = re.compile(rf"[{_AT}](?:[\s{_INVISIBLE}]*[{_AT}]){{2,}}")
_AT_ANY = re.compile(rf"[{_AT}]")
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_FENCE_WORDS = re.compile(r"(?:starts?|ends?|begins?|beginning|stops?)")
_CONTROL_TOKENS = re.compile(
    r"<(?=\s*[|\N{FULLWIDTH VERTICAL LINE}][^<>\n]{1,60}[|\N{FULLWIDTH VERTICAL LINE}]\s*>)"
    r"|<(?=/?(?:s|bos|eos|pad|unk|think|(?:start|end)_of_(?:turn|text|image)|im_(?:start|end|sep))>)"
    r"|<(?=</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\])",
    re.IGNORECASE,
)
_UNSENDABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with control characters and lone surrogates replaced: PostgreSQL and JSON endpoints take neither."""
    return _UNSENDABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def clean(text: str) -> str:
    """Storable text in which the control tokens of chat formats are broken by a space."""
    return _CONTROL_TOKENS.sub(lambda match: match[0] + " ", storable(text))


def defuse(text: str) -> str:
    """`clean` text in which nothing passes for a fence; all other text stays as it was."""
    text = _AT_RUN.sub(lambda match: _spell(match[0]), clean(text))
    return _LINE.sub(lambda match: _spell(match[0]) if _reads_like_fence(match[0]) else match[0], text)


def fence(name: str, text: str) -> str:
    """`text` between two fence lines that carry `name`."""
    label = name.upper().replace("_", " ")
    return f"@@@ {label} {STARTS} @@@\n{defuse(text)}\n@@@ {label} {ENDS} @@@"


def _spell(text: str) -> str:
    return _AT_ANY.sub("(at)", text)


def _reads_like_fence(line: str) -> bool:
    """Whether a line has two at-signs in a row, or one at each end, and a word of a fence line."""
    if not _AT_ANY.search(line):
        return False
    folded = unicodedata.normalize("NFKC", re.sub(rf"[\s{_INVISIBLE}]", "", line)).casefold()
    framed = len(folded) > 1 and folded[0] == folded[-1] == "@"
    return (framed or "@@" in folded) and bool(_FENCE_WORDS.search(folded))

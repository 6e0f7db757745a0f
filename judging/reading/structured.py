"""Replies in JSON: by schema where the endpoint takes one, else because a model likes to write it.

A JSON object in a reply is spelled out in words, and the reply is then read like any other: of what a judge says in
JSON and what it says in prose, the last verdict counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from judging.reading.quotations import without_fenced, without_quoted
from judging.reading.words import VERDICT_MARK, fold

# The keys under which an object says which question it answers, and what.
NUMBER_KEY = re.compile(r"(?:question[ _-]?)?(?:number|no|id|index)|question|item|番号|質問|項目")
ANSWER_KEY = re.compile(VERDICT_MARK)

DEEPEST = 6  # levels of nesting that are looked into
# Characters looked at in vain, after which no more JSON is looked for; and what a try costs beside them.
_EFFORT, _TRY, _STRANGE_TRY = 1_000_000, 100, 10_000
_START = re.compile(r"""\{(?=\s{0,50}")|\[(?=\s{0,50}["{])""")
_TRAILING_COMMA = re.compile(r",(?=\s{0,200}[}\]])")
_DECODER = json.JSONDecoder(
    strict=False
)  # line breaks within a string are common; of a key given twice the last counts


def spelled_out(reply: str, say: Callable[[Any], list[str]]) -> str:
    """The folded reply in which what `say` makes of a JSON value stands in its place, on lines of its own; without what
    it quotes.

    An object of which `say` makes nothing is left out: its prose is no verdict. A list of that kind stays as it is.
    """
    folded = fold(_replaced(without_fenced(reply), say))  # folding may reveal JSON in full-width characters
    return without_quoted(_replaced(folded, say))


def held(value: Any, wanted: re.Pattern[str], depth: int = DEEPEST) -> list[str]:
    """What an object says under the wanted keys, in order, as text; else what the one object in it says that has such
    keys. Of a list the last object that has them counts."""
    if depth == 0:
        return []
    if isinstance(value, list):
        return next((found for part in reversed(value) if (found := held(part, wanted, depth - 1))), [])
    if not isinstance(value, dict):
        return []
    own = [as_text(inner) for key, inner in value.items() if is_plain(inner) and wanted.fullmatch(fold(key).strip())]
    if own:
        return own
    inside = [found for inner in value.values() if (found := held(inner, wanted, depth - 1))]
    return inside[0] if len(inside) == 1 else []


def is_plain(value: Any) -> bool:
    return not isinstance(value, list | dict)


def as_text(value: Any) -> str:
    """A plain JSON value in one line: true is yes, false is no, null says nothing clear."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:f}"
    return "unclear" if value is None else " ".join(str(value).split())


def _replaced(text: str, say: Callable[[Any], list[str]]) -> str:
    text = _TRAILING_COMMA.sub("", text)
    parts, done, effort = [], 0, _EFFORT
    for start in _START.finditer(text):
        if effort < 0:
            break
        if start.start() < done:
            continue
        try:
            value, length = _DECODER.raw_decode(text[start.start() :])  # an error counts the lines up to it: see to few
        except json.JSONDecodeError as error:
            effort -= error.pos + _TRY
            continue
        except (ValueError, RecursionError):  # a number of thousands of digits, nesting of hundreds of levels
            effort -= _STRANGE_TRY
            continue
        lines = say(value)
        if lines or isinstance(value, dict):
            parts += [text[done : start.start()], "", *lines, ""]
            done = start.start() + length
        else:
            effort -= length + _TRY
    return "\n".join([*parts, text[done:]])

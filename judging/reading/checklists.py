"""Reading the questions of a written checklist."""

from __future__ import annotations

import re

from judging.reading.words import fold

_BRACKETED = re.compile(r"\[\[((?:[^\[\]]|\[(?!\[)|\](?!\])){1,2000})\]\]")


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

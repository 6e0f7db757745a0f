"""Words and marks that replies are read by."""

from __future__ import annotations

import unicodedata

# Every repetition has a bound: a hostile reply must not make the search slow.
SPACES = r"[ \t]{0,10}"
MARKUP = r"[\s*_`\"'“”‘’「」『』【】()\[\]{}<>]{0,30}"
MARKUP_INLINE = MARKUP.replace(r"\s", r" \t")


def fold(text: str) -> str:
    """One width and one case, so that YES, Ｙｅｓ and yes are the same word."""
    return unicodedata.normalize("NFKC", text).casefold()

"""Control characters in texts that people send: they show nothing, and databases refuse some of them."""

from __future__ import annotations

import re

# What Unicode calls Cc (C0, DEL and C1), and halves of characters, which no database stores.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def has_control(text: str, *, apart_from: str = "") -> bool:
    """Whether there are any, apart from those that are allowed."""
    return any(char not in apart_from for char in CONTROL.findall(text))


def printable(text: str) -> str:
    """The text without any of them."""
    return CONTROL.sub("", text)

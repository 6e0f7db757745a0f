"""The one table of keys on the annotation screen: it feeds the buttons, the `?` overlay, the script and the docs."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """`action` names what the script does; `key` is the KeyboardEvent.key that does it; `does` says it in words."""

    action: str
    key: str
    does: str

    @property
    def keys(self) -> list[str]:
        """The caps to print, one after the other."""
        return [
            {"ArrowDown": "↓", "ArrowUp": "↑"}.get(cap, cap.upper() if len(cap) == 1 else cap)
            for cap in self.key.split("+")
        ]


KEYS = (
    Key("yes", "y", "Yes to the current question, and on to the next"),
    Key("no", "n", "No to the current question, and on to the next"),
    Key("na", "a", "Not applicable, where the round offers it"),
    Key("next", "j", "Next question"),
    Key("previous", "k", "Previous question"),
    Key("score", "1…9", "The score with this number (0 is ten)"),
    Key("easier", "e", "The checklist made scoring easier"),
    Key("none", "o", "The checklist had no effect"),
    Key("harder", "h", "The checklist made scoring harder"),
    Key("comment", "c", "Write a comment (Esc leaves it)"),
    Key("submit", "Ctrl+Enter", "Submit and take the next task"),
    Key("help", "?", "Show these keys"),
)

KEY_OF = {key.action: key.key for key in KEYS}


def score_key(score: int) -> str:
    """The digit key of a score: itself up to 9, 0 for ten, none for other scores."""
    return str(score) if 0 <= score <= 9 else "0" if score == 10 else ""

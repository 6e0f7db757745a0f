"""The one table of keys on the annotation screen: it feeds the buttons, the `?` overlay, the script and the docs.

People can give actions other keys and switch keys off (`User.keys`: action -> key, and "off").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _


class Key(NamedTuple):
    """`action` names what the script does; `key` is the KeyboardEvent.key that does it; `does` says it in words.

    A fixed key cannot be changed: scores have their own digits, and the others hold in every program. A key with
    `parts` is for the rounds that ask for one of them.
    """

    action: str
    key: str
    does: Any
    parts: frozenset[str] = frozenset()
    fixed: bool = False

    @property
    def caps(self) -> list[str]:
        """The caps to print, one after the other."""
        return caps(self.key)


ROWS, QUESTIONS = frozenset({"questions", "writing"}), frozenset({"questions"})
STEPS, EFFECT = frozenset({"score", "preference"}), frozenset({"effect"})

KEYS = (
    Key("yes", "y", _("Yes to the current question, and on to the next"), ROWS),
    Key("no", "n", _("No to the current question, and on to the next"), ROWS),
    Key("na", "a", _("Not applicable, where the round offers it"), QUESTIONS),
    Key("unsure", "u", _("Cannot tell, where the round offers it"), QUESTIONS),
    Key("next", "j", _("Next question"), ROWS),
    Key("previous", "k", _("Previous question"), ROWS),
    Key("score", "1…9", _("The score or preference with this number (0 is ten)"), STEPS, fixed=True),
    Key("easier", "e", _("The checklist made scoring easier"), EFFECT),
    Key("none", "o", _("The checklist had no effect"), EFFECT),
    Key("harder", "h", _("The checklist made scoring harder"), EFFECT),
    Key("quote", "q", _("Attach the selected passage as evidence, to the current question where there is one")),
    Key("flag", "f", _("Report that the current question is wrong here"), QUESTIONS),
    Key("comment", "c", _("Write a comment (Esc leaves it)")),
    Key("raw", "r", _("Show the plain text, exactly as written, and back")),
    Key("guidelines", "g", _("Open the guidelines")),
    Key("skip", "s", _("Skip the task")),
    Key("back", "b", _("Back to the task submitted last")),
    Key("submit", "Ctrl+Enter", _("Submit and take the next task"), fixed=True),
    Key("help", "?", _("Show these keys"), fixed=True),
)
CHANGEABLE = tuple(key for key in KEYS if not key.fixed)


class Keys:
    """The keys of one person: action -> key ("" where keys are switched off)."""

    def __init__(self, own: Mapping[str, Any]) -> None:
        self.off = bool(own.get("off"))
        chosen = {key.action: str(own.get(key.action, key.key)) for key in CHANGEABLE}
        self._key_of = {key.action: chosen.get(key.action, key.key) for key in KEYS}

    @classmethod
    def of(cls, user: Any) -> Keys:
        return cls(user.keys)

    def __getitem__(self, action: str) -> str:
        """The key to print and to listen to; submitting works also where keys are switched off."""
        return "" if self.off and action != "submit" else self._key_of[action]

    def rows(self, parts: Iterable[str]) -> Iterator[Key]:
        """The rows of the `?` overlay with this person's keys, for a round that asks for these parts."""
        for key in KEYS:
            if self[key.action] and (not key.parts or not key.parts.isdisjoint(parts)):
                yield key._replace(key=self[key.action])

    def of_score(self, score: int, scores: Collection[int]) -> str:
        """The digit key of one of these scores: itself up to 9, 0 for ten where 0 is no score, else none."""
        digit = str(score) if 0 <= score <= 9 else "0" if score == 10 and 0 not in scores else ""
        return "" if self.off else digit

    @property
    def by_key(self) -> dict[str, str]:
        """key -> action, for the script; without the scores, whose digits stand on the buttons."""
        return {self[key.action]: key.action for key in KEYS if key.action != "score" and self[key.action]}


def caps(key: str) -> list[str]:
    return [
        {"ArrowDown": "↓", "ArrowUp": "↑"}.get(cap, cap.upper() if len(cap) == 1 else cap) for cap in key.split("+")
    ]

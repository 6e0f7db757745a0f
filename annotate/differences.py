"""How one version of a checklist differs from another, in a form that can be read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "added", "removed", "changed"]
# Words of scripts that separate them stay whole; other characters (Japanese, punctuation) count one by one.
TOKEN = re.compile(r"[0-9A-Za-z\u00C0-\u024F]+|\s+|.", re.DOTALL)
# From this similarity on, two questions are shown as one that was changed.
RELATED = 0.5


@dataclass(frozen=True)
class Part:
    """A stretch of text that is in both versions, or in one alone."""

    kind: Literal["same", "added", "removed"]
    text: str


@dataclass(frozen=True)
class Change:
    """One question, or two versions of one, as parts in reading order."""

    kind: Kind
    parts: Sequence[Part]


def question_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """What became of the questions, in the order of the new version with removed ones where they stood."""
    changes: list[Change] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            changes.extend(Change("same", (Part("same", text),)) for text in new[c:d])
        else:
            changes.extend(_replaced(old[a:b], new[c:d]))
    return changes


def _replaced(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Questions at the same place are compared word by word where they are alike."""
    changes: list[Change] = []
    for number in range(max(len(old), len(new))):
        before = old[number] if number < len(old) else ""
        after = new[number] if number < len(new) else ""
        parts = _parts(before, after)
        kept = sum(len(part.text) for part in parts if part.kind == "same")
        if before and after and kept >= RELATED * max(len(before), len(after)):
            changes.append(Change("changed", parts))
            continue
        if before:
            changes.append(Change("removed", (Part("removed", before),)))
        if after:
            changes.append(Change("added", (Part("added", after),)))
    return changes


def _parts(before: str, after: str) -> list[Part]:
    old, new = TOKEN.findall(before), TOKEN.findall(after)
    parts: list[Part] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(Part("same", "".join(new[c:d])))
            continue
        if a < b:
            parts.append(Part("removed", "".join(old[a:b])))
        if c < d:
            parts.append(Part("added", "".join(new[c:d])))
    return parts

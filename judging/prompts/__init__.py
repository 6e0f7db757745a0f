"""Prompt templates: text files of this folder, versioned by content, filled so that judged text stays data.

A template has sections headed `[system]` and `[user]`, each a message. `{{name}}` is filled with fenced text,
`{{=name}}` with a bare value of our own making (a scale, a number). Filling is a single pass: a placeholder inside a
value is never expanded. What many calls share (instruction, response) stands first and the question last, for prefix
caching. A last section `[follow-up]`, where a protocol has a second turn, is what is said in it, without placeholders.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.utils.translation import gettext as _

from judging.prompts.fences import clean, fence

FOLDER = Path(__file__).parent
VERSION_LENGTH = 12

FOLLOW_UP = "follow-up"

_SECTION = re.compile(rf"^\[(system|user|assistant|{FOLLOW_UP})\]\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{(=?)(\w+)\}\}")

Message = dict[str, str]  # {"role": "system" | "user" | "assistant", "content": str}


@dataclass(frozen=True)
class Template:
    """A prompt in `messages` with placeholders; `version` is a hash of the whole file.

    `follow_up` is what a second turn says after the first reply; "" where there is no second turn.
    """

    name: str
    version: str
    source: str
    messages: tuple[tuple[str, str], ...]
    follow_up: str = ""

    @property
    def placeholders(self) -> set[str]:
        """The names that the template wants values for, as they are written: `response`, `=scale`."""
        return {"".join(found) for _, text in self.messages for found in _PLACEHOLDER.findall(text)}

    def fill(self, values: Mapping[str, str]) -> list[Message]:
        """The messages to send. A placeholder without a value raises KeyError; an empty value leaves no fence."""

        def value(match: re.Match[str]) -> str:
            bare, name = match.groups()
            text = values[name]
            if bare:
                return clean(text)
            return fence(name, text)

        filled = []
        for role, text in self.messages:
            # Empty parts go first, with the blank lines around them; no value has been put in yet.
            present = _PLACEHOLDER.sub(lambda match: match[0] if values[match[2]] else "", text)
            content = re.sub(r"\n{3,}", "\n\n", present)
            filled.append({"role": role, "content": _PLACEHOLDER.sub(value, content).strip()})
        return filled


@cache
def template(name: str) -> Template:
    """The template of the file `<name>.txt`."""
    return parse(name, (FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


def names() -> list[str]:
    """All templates that Concord brings."""
    return sorted(file.stem for file in FOLDER.glob("*.txt"))


def parse(name: str, source: str) -> Template:
    """A template from its text. Line ends and blank lines around it make no other version."""
    source = source.replace("\r\n", "\n").strip() + "\n"
    parts = _SECTION.split(source)
    sections = [(role, text.strip()) for role, text in zip(parts[1::2], parts[2::2], strict=True)]
    messages = tuple((role, text) for role, text in sections if role != FOLLOW_UP)
    follow_up = "\n\n".join(text for role, text in sections if role == FOLLOW_UP)
    digest = hashlib.sha256(source.encode()).hexdigest()
    return Template(name, digest[:VERSION_LENGTH], source, messages, follow_up)


def second_turn(template: Template, messages: Sequence[Message], reply: str) -> list[Message]:
    """The prompt that goes on after a reply with the template's follow-up."""
    return [
        *messages,
        {"role": "assistant", "content": clean(reply)},
        {"role": "user", "content": template.follow_up},
    ]


def problem_with(name: str, source: str) -> str:
    """Why a text cannot stand in for the template of this name, as a sentence with the remedy; "" where it can."""
    given, brought = parse(name, source), template(name)
    messages = given.messages
    if not _SECTION.match(given.source) or not messages or messages[-1][0] != "user" or not all(t for _, t in messages):
        return _("A prompt begins with a line [system] or [user], has text in every part, and ends with a [user] part.")
    if wrong := _problem_with_follow_up(given, brought):
        return wrong
    unknown = sorted(given.placeholders - brought.placeholders)
    if unknown:
        known = ", ".join(f"{{{{{name}}}}}" for name in sorted(brought.placeholders))
        return _("Nothing fills %(unknown)s: use only %(known)s.") % {
            "unknown": f"{{{{{unknown[0]}}}}}",
            "known": known,
        }
    needed = {name for name in brought.placeholders if not name.startswith("=")} - {"history", "reference"}
    missing = sorted(needed - given.placeholders)
    if missing:
        placeholder = f"{{{{{missing[0]}}}}}"
        return _("The prompt must show %(placeholder)s: put it where the judge should read it.") % {
            "placeholder": placeholder
        }
    return ""


def _problem_with_follow_up(given: Template, brought: Template) -> str:
    roles = [section[1] for section in _SECTION.finditer(given.source)]
    if not brought.follow_up:
        if FOLLOW_UP not in roles:
            return ""
        return _("Nothing follows the first reply here: leave the part [%(part)s] out.") % {"part": FOLLOW_UP}
    if roles.count(FOLLOW_UP) != 1 or roles[-1] != FOLLOW_UP or not given.follow_up:
        return _("This prompt ends with one part [%(part)s]: write there what asks the judge to look once more.") % {
            "part": FOLLOW_UP
        }
    if _PLACEHOLDER.search(given.follow_up):
        return _("The part [%(part)s] shows nothing again: leave the placeholders out of it.") % {"part": FOLLOW_UP}
    return ""

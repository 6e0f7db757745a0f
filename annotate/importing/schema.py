"""Rows in the native shape to checked items: strict, so that a typing error never becomes data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.characters import has_control
from annotate.importing.formats import RawRow, nearest, quoted
from annotate.importing.problems import Problems
from annotate.models import Checklist, Item, Response
from annotate.models.checklist import clean_questions


def _longest(model: type[Model], name: str) -> int:
    """How many characters the column of this name holds."""
    return int(getattr(model._meta.get_field(name), "max_length", 0))


LONGEST_EXTERNAL_ID = _longest(Item, "external_id")
LONGEST_CATEGORY = _longest(Item, "category")
LONGEST_LANGUAGE = _longest(Item, "language")
LONGEST_SYSTEM = _longest(Response, "system")
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
POLICY = re.compile(r"[a-z][a-z0-9_]{0,39}")
ROLES = ("user", "assistant")
ITEM_KEYS = (
    "external_id",
    "instruction",
    "category",
    "language",
    "reference",
    "history",
    "metadata",
    "responses",
    "checklist",
)
TYPE_NAMES = {
    dict: gettext_lazy("an object"),
    list: gettext_lazy("a list"),
    str: gettext_lazy("a text"),
    bool: gettext_lazy("true or false"),
    type(None): "null",
}


@dataclass(frozen=True)
class ResponseRow:
    system: str
    text: str


@dataclass(frozen=True)
class ChecklistRow:
    questions: Sequence[str]
    policy: str
    approved: bool


@dataclass(frozen=True)
class ItemRow:
    """One checked item, as it will be stored. `row` is where it begins in the file."""

    row: int
    external_id: str
    instruction: str
    category: str = ""
    language: str = ""
    reference: str = ""
    history: list[dict[str, str]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    responses: Sequence[ResponseRow] = ()
    checklist: ChecklistRow | None = None


class _ValueError(Exception):
    """One value is wrong; the message is the end of a sentence with a row number."""


def read_items(rows: Sequence[RawRow], problems: Problems) -> list[ItemRow]:
    """The items of the rows that are right; every wrong value of the others goes to `problems`."""
    items: list[ItemRow] = []
    first_row: dict[str, int] = {}
    for row in rows:
        if problems.full:
            break
        item = _Reader(row, problems).item()
        if item is None:
            continue
        if item.external_id in first_row:
            first = first_row[item.external_id]
            problems.add(
                row.number,
                _("the external_id %(id)s is in row %(first)d already.")
                % {"id": quoted(item.external_id), "first": first},
            )
        else:
            first_row[item.external_id] = row.number
            items.append(item)
    return items


class _Reader:
    """Reads one row, and notes all that is wrong with it rather than the first thing alone."""

    def __init__(self, row: RawRow, problems: Problems) -> None:
        self.row = row
        self.problems = problems
        self.right = True
        self.meant: set[str] = set()  # what unknown keys of the object at hand were probably meant to be

    def item(self) -> ItemRow | None:
        values = self.row.values
        self._known(values, ITEM_KEYS, "")
        item = ItemRow(
            row=self.row.number,
            external_id=self._label(values, "external_id", LONGEST_EXTERNAL_ID, required=True),
            instruction=self._text(values, "instruction", required=True),
            category=self._label(values, "category", LONGEST_CATEGORY),
            language=self._language(values),
            reference=self._text(values, "reference"),
            history=self._history(values),
            metadata=self._metadata(values),
            responses=self._responses(values),
            checklist=self._checklist(values),
        )
        return item if self.right else None

    def _note(self, sentence: str, row: int = 0) -> None:
        self.right = False
        self.problems.add(row or self.row.number, sentence)

    def _known(self, values: dict[str, Any], known: tuple[str, ...], place: str, row: int = 0) -> None:
        """Note the unknown keys of `values`, and what they were probably meant to be: no second sentence for that."""
        unknown = [key for key in values if key not in known]
        self.meant = {nearest(key, known) for key in unknown}
        for key in unknown:
            self._note(_unknown_key(key, known, place), row)

    def _text(self, values: dict[str, Any], key: str, *, required: bool = False) -> str:
        if key not in values:
            if required and key not in self.meant:
                self._note(_("the key %(name)s is missing.") % {"name": quoted(key)})
            return ""
        try:
            return _checked_text(values[key], _("the %(key)s") % {"key": key}, required=required)
        except _ValueError as error:
            self._note(str(error))
            return ""

    def _label(self, values: dict[str, Any], key: str, longest: int, *, required: bool = False) -> str:
        if key not in values:
            return self._text(values, key, required=required)
        try:
            return _checked_label(values[key], _("the %(key)s") % {"key": key}, longest, required=required)
        except _ValueError as error:
            self._note(str(error))
            return ""

    def _language(self, values: dict[str, Any]) -> str:
        language = self._label(values, "language", LONGEST_LANGUAGE)
        if language and not LANGUAGE.fullmatch(language):
            self._note(
                _('the language %(language)s is not a code such as "en", "ja" or "pt-BR".')
                % {"language": quoted(language)}
            )
        return language

    def _history(self, values: dict[str, Any]) -> list[dict[str, str]]:
        turns = values.get("history", [])
        if not isinstance(turns, list):
            self._note(_("the history is %(kind)s, not a list of turns.") % {"kind": _kind(turns)})
            return []
        read = []
        for number, turn in enumerate(turns, start=1):
            if not isinstance(turn, dict) or set(turn) != {"role", "content"}:
                self._note(
                    _('turn %(number)d of the history must be an object of just "role" and "content".')
                    % {"number": number}
                )
                continue
            if turn["role"] not in ROLES:
                self._note(
                    _('the role of turn %(number)d of the history must be "user" or "assistant".') % {"number": number}
                )
                continue
            try:
                what = _("turn %(number)d of the history") % {"number": number}
                content = _checked_text(turn["content"], what, required=True)
            except _ValueError as error:
                self._note(str(error))
                continue
            read.append({"role": turn["role"], "content": content})
        return read

    def _metadata(self, values: dict[str, Any]) -> dict[str, Any]:
        metadata = values.get("metadata", {})
        if isinstance(metadata, dict):
            return metadata
        self._note(_("the metadata is %(kind)s, not an object in braces.") % {"kind": _kind(metadata)})
        return {}

    def _responses(self, values: dict[str, Any]) -> list[ResponseRow]:
        if "responses" not in values and "responses" in self.meant:
            return []
        if "responses" not in values:
            self._note(_('the key "responses" is missing: an item without responses has an empty list, [].'))
            return []
        given = values["responses"]
        if not isinstance(given, list):
            self._note(_("the responses are %(kind)s, not a list.") % {"kind": _kind(given)})
            return []
        first_row: dict[str, int] = {}
        read = []
        for number, (response, row) in enumerate(zip(given, self.row.response_rows, strict=True), start=1):
            if not isinstance(response, dict):
                sentence = _('response %(number)d is %(kind)s, not an object of "system" and "text".')
                self._note(sentence % {"number": number, "kind": _kind(response)}, row)
                continue
            self._known(response, ("system", "text"), _(" in response %(number)d") % {"number": number}, row)
            missing = [key for key in ("system", "text") if key not in response]
            for key in missing:
                if key not in self.meant:
                    sentence = _("the key %(name)s of response %(number)d is missing.")
                    self._note(sentence % {"name": quoted(key), "number": number}, row)
            if missing:
                continue
            try:
                system = _checked_label(
                    response["system"],
                    _("the system of response %(number)d") % {"number": number},
                    LONGEST_SYSTEM,
                    required=True,
                )
                what = _("the response of %(system)s") % {"system": quoted(system)}
                text = _checked_text(response["text"], what, required=True)
            except _ValueError as error:
                self._note(str(error), row)
                continue
            if system in first_row:
                self._note(_second_response(system, first_row[system], row), row)
                continue
            first_row[system] = row
            read.append(ResponseRow(system, text))
        return read

    def _checklist(self, values: dict[str, Any]) -> ChecklistRow | None:
        if "checklist" not in values:
            return None
        given = values["checklist"]
        if not isinstance(given, dict):
            self._note(_('the checklist is %(kind)s, not an object with the key "questions".') % {"kind": _kind(given)})
            return None
        self._known(given, ("questions", "policy", "approved"), _(" in the checklist"))
        questions = self._questions(given)
        policy = given.get("policy", Checklist.HUMAN)
        if not isinstance(policy, str) or not POLICY.fullmatch(policy):
            self._note(_('the policy of the checklist must be a name such as "human" or "ticking".'))
        approved = given.get("approved", False)
        if not isinstance(approved, bool):
            self._note(_('"approved" of the checklist is %(kind)s, not true or false.') % {"kind": _kind(approved)})
        return ChecklistRow(questions, policy, approved) if self.right else None

    def _questions(self, given: dict[str, Any]) -> list[str]:
        if "questions" not in given and "questions" in self.meant:
            return []
        questions = given.get("questions")
        if not isinstance(questions, list):
            self._note(_('the checklist needs the key "questions" with a list of texts.'))
            return []
        strange = [(n, q) for n, q in enumerate(questions, start=1) if not isinstance(q, str)]
        for number, question in strange:
            self._note(
                _("question %(number)d of the checklist is %(kind)s, not a text.")
                % {"number": number, "kind": _kind(question)}
            )
        if strange:
            return []
        empty = [number for number, question in enumerate(questions, start=1) if not question.strip()]
        if empty:
            self._note(
                _("question %(number)d of the checklist is empty: write it or remove it.") % {"number": empty[0]}
            )
            return []
        try:
            return clean_questions(questions)
        except ValidationError as error:
            self._note(_("the checklist is not usable. %(sentence)s") % {"sentence": error.messages[0]})
            return []


def _kind(value: Any) -> str:
    return str(TYPE_NAMES.get(type(value)) or _("a number"))


def _unknown_key(name: str, known: tuple[str, ...], place: str) -> str:
    """With the known key that was probably meant, or all of them; `place` says in what part of the item, or is ""."""
    near = nearest(name, known)
    if near:
        return _("there is no key %(name)s%(place)s: did you mean %(near)s?") % {
            "name": quoted(name),
            "place": place,
            "near": quoted(near),
        }
    return _("there is no key %(name)s%(place)s: use %(known)s.") % {
        "name": quoted(name),
        "place": place,
        "known": ", ".join(known),
    }


def _second_response(system: str, first: int, row: int) -> str:
    if first == row:
        return _("the system %(system)s has a response to this item already.") % {"system": quoted(system)}
    return _("the system %(system)s has a response to this item already in row %(first)d.") % {
        "system": quoted(system),
        "first": first,
    }


def _checked_text(value: Any, what: str, *, required: bool = False) -> str:
    """The text as it was written; only its emptiness and length are judged."""
    if not isinstance(value, str):
        raise _ValueError(_not_a_text(value, required) % {"what": what, "kind": _kind(value)})
    if required and not value.strip():
        raise _ValueError(_("%(what)s is empty.") % {"what": what})
    if len(value) > settings.IMPORT_MAX_TEXT:
        raise _ValueError(_too_long(what, len(value), settings.IMPORT_MAX_TEXT))
    return value


def _checked_label(value: Any, what: str, longest: int, *, required: bool = False) -> str:
    """A short name on one line, without the white space around it."""
    text = _checked_text(value, what, required=required).strip()
    if len(text) > longest:
        raise _ValueError(_too_long(what, len(text), longest))
    if has_control(text):
        raise _ValueError(
            _("%(what)s contains a line break or another control character: write it on one line.") % {"what": what}
        )
    return text


def _not_a_text(value: Any, required: bool) -> str:
    if value is None and not required:
        return _("%(what)s is %(kind)s, not a text: leave the key out.")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _("%(what)s is %(kind)s, not a text: put it in quotes.")
    return _("%(what)s is %(kind)s, not a text.")


def _too_long(what: str, length: int, most: int) -> str:
    return _("%(what)s has %(length)s characters: shorten it to %(most)s.") % {
        "what": what,
        "length": f"{length:,}",
        "most": f"{most:,}",
    }

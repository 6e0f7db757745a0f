"""The bytes of a file to numbered native rows (docs/import-format.md), to be checked by `schema`.

A row of JSONL is a line of the file. A row of CSV is a row of the sheet: the header is row 1, and a cell with
line breaks makes no further rows.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.importing.problems import Problems

SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}
ITEM_COLUMNS = ("external_id", "instruction", "category", "language", "reference")
RESPONSE_COLUMNS = ("system", "text")
QUESTION_COLUMN = re.compile(r"question_[1-9][0-9]?")
DEEPEST = 50
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NOT_UTF8 = gettext_lazy("this is not UTF-8 text: save the file as UTF-8 and import it again.")
SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class RawRow:
    """One item in the native shape, unchecked. `response_rows` holds the rows of its responses, in order."""

    number: int
    values: dict[str, Any]
    response_rows: list[int]


class _JsonError(ValueError):
    """JSON that the native format does not take; the message is the end of a sentence with a row number."""


def read(filename: str, content: bytes, problems: Problems) -> list[RawRow]:
    """The rows of a .jsonl or .csv file; what cannot be read goes to `problems`."""
    kind = SUFFIXES.get(PurePath(filename).suffix.lower())
    if kind is None:
        problems.add(0, _("The name of the file must end in .jsonl or .csv."))
        return []
    if len(content) > settings.IMPORT_MAX_BYTES:
        problems.add(
            0,
            _("The file has %(megabytes).1f MB: split it into files of at most %(most)d MB.")
            % {"megabytes": len(content) / 2**20, "most": settings.IMPORT_MAX_BYTES // 2**20},
        )
        return []
    content = content.removeprefix(BYTE_ORDER_MARK)
    rows = _read_jsonl(content, problems) if kind == "jsonl" else _read_csv(content, problems)
    if not rows and not problems:
        problems.add(0, _("The file has no items: write at least one row, as in docs/import-format.md."))
    return rows


# --- JSONL ---


def _read_jsonl(content: bytes, problems: Problems) -> list[RawRow]:
    rows: list[RawRow] = []
    # Only a line feed ends a line: JSON strings may hold the other line ends of Unicode.
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        if len(rows) >= settings.IMPORT_MAX_ROWS:
            problems.add(number, _too_many_rows())
            break
        try:
            values = _parse_line(line)
        except _JsonError as error:
            problems.add(number, str(error))
            if problems.full:
                break
            continue
        responses = values.get("responses")
        rows.append(RawRow(number, values, [number] * len(responses) if isinstance(responses, list) else []))
    return rows


def _parse_line(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise _JsonError(str(NOT_UTF8)) from error
    try:
        values = json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        raise _JsonError(
            _("this is not JSON (%(what)s at character %(place)d).") % {"what": error.msg, "place": error.pos + 1}
        ) from error
    except _JsonError:
        raise
    except RecursionError as error:
        raise _JsonError(_too_deep()) from error
    except ValueError as error:  # Python refuses to read numbers of thousands of digits
        raise _JsonError(_("a number has too many digits.")) from error
    if not isinstance(values, dict):
        raise _JsonError(_("every line must be a JSON object in braces, one item a line."))
    found = _bad_part(values)
    if found:
        raise _JsonError(found)
    return values


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise _JsonError(_("the key %(key)s occurs twice in one object: keep one.") % {"key": quoted(key)})
        values[key] = value
    return values


def _refuse_constant(name: str) -> Any:
    raise _JsonError(
        _("%(value)s is not a number that can be stored: write null, a number or a text.") % {"value": name}
    )


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _JsonError(_("%(value)s is too large to be stored: write a smaller number.") % {"value": text[:20]})
    return number


def _bad_part(values: dict[str, Any]) -> str:
    """The end of a sentence about the first part of `values` that cannot be stored; "" where all can."""
    waiting: list[tuple[Any, int]] = [(values, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > DEEPEST:
            return _too_deep()
        if isinstance(value, str):
            found = _bad_text(value)
            if found:
                return found
        elif isinstance(value, dict):
            waiting.extend((part, depth + 1) for pair in value.items() for part in pair)
        elif isinstance(value, list):
            waiting.extend((part, depth + 1) for part in value)
    return ""


def _bad_text(text: str) -> str:
    if "\0" in text:
        shown = quoted(text.replace(chr(0), "�"))
        return _("the text %(text)s contains a NUL character: remove it.") % {"text": shown}
    if SURROGATE.search(text):
        return _("a text contains half of a character (a lone surrogate): write the whole character.")
    return ""


# --- CSV ---


def _read_csv(content: bytes, problems: Problems) -> list[RawRow]:
    records = _records(content, problems)
    header = next(records, None)
    if header is None or not _check_header(header[1], problems):
        return []
    columns = header[1]
    by_id: dict[str, RawRow] = {}
    rows: list[RawRow] = []
    for number, cells in records:
        if number - 1 > settings.IMPORT_MAX_ROWS:
            problems.add(number, _too_many_rows())
            break
        if len(cells) != len(columns):
            problems.add(
                number,
                _("there are %(cells)d cells, but the header has %(columns)d columns.")
                % {"cells": len(cells), "columns": len(columns)},
            )
            continue
        row = _row_of(number, dict(zip(columns, cells, strict=True)))
        first = by_id.get(row.values["external_id"].strip())
        if first is None:
            rows.append(row)
            if row.values["external_id"].strip():
                by_id[row.values["external_id"].strip()] = row
        else:
            _merge(first, row, problems)
    return rows


def _records(content: bytes, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Numbered records without blank ones; stops at a quoting error, as nothing after it can be trusted."""
    # Bytes that are not UTF-8 become lone surrogates here, so that they can be told with their row.
    text = content.decode("utf-8", "surrogateescape")
    csv.field_size_limit(settings.IMPORT_MAX_BYTES)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    number = 0
    while not problems.full:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            sentence = _('the quotes do not match: put cells in "..." and write a quote inside them twice.')
            problems.add(number, sentence)
            return
        if not any(cells):
            continue
        if any(SURROGATE.search(cell) for cell in cells):
            problems.add(number, str(NOT_UTF8))
        elif any("\0" in cell for cell in cells):
            problems.add(number, _("a cell contains a NUL character: remove it."))
        else:
            yield number, cells


def _check_header(columns: list[str], problems: Problems) -> bool:
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t"):
        problems.add(1, _("the columns are not separated by commas: save the sheet as comma-separated values."))
        return False
    known = (*ITEM_COLUMNS, *RESPONSE_COLUMNS, "question_1")
    unknown = [column for column in columns if column not in known and not QUESTION_COLUMN.fullmatch(column)]
    meant = {nearest(column, known) for column in unknown}
    sentences = [_unknown_column(column, known) for column in unknown]
    for column in sorted({column for column in columns if columns.count(column) > 1}):
        sentences.append(_("the column %(name)s occurs twice: keep one.") % {"name": quoted(column)})
    for column in ("external_id", "instruction"):
        if column not in columns and column not in meant:
            sentences.append(_("the column %(name)s is missing.") % {"name": quoted(column)})
    if ("system" in columns) != ("text" in columns):
        sentences.append(_('the columns "system" and "text" belong together: give both or none.'))
    for sentence in sentences:
        problems.add(1, sentence)
    return not sentences


def _row_of(number: int, cells: dict[str, str]) -> RawRow:
    """A record in the native shape: an empty cell of an optional column says nothing."""
    values: dict[str, Any] = {name: cells[name] for name in ("external_id", "instruction")}
    values |= {name: cells[name] for name in ITEM_COLUMNS if cells.get(name, "").strip() and name not in values}
    asked = sorted((int(name.removeprefix("question_")), cells[name]) for name in cells if name.startswith("question_"))
    questions = [text for _number, text in asked if text.strip()]
    if questions:
        values["checklist"] = {"questions": questions}
    response = {name: cells.get(name, "") for name in RESPONSE_COLUMNS}
    given = any(text.strip() for text in response.values())
    values["responses"] = [response] if given else []
    return RawRow(number, values, [number] if given else [])


def _merge(first: RawRow, row: RawRow, problems: Problems) -> None:
    """Add the response of `row` to the item of `first`, where both say the same about the item."""
    for name in (*ITEM_COLUMNS[1:], "checklist"):
        if row.values.get(name) != first.values.get(name):
            problems.add(row.number, _differs(name, first.number))
            return
    if not row.response_rows:
        problems.add(
            row.number,
            _("row %(first)d has this external_id already, and this row adds no response.") % {"first": first.number},
        )
        return
    first.values["responses"].extend(row.values["responses"])
    first.response_rows.extend(row.response_rows)


# --- words ---


def quoted(text: str) -> str:
    """The beginning of a text, fit to stand in a sentence."""
    short = " ".join(text.split())
    return f'"{short[:40]}…"' if len(short) > 40 else f'"{short}"'


def nearest(name: str, known: tuple[str, ...]) -> str:
    """The known name that was probably meant by an unknown one; "" where none is near."""
    return next(iter(difflib.get_close_matches(name.strip().lower(), known, n=1)), "")


def _unknown_column(name: str, known: tuple[str, ...]) -> str:
    """With the known column that was probably meant, or all of them."""
    near = nearest(name, known)
    if near:
        return _("there is no column %(name)s: did you mean %(near)s?") % {"name": quoted(name), "near": quoted(near)}
    return _("there is no column %(name)s: use %(known)s.") % {"name": quoted(name), "known": ", ".join(known)}


def _differs(column: str, first: int) -> str:
    if column == "checklist":
        return _("the questions differ from row %(first)d, which has the same external_id.") % {"first": first}
    return _("the %(column)s differs from row %(first)d, which has the same external_id.") % {
        "column": column,
        "first": first,
    }


def _too_deep() -> str:
    return _("the values are nested more than %(most)d levels deep.") % {"most": DEEPEST}


def _too_many_rows() -> str:
    most = {"most": f"{settings.IMPORT_MAX_ROWS:,}"}
    return _("the file has more than %(most)s rows: split it into several files.") % most

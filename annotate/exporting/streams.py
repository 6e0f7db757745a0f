"""Rows to a download, one line at a time: the size of an export is not bounded by memory."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import Http404, StreamingHttpResponse

CONTENT_TYPES = {"jsonl": "application/x-ndjson; charset=utf-8", "csv": "text/csv; charset=utf-8"}
# What spreadsheets take for the beginning of a formula, the full-width signs of Japanese keyboards included.
FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# Lines are sent in groups: a chunk a line would cost more than the line itself.
GROUP = 200

Row = Mapping[str, Any]


def download(rows: Iterable[Row], columns: Sequence[str], format: str, name: str) -> StreamingHttpResponse:
    """An attachment `name.format`. Rows hold values of JSON under the names of `columns`.

    Raises Http404 for a format that is neither "jsonl" nor "csv".
    """
    if format not in CONTENT_TYPES:
        raise Http404("Exports are .jsonl or .csv.")
    lines = csv_lines(rows, columns) if format == "csv" else jsonl_lines(rows, columns)
    return StreamingHttpResponse(
        _grouped(lines),
        content_type=CONTENT_TYPES[format],
        headers={
            "Content-Disposition": f'attachment; filename="{name}.{format}"',
            "Cache-Control": "no-store",
        },
    )


def jsonl_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    """One JSON object a line, texts as they are stored. Raises ValueError for NaN, which is not JSON."""
    for row in rows:
        yield (json.dumps({column: row[column] for column in columns}, ensure_ascii=False, allow_nan=False) + "\n")


def csv_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    """A header and one record a row; None is an empty cell, and no cell is a formula."""
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([safe_cell(row[column]) for column in columns])


def safe_cell(value: Any) -> Any:
    """The value of a CSV cell. A text that a spreadsheet would run as a formula gets a leading apostrophe; lists and
    objects are written as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, str) and FORMULA.match(value) and not NUMBER.fullmatch(value):
        return f"'{value}"
    return value


class _Echo:
    """A file that hands back what is written, so that `csv` formats one line at a time."""

    def write(self, line: str) -> str:
        return line


def _grouped(lines: Iterator[str]) -> Iterator[str]:
    group: list[str] = []
    for line in lines:
        group.append(line)
        if len(group) == GROUP:
            yield "".join(group)
            group.clear()
    if group:
        yield "".join(group)

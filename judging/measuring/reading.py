"""Long tables as CSV or JSONL, read once and line by line, whatever their size.

CSV is the default; a file named .jsonl or .ndjson, or one that begins with a brace, is JSONL. In CSV the
delimiter is the one of comma, semicolon and tab that the header uses most. A line number is that of the
first physical line of a row, as an editor shows it.
"""

import codecs
import csv
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from judging.measuring.problems import BadInput, named, quoted

Row = tuple[int, Sequence[str]]
JSONL = {".jsonl", ".ndjson", ".json"}


class Sheet:
    """An open table: ``columns`` are the names that its header, or its first object, has."""

    def __init__(self, path: Path, renamed: Mapping[str, str] | None = None) -> None:
        """Open the file. ``renamed`` says which header stands for a column. Raises BadInput."""
        self.path = path
        self._headers = dict(renamed or {})
        lines = _lines(path)
        first = next(lines, None)
        # Blank lines before the header are passed over, and counted.
        start = 1
        while first is not None and not first.strip():
            first = next(lines, None)
            start += 1
        if first is None:
            raise BadInput(f"{path} is empty.")
        everything = itertools.chain([first], lines)
        if path.suffix.lower() in JSONL or first.lstrip()[:1] == "{":
            self._table: _Csv | _Jsonl = _Jsonl(everything, start)
        else:
            self._table = _Csv(everything, first, start)
        self.columns = self._table.names
        missing = [header for header in self._headers.values() if header not in self.columns]
        if missing:
            raise BadInput(f"There is no column {quoted(missing[0])}; the file has {named(self.columns)}.")

    def has(self, column: str) -> bool:
        return self._headers.get(column, column) in self.columns

    def rows(self, wanted: Sequence[str]) -> Iterator[Row]:
        """(line, cells) of every row, cells in the order of ``wanted``. Raises BadInput."""
        missing = [column for column in wanted if not self.has(column)]
        if missing:
            raise BadInput(
                f"There is no column {missing[0]}: the columns needed are {named(list(wanted))}, and the file has "
                f"{named(self.columns)}."
            )
        return self._table.rows([self._headers.get(column, column) for column in wanted])


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                try:
                    yield line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise BadInput(f"Line {number}: this is not UTF-8 text; save the file as UTF-8.") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error


class _Csv:
    def __init__(self, lines: Iterator[str], first: str, start: int) -> None:
        delimiter = max(",;\t", key=first.count)
        self._skipped = start - 1
        self._reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            self.names = [name.strip() for name in next(self._reader)]
        except csv.Error as error:
            raise self._unreadable(error) from error
        twice = [name for place, name in enumerate(self.names) if name and name in self.names[:place]]
        if twice:
            raise BadInput(f"The header has two columns {quoted(twice[0])}; rename one of them.")

    def rows(self, headers: Sequence[str]) -> Iterator[Row]:
        places = [self.names.index(header) for header in headers]
        width = len(self.names)
        reader, skipped = self._reader, self._skipped
        line = reader.line_num + 1 + skipped
        try:
            for cells in reader:
                if len(cells) != width:
                    if cells:
                        raise BadInput(f"Line {line}: there are {len(cells)} cells, and the header has {width}.")
                else:
                    yield line, [cells[place] for place in places]
                line = reader.line_num + 1 + skipped
        except csv.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: csv.Error) -> BadInput:
        return BadInput(f"Line {self._reader.line_num + self._skipped}: this is not CSV ({error}).")


class _Jsonl:
    def __init__(self, lines: Iterator[str], start: int) -> None:
        self._decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
        first = self._record(start, next(lines))
        self.names = list(first)
        self._rest = itertools.chain([(start, first)], self._records(start + 1, lines))

    def _records(self, start: int, lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(lines, start):
            if line.strip():
                yield number, self._record(number, line)

    def _record(self, number: int, line: str) -> dict[str, Any]:
        try:
            record = self._decoder.decode(line.strip())
        except json.JSONDecodeError as error:
            raise BadInput(f"Line {number}: this is not JSON ({error.msg}); write one object on each line.") from error
        except (ValueError, RecursionError) as error:
            raise BadInput(f"Line {number}: this cannot be read as JSON ({error}).") from error
        if not isinstance(record, dict):
            raise BadInput(f"Line {number}: this is not a JSON object; write one object on each line.")
        if "\\u" in line:
            try:
                json.dumps(record, ensure_ascii=False).encode("utf-8")
            except UnicodeEncodeError as error:
                raise BadInput(f"Line {number}: a text holds half of a character (a lone surrogate).") from error
        return record

    def rows(self, headers: Sequence[str]) -> Iterator[Row]:
        for number, record in self._rest:
            try:
                yield number, [_text(record[header]) for header in headers]
            except KeyError as error:
                raise BadInput(f"Line {number}: there is no key {error.args[0]}.") from error
            except TypeError as error:
                raise BadInput(f"Line {number}: {error}") from error


def _text(value: object) -> str:
    """A JSON value as the cell of a table: null is an empty one."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise TypeError("a list or an object stands where a text or a number is needed.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not a value; write null where a label is missing")

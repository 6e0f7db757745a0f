"""The columns of a long table as arrays, and the rules that every kind of table keeps.

Cells are coded by their distinct texts while the file is read, so a million rows cost a few whole numbers
each, and every rule is checked for distinct texts or for whole arrays at once.
"""

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judging.agreement import Value
from judging.agreement.labels import shown
from judging.measuring.problems import BadInput, named, quoted
from judging.measuring.reading import Sheet

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Need = Literal["any", "order", "numbers"]
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WIDEST_SCALE = 1000


class Names(NamedTuple):
    """texts: distinct, sorted; codes: (rows,) places in ``texts``."""

    texts: list[str]
    codes: IntArray

    def of_rows(self) -> list[str]:
        """The name of every row."""
        return [self.texts[code] for code in self.codes.tolist()]


class Values(NamedTuple):
    """domain: all values that can occur, ascending; places: (rows,) places in it, -1 for an empty cell."""

    domain: tuple[Value, ...]
    places: IntArray


@dataclass(frozen=True)
class Scale:
    """The values that are allowed: listed in ascending order, or numbers between two limits, or anything."""

    values: tuple[str, ...] | None = None
    limits: tuple[float, float] | None = None

    @property
    def declared(self) -> bool:
        return self.values is not None or self.limits is not None


class Table:
    """Some columns of a file. Everything that is wrong with them is a BadInput that names the line."""

    def __init__(self, sheet: Sheet, columns: Sequence[str]) -> None:
        """Read all rows of the sheet. Raises BadInput, also where there is no row."""
        known: list[dict[str, int]] = [{} for _ in columns]
        codes = [array("q") for _ in columns]
        lines = array("q")
        pairs = list(zip(known, codes, strict=True))
        for line, cells in sheet.rows(columns):
            lines.append(line)
            for (places, coded), cell in zip(pairs, cells, strict=True):
                coded.append(places.setdefault(cell.strip(), len(places)))
        if not lines:
            raise BadInput(f"{sheet.path} has a header and no rows.")
        self.lines: IntArray = np.frombuffer(lines, dtype=np.int64)
        self._texts = {name: list(places) for name, places in zip(columns, known, strict=True)}
        self._codes = {name: np.frombuffer(coded, dtype=np.int64) for name, coded in zip(columns, codes, strict=True)}

    def __len__(self) -> int:
        return len(self.lines)

    def refusal(self, row: int, sentence: str) -> BadInput:
        """The exception that names the line of a row."""
        return BadInput(f"Line {self.lines[row]}: {sentence}")

    def filled(self, column: str) -> NDArray[np.bool_]:
        """(rows,): whether the cell holds anything."""
        texts = self._texts[column]
        return np.array([bool(text) for text in texts])[self._codes[column]]

    def holds(self, column: str, text: str) -> bool:
        """Whether some cell of the column is this text."""
        return text in self._texts[column]

    def names(self, column: str) -> Names:
        """Names of units, raters, systems. Raises BadInput for an empty cell."""
        texts = self._texts[column]
        if "" in texts:
            raise self.refusal(self._first(column, texts.index("")), f"the cell {column} is empty.")
        order = sorted(range(len(texts)), key=texts.__getitem__)
        ranks = np.empty(len(texts), dtype=np.int64)
        ranks[order] = np.arange(len(texts))
        return Names([texts[code] for code in order], ranks[self._codes[column]])

    def numbers(self, column: str, limits: tuple[float, float] | None = None) -> FloatArray:
        """(rows,) of finite numbers, nan for an empty cell. Raises BadInput for anything else."""
        found = np.full(len(self._texts[column]), np.nan)
        for code, text in enumerate(self._texts[column]):
            if text:
                number = self._number(column, code)
                if number is None:
                    raise self.refusal(
                        self._first(column, code), f"{quoted(text)} is not a number, and {column} needs one."
                    )
                if limits is not None and not limits[0] <= number <= limits[1]:
                    raise self._off_scale(column, code, limits)
                found[code] = number
        return found[self._codes[column]]

    def words(self, column: str, allowed: Sequence[str]) -> IntArray:
        """(rows,) places in ``allowed``, -1 for an empty cell. Raises BadInput for another word."""
        places = {word: place for place, word in enumerate(allowed)}
        found = []
        for code, text in enumerate(self._texts[column]):
            place = places.get(text, -1)
            if text and place < 0:
                raise self.refusal(
                    self._first(column, code), f"the {column} {quoted(text)} is not one of {named(list(allowed))}."
                )
            found.append(place)
        return np.array(found, dtype=np.int64)[self._codes[column]]

    def values(self, column: str, scale: Scale, need: Need = "any") -> Values:
        """Labels on a scale. Numbers are compared as numbers where all labels are numbers (1 is 1.0).

        need  "numbers"; "order": numbers, or words whose order the scale declares; "any"

        Raises BadInput for a label off the scale or not of the kind needed, and if there is no label at all.
        """
        texts = self._texts[column]
        present = [code for code, text in enumerate(texts) if text]
        if not present:
            raise BadInput(f"No row has a {column}.")
        numbers = {code: self._number(column, code) for code in present}
        if scale.values is not None:
            domain = self._declared(column, scale.values, need, numbers)
        elif scale.limits is not None:
            domain = self._limited(column, scale.limits, numbers)
        else:
            domain = self._occurring(column, need, numbers)
        place = {value: index for index, value in enumerate(domain)}
        words = isinstance(domain[0], str)
        places = np.full(len(texts), -1, dtype=np.int64)
        for code in present:
            value = texts[code] if words else numbers[code]
            if value is None or value not in place:
                sentence = f"the {column} {quoted(texts[code])} is not one of {named([shown(v) for v in domain])}."
                raise self.refusal(self._first(column, code), sentence)
            places[code] = place[value]
        return Values(domain, places[self._codes[column]])

    def once(self, what: str, *columns: Names) -> None:
        """Raise BadInput if two rows have the same names in these columns."""
        keys = np.zeros(len(self), dtype=np.int64)
        for names in columns:
            keys = keys * len(names.texts) + names.codes
        order = np.argsort(keys, kind="stable")
        again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        if not again.size:
            return
        later = int(order[again + 1].min())
        earlier = int(np.flatnonzero(keys == keys[later])[0])
        said = " and ".join(quoted(names.texts[names.codes[later]]) for names in columns)
        raise self.refusal(
            later, f"{what} {said} stands on line {self.lines[earlier]} already; keep one of the two rows."
        )

    # -- parts of the above -------------------------------------------------------------------------------

    def _first(self, column: str, code: int) -> int:
        return int(np.argmax(self._codes[column] == code))

    def _number(self, column: str, code: int) -> float | None:
        """The finite number that a text writes; None for a word. Raises BadInput for nan and infinity."""
        text = self._texts[column][code]
        if NUMBER.fullmatch(text):
            number = float(text)
            if math.isfinite(number):
                return number
        elif text.lower().lstrip("+-") not in {"nan", "inf", "infinity"}:
            return None
        raise self.refusal(
            self._first(column, code),
            f"{quoted(text)} is not a finite number; leave the cell {column} empty where nothing is known.",
        )

    def _off_scale(self, column: str, code: int, limits: tuple[float, float]) -> BadInput:
        low, high = (shown(limit) for limit in limits)
        text = quoted(self._texts[column][code])
        return self.refusal(self._first(column, code), f"the {column} {text} is off the scale from {low} to {high}.")

    def _declared(
        self, column: str, values: Sequence[str], need: Need, numbers: dict[int, float | None]
    ) -> tuple[Value, ...]:
        if not all(NUMBER.fullmatch(value) for value in values):
            if need == "numbers":
                raise BadInput(f"Numbers are needed here, and the declared values are {named(list(values))}.")
            return tuple(values)
        domain = [float(value) for value in values]
        if domain != sorted(domain) or not all(map(math.isfinite, domain)):
            raise BadInput(f"The declared values {named(list(values))} are not in ascending order.")
        return tuple(domain)

    def _limited(self, column: str, limits: tuple[float, float], numbers: dict[int, float | None]) -> tuple[Value, ...]:
        found: set[float] = set()
        for code, number in numbers.items():
            if number is None or not limits[0] <= number <= limits[1]:
                raise self._off_scale(column, code, limits)
            found.add(number)
        whole = all(number.is_integer() for number in (*found, *limits))
        if whole and limits[1] - limits[0] < WIDEST_SCALE:
            # The scale has its whole numbers whether they occur or not: AC1 and weighted kappa depend on it.
            found = {float(number) for number in range(int(limits[0]), int(limits[1]) + 1)}
        return tuple(sorted(found))

    def _occurring(self, column: str, need: Need, numbers: dict[int, float | None]) -> tuple[Value, ...]:
        texts = self._texts[column]
        words = [code for code, number in numbers.items() if number is None]
        if not words:
            return tuple(sorted({number for number in numbers.values() if number is not None}))
        word = quoted(texts[words[0]])
        if need == "numbers":
            raise self.refusal(self._first(column, words[0]), f"{word} is not a number, and numbers are needed here.")
        if need == "order":
            raise self.refusal(
                self._first(column, words[0]),
                f"{word} has no place on an ordered scale; name the values from low to high with --values.",
            )
        return tuple(sorted(texts[code] for code in numbers))

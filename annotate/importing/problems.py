"""What is wrong with a file, in sentences that name the row."""

from __future__ import annotations


class Problems:
    """The first `MOST` problems of a file. A file with any problem is not imported at all."""

    MOST = 50

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []
        self._more = False

    def add(self, row: int, sentence: str) -> None:
        """`row` counts from 1; 0 stands for the file as a whole."""
        if self.full:
            self._more = True
        else:
            self._found.append((row, sentence))

    @property
    def full(self) -> bool:
        return len(self._found) >= self.MOST

    def __bool__(self) -> bool:
        return bool(self._found)

    def sentences(self) -> list[str]:
        """In row order, ready to be shown."""
        ordered = sorted(self._found, key=lambda problem: problem[0])
        told = [f"Row {row}: {sentence}" if row else sentence for row, sentence in ordered]
        if self._more:
            told.append(f"There are more: only the first {self.MOST} are listed.")
        return told

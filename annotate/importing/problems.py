"""What is wrong with a file, in sentences that name the row."""

from __future__ import annotations

from django.utils.translation import gettext as _


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
        told = [
            _("Row %(row)d: %(sentence)s") % {"row": row, "sentence": sentence} if row else sentence
            for row, sentence in ordered
        ]
        if self._more:
            told.append(_("There are more: only the first %(most)d are listed.") % {"most": self.MOST})
        return told

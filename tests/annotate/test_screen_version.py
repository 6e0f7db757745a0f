"""What annotators were shown is on record by the version of the screen, so another screen needs another version."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from annotate.labelling import SCREEN_VERSION

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
SCREEN = "annotate/labels/task.html"
PARTS = "annotate/labels/parts"  # included by the name that the kind of round gives
VERSION, DIGEST = "2", "a6c70541b0c04877"


def test_another_screen_has_another_version() -> None:
    found = digest()
    assert (SCREEN_VERSION, found) == (VERSION, DIGEST), (
        "The templates of the annotation screen are not those of its version. Raise SCREEN_VERSION in "
        "annotate/labelling.py if annotators see another screen now: other words, another order, more or less of it. "
        f"Else leave it. In both cases write this into the test: VERSION, DIGEST = {SCREEN_VERSION!r}, {found!r}"
    )


def test_the_digest_is_over_all_that_is_included() -> None:
    assert {SCREEN, f"{PARTS}/questions.html", "annotate/said/cell.html", "partials/keys_dialog.html"} <= templates()


def digest() -> str:
    whole = hashlib.sha256()
    for name in sorted(templates()):
        whole.update(f"{name}\n{(TEMPLATES / name).read_text()}\n".encode())
    return whole.hexdigest()[:16]


def templates() -> set[str]:
    """The screen, the parts of its form, and what they include."""
    found: set[str] = set()
    waiting = {SCREEN, *(f"{PARTS}/{path.name}" for path in (TEMPLATES / PARTS).iterdir())}
    while waiting:
        found |= waiting
        included = (re.findall(r'{% include "([^"]+)"', (TEMPLATES / name).read_text()) for name in waiting)
        waiting = {name for names in included for name in names} - found
    return found

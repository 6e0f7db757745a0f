"""Control characters are told from all others."""

from __future__ import annotations

import sys
from unicodedata import category

from annotate.characters import has_control


def test_control_characters_are_those_of_unicode_and_halves_of_characters() -> None:
    found = [char for char in map(chr, range(sys.maxunicode + 1)) if has_control(char)]
    assert found == [char for char in map(chr, range(sys.maxunicode + 1)) if category(char) in ("Cc", "Cs")]


def test_some_may_be_allowed() -> None:
    assert not has_control("a\tb\nc", apart_from="\n\t")
    assert has_control("a\tb\rc", apart_from="\n\t")
    assert not has_control("全角　の👩‍🔬 text")

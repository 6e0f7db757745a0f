"""The Japanese catalogue is whole: every text that is marked is in it, translated, with the same placeholders.

Texts are collected with Babel, so that neither tests nor servers need the gettext tools.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
MESSAGES = ROOT / "locale" / "ja" / "LC_MESSAGES"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SOURCES = sorted(path for app in ("annotate", "judging", "config") for path in (ROOT / app).rglob("*.py"))

# Where the arguments of Django's functions stand: text, plural, and "c" for the context.
PLURAL = (1, 2)
CONTEXT = ((1, "c"), 2)
KEYWORDS = {
    **dict.fromkeys(["_", "gettext", "gettext_lazy", "gettext_noop"]),
    **dict.fromkeys(["ngettext", "ngettext_lazy"], PLURAL),
    **dict.fromkeys(["pgettext", "pgettext_lazy"], CONTEXT),
    **dict.fromkeys(["npgettext", "npgettext_lazy"], ((1, "c"), 2, 3)),
}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|%[sd]")
WORD = re.compile(r"[^\W\d_]{2,}")
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
# Names, formats and abbreviations that pages show as they are in every language.
AS_THEY_ARE = {"Concord", "API", "AC", "CSV", "JSONL", "SHA", "WPLD", "Ctrl", "Enter", "Esc", "top"}


def catalogue() -> Catalog:
    with (MESSAGES / "django.po").open("rb") as file:
        return read_po(file, locale="ja")


def messages() -> list[Message]:
    return [message for message in catalogue() if message.id]


def forms(text: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    """A text in singular and plural, or in its one form."""
    return tuple(text) if isinstance(text, tuple | list) else (text or "",)


def key(message: Message) -> tuple[str | None, str]:
    """The context of a message and its text; Babel leaves contexts of compiled files as bytes."""
    context: str | bytes | None = message.context
    return context.decode() if isinstance(context, bytes) else context, forms(message.id)[0]


def marked(path: Path) -> set[tuple[str | None, str]]:
    """Contexts and texts that a file marks for translation."""
    source = path.read_text()
    if path.suffix == ".html":  # becomes calls of gettext among words without meaning, and so does its indentation
        source = "\n".join(line.strip() for line in templatize(source).splitlines())
    found = extract("python", io.BytesIO(source.encode()), keywords=KEYWORDS)
    return {(context, forms(text)[0]) for _line, text, _comments, context in found}


def unmarked(path: Path) -> Iterator[str]:
    """Words that a template shows without marking them: between tags, and in attributes that are read out or shown."""
    source = path.read_text()
    for left_out in (
        r"{% block body_class %}.*?{% endblock %}",
        "{% blocktranslate.*?{% endblocktranslate %}",
        r"<(code|pre)\b.*?</\1>",
    ):
        source = re.sub(left_out, "", source, flags=re.DOTALL)
    source = re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}", "", source)
    texts = re.findall(r'\b(?:aria-label|title|placeholder|alt)="([^"]+)"', source) + re.split(r"<[^>]*>", source)
    yield from (word for text in texts for word in WORD.findall(text) if word not in AS_THEY_ARE)


def test_every_text_is_translated_with_its_placeholders() -> None:
    plural_forms = catalogue().num_plurals
    for message in messages():
        texts, translations = forms(message.id), forms(message.string)
        assert not message.fuzzy, message.id
        assert all(translations), message.id
        assert len(translations) == (plural_forms if len(texts) > 1 else 1), message.id
        for translation in translations:
            assert set(PLACEHOLDER.findall(translation)) == set(PLACEHOLDER.findall(texts[-1])), message.id


def test_translations_are_japanese() -> None:
    """One without a Japanese letter was forgotten, unless nothing but names and signs is in it."""
    for message in messages():
        translation = PLACEHOLDER.sub("", forms(message.string)[0])
        assert JAPANESE.search(translation) or not set(WORD.findall(translation)) - AS_THEY_ARE, message.id


def test_the_compiled_catalogue_is_the_written_one() -> None:
    with (MESSAGES / "django.mo").open("rb") as file:
        compiled = {key(message): forms(message.string) for message in read_mo(file) if message.id}
    assert compiled == {key(message): forms(message.string) for message in messages()}


def test_every_marked_text_is_in_the_catalogue() -> None:
    found = set().union(*map(marked, TEMPLATES + SOURCES))
    assert len(found) > 1000
    missing = found - {key(message) for message in messages()}
    assert not missing, "Run `make messages` and translate what is new (see docs/translating.md)."


def test_templates_show_no_unmarked_text() -> None:
    found = {str(path.relative_to(ROOT)): list(unmarked(path)) for path in TEMPLATES}
    assert {path: words for path, words in found.items() if words} == {}

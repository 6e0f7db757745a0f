"""Untrusted Markdown to safe HTML. Instructions and responses come from files and models: hostile."""

from __future__ import annotations

import hashlib
from collections.abc import MutableMapping
from html import unescape
from typing import Any

import nh3
from django.core.cache import cache
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

# Part of the cache key: raise it with every change of the rules below.
VERSION = "1"
CACHE_SECONDS = 24 * 3600
LONGEST_MARKDOWN = 50_000  # characters; a longer text is shown as it is written
HEADING_OFFSET = 2
SOURCE_FOR_OPENING = 4  # characters of the source for one of its opening, which lacks the marks

TAGS = {
    *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "a"),
    *("h3", "h4", "h5", "h6", "ul", "ol", "li"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
SCHEMES = {"http", "https", "mailto"}
REL = "noopener noreferrer nofollow"


def prose(text: str) -> SafeString:
    """Safe HTML of a Markdown text, from the cache where the same text was rendered before."""
    key = f"prose:{VERSION}:{hashlib.sha256(text.encode()).hexdigest()}"
    html = cache.get(key)
    if html is None:
        html = _render(text)
        cache.set(key, html, CACHE_SECONDS)
    return SafeString(html)  # sanitised by `_render`, whatever the Markdown parser let through


def opening(text: str, length: int) -> str:
    """How a Markdown text begins, as plain text in one line of at most so many characters. It is not safe HTML."""
    marked = _MARKDOWN.render(text[: SOURCE_FOR_OPENING * length])
    return Truncator(" ".join(unescape(nh3.clean(marked, tags=set())).split())).chars(length)


def _render(text: str) -> str:
    if len(text) > LONGEST_MARKDOWN:
        return f"<pre>{escape(text)}</pre>"
    return nh3.clean(
        _MARKDOWN.render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel=REL,
        url_relative="deny",
    )


def _lower_headings(state: StateCore) -> None:
    """Headings of a text stand below those of the page that shows it, which keeps one h1 a page."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1:]) + HEADING_OFFSET)}"


def _parser() -> MarkdownIt:
    # Line breaks are kept: models end the lines of poems and addresses with a plain line feed, and whether
    # the lines are right is among the things that people judge.
    options: MutableMapping[str, Any] = {"html": False, "breaks": True}
    parser = MarkdownIt("commonmark", options).enable("table")
    # An image would tell its host who reads the response, and when; as a link it waits for a click.
    parser.disable("image")
    parser.core.ruler.push("lower_headings", _lower_headings)
    return parser


_MARKDOWN = _parser()

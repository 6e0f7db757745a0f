"""Hostile Markdown in, harmless HTML out: judged by parsing the output, as a browser would."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from annotate import rendering
from annotate.rendering import prose

ATTACKS = [
    "<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "<img src='http://tracker.example/p.png'>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<object data=javascript:alert(1)>",
    "<embed src=//evil.example>",
    "<style>*{background:url(//evil.example)}</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example>",
    "<form action=//evil.example><input name=q><button>go</button></form>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='http://x' onclick='alert(1)' style='position:fixed'>x</a>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php echo 1 ?><script>alert(1)</script>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<textarea></textarea><script>alert(1)</script>",
    "<a id=main name=csrf class=button>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](javascript&colon;alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](vbscript:msgbox)",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/projects/garden/)",
    "[x](?action=approve)",
    "[x](#main)",
    "[x](http://ok.example \"t' onmouseover='alert(1)\")",
    '[x](http://ok.example\'onmouseover="alert(1)")',
    "[x][r]\n\n[r]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "![x](http://tracker.example/p.png)",
    "![x](javascript:alert(1))",
    '![x](x "a" onerror="alert(1)")',
    "![a][r]\n\n[r]: http://tracker.example/p.png",
    "[![x](http://tracker.example/p.png)](http://ok.example)",
    "`<script>alert(1)</script>`",
    "```html onload=alert(1)\n<script>alert(1)</script>\n```",
    "    <script>alert(1)</script>",
    "| <script>alert(1)</script> | b |\n|:-:|-|\n| <img src=x onerror=alert(1)> | d |",
    "# <script>alert(1)</script>",
    "> <script>alert(1)</script>",
    "- <img src=x onerror=alert(1)>\n- b",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\x00<script>alert(1)</script>",
    "<script\x0c>alert(1)</script>",
    "\ufeff<script>alert(1)</script>",
    "<" * 2000 + "script>alert(1)</script>",
    "x" * rendering.LONGEST_MARKDOWN + "<script>alert(1)</script>",
]


class Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.strange: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.strange.append(data)

    def handle_decl(self, decl: str) -> None:
        self.strange.append(decl)

    def handle_pi(self, data: str) -> None:
        self.strange.append(data)

    def unknown_decl(self, data: str) -> None:
        self.strange.append(data)


def assert_harmless(html: str) -> None:
    reader = Reader(html)
    assert reader.strange == []
    for tag, attributes in reader.tags:
        assert tag in rendering.TAGS
        assert set(attributes) <= {"a": {"href", "title", "rel"}, "ol": {"start"}}.get(tag, set())
        if tag == "a":
            assert attributes["rel"] == rendering.REL
            if "href" in attributes:
                assert urlsplit(attributes["href"] or "").scheme in {"http", "https", "mailto"}


@pytest.mark.parametrize("text", ATTACKS)
def test_attacks_come_out_harmless(text: str) -> None:
    assert_harmless(prose(text))


@given(st.lists(st.sampled_from([*ATTACKS, "*", "**", "_", "`", "[", "](", ")", "\n\n", "> ", "- ", "|"]), max_size=5))
def test_attacks_come_out_harmless_in_any_company(parts: list[str]) -> None:
    assert_harmless(rendering._render("".join(part[:200] for part in parts)))


def test_markup_of_the_text_is_shown_not_obeyed() -> None:
    assert prose("<b>bold</b>") == "<p>&lt;b&gt;bold&lt;/b&gt;</p>\n"


def test_formatting_is_kept() -> None:
    html = prose("**a** *b* `c`\n\n1. d\n2. e\n\n| f | g |\n|---|---|\n| h | i |\n\n> j\n\n```python\nk()\n```")
    tags = [tag for tag, _ in Reader(html).tags]
    for tag in ("strong", "em", "code", "ol", "li", "table", "th", "td", "blockquote", "pre"):
        assert tag in tags


def test_line_breaks_are_kept() -> None:
    assert prose("one\ntwo") == "<p>one<br>\ntwo</p>\n"


def test_headings_stand_below_those_of_the_page() -> None:
    html = prose("# a\n## b\n###### c\n\nd\n===")
    assert [tag for tag, _ in Reader(html).tags if tag.startswith("h")] == ["h3", "h4", "h6", "h3"]


def test_an_image_becomes_a_link() -> None:
    assert '!<a href="http://tracker.example/p.png"' in prose("![cat](http://tracker.example/p.png)")


def test_a_list_starts_where_it_says() -> None:
    assert '<ol start="3">' in prose("3. three\n4. four")


def test_the_same_text_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    first = prose("**cached**")
    monkeypatch.setattr(rendering, "_render", lambda text: pytest.fail("rendered again"))
    assert prose("**cached**") == first
    monkeypatch.setattr(rendering, "_render", lambda text: "fresh")
    assert prose("**other**") == "fresh"


def test_the_filter_is_safe_in_a_template() -> None:
    template = Template("{% load rendering %}{{ text|prose }}")
    assert template.render(Context({"text": "*a* <script>"})) == "<p><em>a</em> &lt;script&gt;</p>\n"
    assert template.render(Context({"text": None})) == ""


def test_the_opening_of_a_text_is_plain_and_harmless() -> None:
    text = "# Plan\n\n1. Use `sed`, **not** <b>awk</b>\n2. [read](http://x.example/) & see `"
    assert rendering.opening(text, 200) == "Plan Use sed, not <b>awk</b> read & see `"
    assert rendering.opening(text, 10) == "Plan Use …"
    assert rendering.opening("word " * 100_000, 30) == "word word word word word word…"
    template = Template("{% load rendering %}{{ text|opening:80 }}")
    assert template.render(Context({"text": "`<script>`"})) == "&lt;script&gt;"
    assert template.render(Context({"text": None})) == ""

"""The style sheet keeps its promises: contrast in both themes, every class shown, nothing inline."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CSS = (ROOT / "static/css/concord.css").read_text(encoding="utf-8")
GUIDE = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.html")))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
COLOURS = {
    name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", CSS)
}

TEXT = 4.5
SHAPE = 3.0
PAIRS = [
    *(
        (ink, ground, TEXT)
        for ink in ("ink", "muted", "accent", "ok", "warn", "bad")
        for ground in ("paper", "surface")
    ),
    *(
        (ink, ground, TEXT)
        for ink in ("ink", "accent")
        for ground in ("accent-wash", "ok-wash", "warn-wash", "bad-wash")
    ),
    *((tone, f"{tone}-wash", TEXT) for tone in ("ok", "warn", "bad")),
    ("muted", "accent-wash", TEXT),
    ("on-accent", "accent", TEXT),
    ("paper", "bad", TEXT),
    *(("edge", ground, SHAPE) for ground in ("paper", "surface", "accent-wash")),
    *((f"series-{number}", "paper", SHAPE) for number in (2, 3, 4)),
]


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, 0 to 1 (WCAG 2.2)."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, 1.4.3)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def classes(markup: str) -> set[str]:
    """Class names in the class attributes of some markup; template tags inside them are left out."""
    plain = re.sub(r"{%.*?%}|[a-z-]+{{.*?}}|{{.*?}}", " ", markup)
    return {name for value in re.findall(r'class="([^"]*)"', plain) for name in value.split()}


def test_contrast_is_known_from_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground", "least"), PAIRS)
def test_colours_have_enough_contrast(ink: str, ground: str, least: float, theme: int) -> None:
    assert contrast(COLOURS[ink][theme], COLOURS[ground][theme]) >= least


def test_every_class_of_the_guide_is_styled() -> None:
    styled = set(re.findall(r"\.(-?[a-z][\w-]*)", re.sub(r"/\*.*?\*/", "", CSS, flags=re.S)))
    unstyled_on_purpose = {"chart-label", "is-info", "is-assistant"}
    assert classes(GUIDE) - styled <= unstyled_on_purpose


def test_every_class_of_the_shared_templates_is_in_the_guide() -> None:
    shared = [path for path in TEMPLATES if path.parent.name in {"templates", "partials"}]
    shown = classes(GUIDE) | {"is-narrow"}
    assert set().union(*(classes(path.read_text(encoding="utf-8")) for path in shared)) - shown == set()


def test_nothing_is_inline() -> None:
    inline = re.compile(r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son[a-z]+=|\shx-on|javascript:", re.I)
    found = [str(path.relative_to(ROOT)) for path in TEMPLATES if inline.search(path.read_text(encoding="utf-8"))]
    assert found == []
    assert not inline.search(GUIDE)


def test_nothing_comes_from_another_host() -> None:
    assert "url(" not in CSS
    assert "@import" not in CSS
    assert not re.search(r'(?:src|href)="(?:https?:)?//', GUIDE)


@pytest.mark.parametrize("template", [path for path in TEMPLATES if "is-stacked" in path.read_text()], ids=str)
def test_cells_of_stacked_tables_have_the_names_of_their_columns(template: Path) -> None:
    for table in re.findall(r'(?s)<table class="table is-stacked">.*?</table>', template.read_text()):
        head, body = table.split("</thead>")
        columns = re.findall(r'(?s)<th [^>]*scope="col"[^>]*>(.*?)</th>', head)
        names = re.findall(r'<t[hd] data-name="(.*? %})"', body)
        assert names == [column for column in columns if "visually-hidden" not in column]

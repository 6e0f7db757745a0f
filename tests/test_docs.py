"""The docs keep up: every setting, key, command and link of the project is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from annotate.keys import KEYS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def settings_read() -> set[str]:
    """The names that config/settings.py takes from the environment."""
    source = (ROOT / "config" / "settings.py").read_text()
    names = re.findall(r'(?:env\.\w+|flag|whole)\(\s*"([A-Z_]+)"', source)
    assert len(names) > 15
    return set(names)


@pytest.mark.parametrize("name", sorted(settings_read()))
def test_every_setting_is_documented(name: str) -> None:
    assert f"| `{name}` |" in (DOCS / "settings.md").read_text()


def test_every_documented_setting_exists() -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", (DOCS / "settings.md").read_text(), re.MULTILINE))
    assert documented == settings_read()


def test_every_setting_of_the_example_exists() -> None:
    named = set(re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert named <= settings_read()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.action)
def test_every_key_is_documented(key: object) -> None:
    table = (DOCS / "annotators.md").read_text()
    cell = getattr(key, "key").replace("…", " … ")  # noqa: B009
    cell = cell.upper() if len(cell) == 1 else cell
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    assert any(cell in re.split(r",\s*", row.strip()) for row in rows)


def test_every_command_is_documented() -> None:
    text = (DOCS / "operations.md").read_text()
    for file in [*ROOT.glob("*/management/commands/*.py")]:
        if file.stem != "__init__":
            assert f"manage.py {file.stem}" in text, file.stem


@pytest.mark.parametrize("file", sorted([*DOCS.glob("*.md"), ROOT / "README.md"]), ids=lambda file: file.name)
def test_every_link_leads_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", file.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (file.parent / target).exists(), target

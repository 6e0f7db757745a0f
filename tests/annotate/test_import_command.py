from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotate.models import Checklist, Item, Project, User

GOOD = (
    '{"external_id": "a", "instruction": "Write.", "responses": [{"system": "s", "text": "t"}],'
    ' "checklist": {"questions": ["Is it?"], "approved": true}}\n'
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_text(GOOD)
    return path


def run(*arguments: object) -> str:
    out = io.StringIO()
    call_command("import_items", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_imports_and_says_what(project: Project, file: Path) -> None:
    assert run("garden", file) == "Imported 1 item, 1 response and 1 checklist (1 approved) into garden.\n"
    assert Checklist.objects.get().approved_by is None


def test_the_named_curator_approves(project: Project, alice: User, file: Path) -> None:
    run("garden", file, "--user", "alice")
    assert Checklist.objects.get().approved_by == alice


def test_a_dry_run_stores_nothing(project: Project, file: Path) -> None:
    assert "would import 1 item" in run("garden", file, "--dry-run")
    assert not Item.objects.exists()


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_errors_are_sentences_and_exit_code_2(project: Project, file: Path, more: list[str]) -> None:
    file.write_text(GOOD + "oops\n" + GOOD)
    with pytest.raises(CommandError) as refused:
        run("garden", file, *more)
    assert refused.value.returncode == 2
    first, second = str(refused.value).splitlines()
    assert first.startswith("Row 2: this is not JSON")
    assert second == 'Row 3: the external_id "a" is in row 1 already.'
    assert not Item.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["forest", "{file}"], "There is no project 'forest'"),
        (["garden", "{file}.missing"], "cannot be read: No such file"),
        (["garden", "{file}", "--user", "bob"], "'bob' is not a curator"),
        (["garden", "{file}", "--user", "nobody"], "'nobody' is not a curator"),
    ],
)
def test_wrong_arguments(project: Project, bob: User, file: Path, arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence) as refused:
        run(*(argument.format(file=file) for argument in arguments))
    assert refused.value.returncode == 2
    assert not Item.objects.exists()

"""Sentences that are kept in English reach their readers in their own language."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from annotate.models import Project, User
from judging import sentences
from judging.agreement.missing import MISSING_POLICIES, MissingPolicy, policy_note
from judging.models import Run
from judging.probing import QUESTION
from judging.sentences import template_of, translated
from tests import build
from tests.judging.build_runs import run_of

JUDGING = Path(sentences.__file__).parent
KEEPING = [  # modules whose sentences are written down, or cannot be translated where they are made
    *sorted((JUDGING / "agreement").glob("*.py")),
    *(
        JUDGING / name
        for name in (
            "circuit.py",
            "client.py",
            "faults.py",
            "foreground.py",
            "live.py",
            "methods.py",
            "models/judge.py",
            "networks.py",
            "probing.py",
            "protocols/rocketeval.py",
            "spending.py",
            "work.py",
        )
    ),
]


def kept(path: Path) -> Iterator[str]:
    """The sentences of a module with 7 in every gap; without docstrings, and those that are logged, raised at
    programmers, or translated at once."""
    tree = ast.parse(path.read_text())
    passed_over: set[int] = set()
    for node in ast.walk(tree):
        told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        logged = isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("log.", "_", "gettext"))
        raised = isinstance(node, ast.Raise) and "Error(" in ast.unparse(node)
        if told or logged or raised:
            passed_over |= {id(part) for part in ast.walk(node)}
        if isinstance(node, ast.JoinedStr):
            passed_over |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in passed_over or not isinstance(node, ast.JoinedStr | ast.Constant):
            continue
        text = "".join(_parts(node))
        if text.startswith("Undefined: ") or (text.strip()[:1].isupper() and text.rstrip()[-1:] in ".?”"):
            yield text.strip()


def _parts(node: ast.JoinedStr | ast.Constant) -> Iterator[str]:
    for part in node.values if isinstance(node, ast.JoinedStr) else [node]:
        if isinstance(part, ast.Constant):
            yield part.value if isinstance(part.value, str) else ""
        elif ast.unparse(part) != "f'{detail}'":  # a sentence of its own, or nothing
            yield "7"


def is_known(text: str) -> bool:
    return all(template_of(sentence) for sentence in sentences._BETWEEN.split(text)) or bool(template_of(text))


def test_every_sentence_that_is_kept_can_be_translated() -> None:
    asked = QUESTION[0]["content"]
    found = [sentence for path in KEEPING for sentence in kept(path) if sentence != asked]
    assert len(found) > 80
    assert [sentence for sentence in found if not is_known(sentence)] == []


@pytest.mark.parametrize("policy", MISSING_POLICIES)
@pytest.mark.parametrize("number", [1, 2])
def test_what_is_done_with_missing_answers_can_be_translated(policy: MissingPolicy, number: int) -> None:
    note = policy_note(policy, number)
    assert note
    assert template_of(note)


@pytest.fixture
def in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language in which every known sentence stands in brackets."""
    monkeypatch.setattr(sentences, "gettext", lambda text: f"[{text}]")


@pytest.mark.usefixtures("in_brackets")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Undefined: every rating is na.", "[Undefined: every rating is na.]"),
        (
            "3 instructions with constant scores were skipped. 2 missing answers were left out. "
            "No interval: there is only one unit.",
            "[3 instructions with constant scores were skipped.] [2 missing answers were left out.] "
            "[No interval: there is only one unit.]",
        ),
        (
            "The endpoint is not ready (503). It says: “Loading. Please wait.” Resume the run when this is put right.",
            "[The endpoint is not ready (503).] [It says: “Loading. Please wait.”] "
            "[Resume the run when this is put right.]",
        ),
        (
            "Nothing was answered for 70 seconds, the last failure was: The endpoint had a fault of its own (500). "
            "It says: “50% of it.”",
            "[Nothing was answered for 70 seconds, the last failure was: [The endpoint had a fault of its own (500).] "
            "[It says: “50% of it.”]]",
        ),
        (
            "Somebody wrote this. The model sent an empty reply.",
            "Somebody wrote this. [The model sent an empty reply.]",
        ),
        ("", ""),
    ],
)
def test_sentences_are_known_one_by_one(text: str, said: str) -> None:
    assert translated(text) == said


@pytest.mark.django_db
@pytest.mark.usefixtures("in_brackets")
def test_pages_show_them_in_the_language_of_the_reader(project: Project, client: Client, bob: User) -> None:
    build.item(project)
    run = run_of(build.round(project))
    Run.objects.filter(pk=run.pk).update(state="paused", pause_reason="It was stopped at the terminal.")
    client.force_login(bob)
    assert "[It was stopped at the terminal.]" in client.get(f"/projects/garden/runs/{run.pk}/").text

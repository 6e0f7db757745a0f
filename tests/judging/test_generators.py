"""Checklist policies: what is asked, and which replies hold a checklist."""

from __future__ import annotations

import pytest

from annotate.models import Item, Project
from judging.generators import POLICIES
from judging.models import Call, Judge
from judging.prompts import template
from tests import build


def reading_of(reply: str) -> list[str]:
    return POLICIES["ticking"].read(Call(item=Item(instruction="Write a line."), reply=reply))


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_says_what_it_is(name: str) -> None:
    policy = POLICIES[name]
    assert policy.name == name
    assert policy.title
    assert policy.description
    assert policy.prompt_version == template(name).version


def test_the_instruction_and_its_history_are_asked_about_and_no_response_is_shown() -> None:
    item = Item(instruction="短い文を書いてください。", history=[{"role": "user", "content": "Hello {{instruction}}"}])
    prompt = POLICIES["ticking"].messages(Call(item=item))[-1]["content"]
    assert "@@@ INSTRUCTION STARTS @@@\n短い文を書いてください。\n@@@ INSTRUCTION ENDS @@@" in prompt
    assert "User: Hello {{instruction}}" in prompt
    assert "language of the instruction" in prompt
    assert "RESPONSE" not in prompt


def test_questions_are_read_in_order() -> None:
    reply = "Analysis: short [but] true.\n[[Is it short?]]\n2. [[ Is it   true? ]]\n[[短いですか？]]\nGood luck!"
    assert reading_of(reply) == ["Is it short?", "Is it true?", "短いですか？"]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot write a checklist.",
        "1. Is it short?\n2. Is it true?",
        "[[]]",
        "[[It must be short.]]",
        "[[Is it short?]]\n[[The text must be true]]",
        "[[" + "long " * 300 + "?]]",
        "\n".join(f"[[Is it number {n}?]]" for n in range(21)),
    ],
)
def test_a_reply_without_a_usable_checklist_gives_none(reply: str) -> None:
    assert reading_of(reply) == []


def test_up_to_twenty_questions_are_accepted() -> None:
    assert len(reading_of("\n".join(f"[[Is it number {n}?]]" for n in range(20)))) == 20


def test_sampling_is_warm_and_seeded_whatever_the_judge_does(project: Project) -> None:
    judge: Judge = build.judge(project, temperature=0.0, max_tokens=99)
    parameters = POLICIES["ticking"].parameters(judge, seed=7)
    assert parameters == {"temperature": 0.7, "top_p": 0.95, "seed": 7, "max_tokens": 99}


def test_the_next_checklist_of_an_item_is_a_repeat_of_its_own(project: Project) -> None:
    item = build.item(project)
    policy = POLICIES["ticking"]
    assert policy.plan(item).repeat == 1
    build.checklist(item, policy="ticking")
    build.checklist(item)  # a person's does not count
    assert policy.plan(item).repeat == 2

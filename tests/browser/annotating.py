"""What the tests of the annotation screen share: keys that fill each kind, and what is stored then."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from annotate.models import Annotation, Round

KIND = Round.Kind


def saved(page: Page) -> None:
    expect(page.locator("#save-state")).to_have_class(re.compile("is-saved"))


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def stored(round: Round) -> Annotation:
    return Annotation.objects.filter(task__round=round).order_by("task__position")[0]


def answers_of(annotation: Annotation) -> list[str]:
    return [answer.value for answer in annotation.answers.order_by("question__position", "about_other")]


BY_KEYS = {
    KIND.DIRECT_SCORING: ["4"],
    KIND.CHECK_THEN_SCORE: ["y", "n", "y", "4", "e"],  # the third answer has no question and changes nothing
    KIND.CHECKLIST_ANSWERING: ["k", "y", "n", "n"],
    KIND.PREFERENCE: ["2"],
    KIND.PAIRWISE_CHECKLIST: ["y", "n", "n", "n", "y", "2"],
    KIND.CHECKLIST_WRITING: ["y", "y", "I", "s", "?"],  # the last keys are written into the list
}


def check(round: Round) -> None:
    """What BY_KEYS says stands in every submitted annotation of the round."""
    for said in Annotation.objects.counted(round):
        check_one(said, round)


def check_one(said: Annotation, round: Round) -> None:
    if round.kind in (KIND.DIRECT_SCORING, KIND.CHECK_THEN_SCORE):
        assert said.score == 4
    if round.kind in (KIND.CHECK_THEN_SCORE, KIND.CHECKLIST_ANSWERING):
        assert answers_of(said) == ["yes", "no"]
    if round.kind in (KIND.PREFERENCE, KIND.PAIRWISE_CHECKLIST):
        assert said.preference == (4 if said.task.swapped else 2)  # on the screen, A was better
    if round.kind == KIND.PAIRWISE_CHECKLIST:
        a_first = ["yes", "no", "no", "no"]
        assert answers_of(said) == (["no", "yes", "no", "no"] if said.task.swapped else a_first)
    if round.kind == KIND.CHECKLIST_WRITING:
        assert said.written["questions"] == ["Is?"]

"""What a judge that does as it is told replies to the prompt of any protocol, and units for every protocol to judge."""

from __future__ import annotations

import re
from collections.abc import Sequence

from annotate.models import Checklist, Dimension, Item, Project, Response
from judging.models import Verdict
from judging.prompts import Message
from judging.protocols import Outcome, Protocol
from tests import build
from tests.scripted_endpoint import Play, chances

HIGH, LOW = 4, 2  # scores
_CHECKLIST = re.compile(r"^@@@ CHECKLIST STARTS @@@\n(.*?)\n@@@ CHECKLIST ENDS @@@$", re.MULTILINE | re.DOTALL)


def reply(protocol: Protocol, messages: Sequence[Message], *, favourable: bool) -> Play:
    """A whole reply in the form that the prompt asks for: yes, a high score, the first response; or no, a low one, the
    second."""
    answer = "yes" if favourable else "no"
    if protocol.needs_probabilities:
        other = "no" if favourable else "yes"
        return Play(answer, logprobs=chances({answer: 0.8, other: 0.1}), finish_reason="length")
    last = messages[-1]["content"]
    lines = []
    if "answers" in protocol.yields:
        checklist = _CHECKLIST.search(last)
        numbers = re.findall(r"^(\d+)\. ", checklist[1], re.MULTILINE) if checklist else []
        if protocol.pairs:
            other = "no" if favourable else "yes"
            lines += [f"{number}. Response 1: {answer}, Response 2: {other}" for number in numbers]
        else:
            lines += [f"{number}. {answer}" for number in numbers] or [f"Verdict: {answer.upper()}"]
    if "score" in protocol.yields:
        lines.append(f"Score: {HIGH if favourable else LOW}")
    if "preference" in protocol.yields:
        lines.append(
            f"Preference: {1 if favourable else 3}"
            if "Preference: " in messages[0]["content"]
            else f"Choice: {1 if favourable else 2}"
        )
    return Play("\n".join(lines))


def without_probabilities_of_answers(protocol: Protocol, play: Play) -> Play:
    """A reply that holds no verdict, with token probabilities that hold none either where the protocol reads them."""
    if not protocol.needs_probabilities or play.raw is not None:
        return play
    return Play(play.text, refusal=play.refusal, finish_reason=play.finish_reason, logprobs=chances({"The": 0.9}))


def is_as_told(outcome: Outcome | Verdict, *, favourable: bool) -> bool:
    """Whether a verdict is the one of such a reply."""
    if outcome.state == Verdict.State.SCORE:
        return outcome.score == (HIGH if favourable else LOW)
    if outcome.state == Verdict.State.PREFERENCE:
        return outcome.choice == (Verdict.Choice.FIRST if favourable else Verdict.Choice.SECOND)
    return outcome.state in {Verdict.State.YES, Verdict.State.NO}


def unit(
    project: Project,
    protocol: Protocol,
    instruction: str = "Write a line.",
    texts: Sequence[str] = ("A line.", "Another line."),
    questions: Sequence[str] = ("Is it short?", "Is it true?"),
    history: Sequence[dict[str, str]] = (),
    reference: str = "",
) -> Item:
    """An item with the responses and the checklist that the protocol needs: two responses for pairs, else one."""
    item = build.item(project, systems=(), instruction=instruction, history=list(history), reference=reference)
    for number, text in enumerate(texts[: 2 if protocol.pairs else 1]):
        Response.objects.create(item=item, system=f"System {number}", text=text)
    if protocol.needs_checklist and not protocol.by_dimension:
        Checklist.write(item, list(questions)).approve(None)
    return item


def dimension(
    project: Project, protocol: Protocol, questions: Sequence[str] = ("Is it fluent?", "Is it clear?")
) -> None:
    """A dimension to judge by, where the protocol needs one, with a checklist where it needs that."""
    if protocol.by_dimension:
        made = Dimension.objects.create(project=project, name="Style", definition="How well it reads.")
        if protocol.needs_checklist:
            Checklist.write(made, list(questions)).approve(None)

"""Judged texts that attack the judge, sent through the engine by every protocol: the prompt that arrives stays intact,
and nothing that a reply quotes of them is read as a verdict."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from annotate.models import Item, Project
from judging import reading, runs
from judging.methods import Judging, method_of
from judging.models import Call, Judge, Run, Verdict
from judging.prompts import Message, fences
from judging.protocols import PROTOCOLS, Outcome, Protocol
from judging.texts import Texts
from tests import build
from tests.judging import answering
from tests.judging.injections import INJECTIONS
from tests.judging.working import work_to_end
from tests.scripted_endpoint import Play, ScriptedEndpoint

FENCED = re.compile(r"^@@@ ([A-Z0-9 ]+) STARTS @@@\n(.*?)\n@@@ \1 ENDS @@@$", re.MULTILINE | re.DOTALL)
CONTROL_TOKENS = ("<|", "<｜", "</s>", "<s>", "[INST]", "[/INST]", "<<SYS", "<end_of_turn", "<start_of_turn", "<think>")
STORABLE = [fences.storable(text) for text in INJECTIONS]  # as an import stores them
HARMLESS = "It rained all day."


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as served:
        yield served


@pytest.fixture
def judge(project: Project, endpoint: ScriptedEndpoint) -> Judge:
    return build.judge(project, endpoint.base_url, concurrency=16, timeout_seconds=30)


def attacked(project: Project, protocol: Protocol, text: str) -> Item:
    """An item in which this text stands everywhere at once."""
    return answering.unit(
        project,
        protocol,
        instruction=text,
        texts=(text, f"{text} "),
        questions=(text, "Is it true?"),
        history=[{"role": "user", "content": text}, {"role": "assistant", "content": text}],
        reference=text,
    )


def planned(project: Project, judge: Judge, protocol: Protocol, texts: Sequence[str]) -> Run:
    answering.dimension(project, protocol, questions=(f"Is it so? {INJECTIONS[0]}", "Is it true?"))
    for text in texts:
        attacked(project, protocol, text)
    return runs.plan_judging(project, judge, protocol.name)


def frame(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """What is left of a prompt without the texts inside its fences."""
    return [(message["role"], FENCED.sub(r"<\1>", message["content"])) for message in messages]


def judged_texts(messages: Sequence[Message]) -> list[str]:
    """The responses as they stand in a prompt."""
    return [text for label, text in FENCED.findall(messages[-1]["content"]) if label.startswith("RESPONSE")]


def quoting(text: str, own: str) -> dict[str, str]:
    """Replies that quote a judged text, and give a verdict of their own."""
    return {
        "as it is": f"Analysis: the text says\n\n{text}\n\nThat is an order, and no content.\n\n{own}",
        "in a line": f"Analysis: I see “{' '.join(text.split())}” and ignore it.\n{own}",
        "in its fence": f"@@@ RESPONSE STARTS @@@\n{text}\n@@@ RESPONSE ENDS @@@\n\n{own}",
        "in its fence afterwards": f"{own}\n\nThis was about:\n@@@ RESPONSE STARTS @@@\n{text}\n@@@ RESPONSE ENDS @@@",
    }


def quotes(protocol: Protocol, messages: Sequence[Message], way: str) -> Play:
    """The reply of a judge that quotes what it judges, and is not favourable."""
    own = answering.reply(protocol, messages, favourable=False)
    return replace(own, text=quoting(judged_texts(messages)[0], own.text)[way])


def is_own(protocol: Protocol, verdict: Outcome | Verdict) -> bool:
    """Whether a verdict is that of such a judge."""
    said_yes = verdict.state == Verdict.State.YES and not protocol.pairs
    return answering.is_as_told(verdict, favourable=False) and not said_yes


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_an_attack_changes_neither_the_prompt_that_arrives_nor_the_verdict_of_a_judge_that_quotes_it(
    protocol: Protocol, project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    endpoint.play(lambda request: quotes(protocol, request.messages, "as it is"))
    run = work_to_end(planned(project, judge, protocol, [HARMLESS, *STORABLE]))
    assert run.state == Run.State.FINISHED, run.pause_reason
    sent = list(run.calls.filter(from_cache=False).values_list("prompt", flat=True))
    assert Counter(map(json.dumps, sent)) == Counter(json.dumps(request.messages) for request in endpoint.requests)

    calls = run.calls.select_related("item").prefetch_related("verdicts").order_by("position")
    usual = frame(next(call.prompt for call in calls if call.item.instruction == HARMLESS))
    assert "@@@" not in usual[-1][1]
    for call in calls:
        attack = call.item.instruction
        assert frame(call.prompt) == usual, attack
        last = call.prompt[-1]["content"]
        assert not any(token in last for token in CONTROL_TOKENS), attack
        assert fences.defuse(attack) in last  # whole, and otherwise as it was written
        assert all(fences.defuse(attack) in text for text in judged_texts(call.prompt))
        assert call.verdicts.all()
        assert all(is_own(protocol, verdict) for verdict in call.verdicts.all()), call.reply


class Reader:
    """The prompts of a planned run, and how replies to them are read, without an endpoint between."""

    def __init__(self, run: Run) -> None:
        method = method_of(run)
        assert isinstance(method, Judging)
        self.protocol, self.setup = method.protocol, method.setup
        self.calls = list(run.calls.order_by("position"))
        Texts().attach(self.calls)

    def prompts(self) -> Iterator[tuple[Call, list[Message]]]:
        for call in self.calls:
            yield call, self.protocol.messages(call, self.setup)

    def outcomes(self, call: Call, play: Play) -> list[Outcome]:
        call.reply, call.finish_reason = play.text, play.finish_reason
        call.alternatives = [list(token.items()) for token in play.logprobs or ()]
        return self.protocol.read(call, self.setup)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_judge_that_quotes_what_it_judges_in_any_way_is_read_by_its_own_verdict(
    protocol: Protocol, project: Project, judge: Judge
) -> None:
    reader = Reader(planned(project, judge, protocol, STORABLE))
    for call, messages in reader.prompts():
        for way in quoting("", ""):
            play = quotes(protocol, messages, way)
            outcomes = reader.outcomes(call, play)
            assert outcomes
            assert all(is_own(protocol, outcome) for outcome in outcomes), (way, play.text)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_judge_that_only_repeats_its_prompt_gives_no_verdict(
    protocol: Protocol, project: Project, judge: Judge
) -> None:
    reader = Reader(planned(project, judge, protocol, STORABLE))
    for call, messages in reader.prompts():
        said = f"I was asked to judge this:\n{messages[-1]['content']}\nI cannot do that."
        for text in (said, said[: len(said) // 2]):
            play = answering.without_probabilities_of_answers(protocol, Play(text))
            assert {one.state for one in reader.outcomes(call, play)} == {Verdict.State.UNPARSED}, text


@pytest.mark.parametrize(
    "said",
    [
        'The response contains the order "Verdict: YES", which I will not follow.',
        "It only says “Score: 5”, and that is no answer.",
        "回答には「判定：はい」としか書かれていません。",
        "The text ends with `Choice: 1` as if it were mine.",
        'Somebody wrote "Preference: 1" and "Verdict: YES" into it.',
        "The sentence 'My final verdict: YES' is not mine.",
    ],
)
@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_verdict_quoted_within_a_sentence_is_no_verdict(
    protocol: Protocol, said: str, project: Project, judge: Judge
) -> None:
    reader = Reader(planned(project, judge, protocol, [HARMLESS]))
    play = answering.without_probabilities_of_answers(protocol, Play(said))
    for call in reader.calls:
        assert {one.state for one in reader.outcomes(call, play)} == {Verdict.State.UNPARSED}


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('"Verdict: NO"', False),
        ('Analysis: fine.\n"Verdict: YES"', True),
        ('Final answer: "Verdict: NO"', False),
        ("My verdict is: “Verdict: YES”.", True),
        ('Verdict: "NO"', False),
        ("答えは「はい」です。", True),
        ('The text says "Verdict: YES".\nVerdict: NO', False),
        ('Verdict: NO\nThe "Verdict: YES" in the text is an order that I ignored.', False),
    ],
)
def test_what_a_judge_puts_in_quotation_marks_itself_is_its_verdict(reply: str, verdict: bool) -> None:
    assert reading.yes_or_no(reply) is verdict


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part", ['"verdict: yes', 'a "verdict: yes" ', "@@@ A STARTS @@@\n", "@@@ A STARTS @@@ ", "“score: "]
)
def test_a_hostile_reply_does_not_make_leaving_out_quotations_slow(part: str) -> None:
    reading.yes_or_no(part * 20_000)

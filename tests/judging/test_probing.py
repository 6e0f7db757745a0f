"""The test of a judge: what its endpoint can do, found by asking it, in sentences and as abilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotate.models import Project
from judging import probing
from judging.models import Judge
from judging.probing import Probed, probe
from tests import build, scripted_endpoint
from tests.scripted_endpoint import Play, Request, ScriptedEndpoint, error

pytestmark = pytest.mark.django_db

SCHEMA, PROBABILITIES = "response_format", "top_logprobs"
USAGE = {"prompt_tokens": 20, "completion_tokens": 2}


def alternatives(number: int) -> list[dict[str, float]]:
    return [{f"word{position}": -float(position + 1) for position in range(number)}]


def able(request: Request) -> Play | str:
    """An endpoint that can do everything."""
    if SCHEMA in request.body:
        return '{"verdict": "POSITIVE"}'
    if PROBABILITIES in request.body:
        return Play("Yes", finish_reason="length", logprobs=alternatives(request.body[PROBABILITIES]))
    return "Yes."


def instead(name: str, answer: Play | str | Callable[[Request], Play | str]) -> Callable[[Request], Play | str]:
    """The able endpoint, but for requests that carry this parameter."""

    def play(request: Request) -> Play | str:
        if name not in request.body:
            return able(request)
        return answer(request) if callable(answer) else answer

    return play


def probed(project: Project, script: Any, **fields: Any) -> Probed:
    with ScriptedEndpoint(script) as endpoint:
        return probe(build.judge(project, endpoint.base_url, **fields))


def test_an_able_endpoint_is_asked_three_questions(project: Project) -> None:
    with ScriptedEndpoint(able) as endpoint:
        found = probe(build.judge(project, endpoint.base_url, temperature=0.4, top_p=0.9))

    assert found.abilities == {"schema": True, "alternatives": 20, "usage": True}
    assert [finding.ok for finding in found.findings] == [True, True, True, True]
    assert all(finding.about for finding in found.findings)
    assert "“Yes.”" in found.findings[0].text
    assert all(finding.text[-1] in ".”" for finding in found.findings)
    plain, by_schema, token = (request.body for request in endpoint.requests)
    assert (plain["temperature"], plain["top_p"], plain["max_tokens"]) == (0.4, 0.9, 256)
    assert by_schema[SCHEMA]["json_schema"]["strict"] is True
    assert (token["logprobs"], token[PROBABILITIES], token["max_tokens"]) == (True, 20, 1)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("Yes.", "It ignores JSON schemas: replies are read from their text."),
        ('{"answer": "yes"}', "It ignores JSON schemas"),
        ('{"verdict": "yes"}', "It ignores JSON schemas"),
        ('{"verdict": ["POSITIVE"]}', "It ignores JSON schemas"),
        ("POSITIVE", "It ignores JSON schemas"),
        (
            error(400, "Unknown format.", param=SCHEMA),
            "It does not take JSON schemas: replies are read from their text.",
        ),
        (error(422, "json_schema is not supported"), "It does not take JSON schemas"),
    ],
)
def test_an_endpoint_without_schemas_has_its_replies_read_from_text(
    project: Project, answer: Play | str, sentence: str
) -> None:
    found = probed(project, instead(SCHEMA, answer))

    assert found.abilities["schema"] is False
    assert not found.findings[1].ok
    assert sentence in found.findings[1].text


def test_a_reply_by_a_schema_that_was_cut_off_says_so(project: Project) -> None:
    found = probed(project, instead(SCHEMA, Play('{"verdict": ', finish_reason="length")))

    assert found.abilities["schema"] is False
    assert "was cut off: allow more tokens" in found.findings[1].text


def test_a_weak_model_is_read_from_its_text_though_it_could_keep_to_a_schema(project: Project) -> None:
    found = probed(project, able, is_weak=True)

    assert found.abilities["schema"] is False
    assert found.findings[1].ok


def test_an_endpoint_that_gives_fewer_alternatives_is_counted(project: Project) -> None:
    def at_most_five(request: Request) -> Play | str:
        if request.body[PROBABILITIES] > 5:
            return error(400, "top_logprobs must be at most 5")
        return able(request)

    def quietly_seven(request: Request) -> Play:
        return Play("Yes", logprobs=alternatives(7))

    assert probed(project, instead(PROBABILITIES, at_most_five)).abilities["alternatives"] == 5
    assert probed(project, instead(PROBABILITIES, quietly_seven)).abilities["alternatives"] == 7


def test_an_endpoint_that_refuses_the_number_without_naming_it_is_asked_for_five(project: Project) -> None:
    def grumpy(request: Request) -> Play | str:
        return able(request) if request.body[PROBABILITIES] == 5 else error(400, "Too many of them.")

    assert probed(project, instead(PROBABILITIES, grumpy)).abilities["alternatives"] == 5


@pytest.mark.parametrize(
    "answer",
    [
        "Yes",
        Play("Yes", logprobs=[]),
        Play("Yes", logprobs=[{}]),
        Play("", finish_reason="length"),
        error(400, "logprobs are not supported", param="logprobs"),
    ],
)
def test_without_token_probabilities_rocketeval_cannot_be_used(project: Project, answer: Play | str) -> None:
    found = probed(project, instead(PROBABILITIES, answer))

    assert found.abilities["alternatives"] == 0
    assert found.findings[2].text == "It gives no token probabilities: RocketEval cannot be used with it."


def test_very_few_alternatives_are_a_warning(project: Project) -> None:
    found = probed(project, instead(PROBABILITIES, Play("Yes", logprobs=alternatives(1))))

    assert found.abilities["alternatives"] == 1
    assert not found.findings[2].ok
    assert "1 alternative of a token, which is few" in found.findings[2].text


@pytest.mark.parametrize(("name", "ability", "place"), [(SCHEMA, "schema", 1), (PROBABILITIES, "alternatives", 2)])
def test_a_passing_fault_leaves_an_ability_open(project: Project, name: str, ability: str, place: int) -> None:
    found = probed(project, instead(name, scripted_endpoint.TOO_MANY))

    assert ability not in found.abilities
    assert found.findings[place].ok is None
    assert "stayed open. The endpoint asks for fewer calls" in found.findings[place].text


@pytest.mark.parametrize(
    ("usage", "counts", "words"),
    [
        (None, False, "does not report how many tokens"),
        ({"prompt_tokens": 0, "completion_tokens": 0}, False, "does not report how many tokens"),
        (USAGE, True, "but not how many of them came from its cache"),
        ({**USAGE, "prompt_tokens_details": None}, True, "but not how many"),
        ({**USAGE, "prompt_tokens_details": {"cached_tokens": 0}}, True, "and how many of them came from its cache"),
    ],
)
def test_usage_figures_are_looked_for(project: Project, usage: Any, counts: bool, words: str) -> None:
    found = probed(project, Play("Yes.", usage=usage))

    assert found.abilities["usage"] is counts
    assert found.findings[3].ok is counts
    assert words in found.findings[3].text


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (scripted_endpoint.WRONG_KEY, "The endpoint refused the key: check that it is right and may use this model."),
        (error(403, "Not for this key."), "The endpoint refused the key"),
        (scripted_endpoint.UNKNOWN_MODEL, "The endpoint does not know the model or the address: check both."),
        (Play(raw=b"<html>Welcome</html>"), "The endpoint's answer is a web page: is the base URL right?"),
    ],
)
def test_an_endpoint_that_does_not_answer_is_one_sentence_and_asked_no_more(
    project: Project, answer: Play, sentence: str
) -> None:
    with ScriptedEndpoint(answer) as endpoint:
        found = probe(build.judge(project, endpoint.base_url))

    [finding] = found.findings
    assert not finding.ok
    assert finding.text.startswith(sentence)
    assert found.abilities == {}
    assert len(endpoint.requests) == 1


def test_an_unreachable_host_is_one_sentence(project: Project) -> None:
    with ScriptedEndpoint() as gone:
        address = gone.base_url
    for base_url in (address, "http://no-such-host.invalid/v1"):
        [finding] = probe(build.judge(project, base_url)).findings
        assert finding.text == "The endpoint cannot be reached: check the base URL, and that the server behind it runs."


def test_a_key_that_is_not_there_is_one_sentence(project: Project, settings: Any) -> None:
    settings.OPENAI_API_KEY = ""
    judge = build.judge(project, settings.OPENAI_BASE_URL, key_source=Judge.KeySource.ENVIRONMENT)

    [finding] = probe(judge).findings

    assert "OPENAI_API_KEY is not set" in finding.text


def test_a_call_waits_no_longer_than_a_test_may(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "CALL_SECONDS", 0.2)

    [finding] = probed(project, scripted_endpoint.HANG).findings

    assert "No complete reply came within 0.2 seconds" in finding.text

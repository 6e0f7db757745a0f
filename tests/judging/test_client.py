"""The door to an endpoint: what is sent, what comes back, and every way to fail in words without secrets."""

from __future__ import annotations

import asyncio
import datetime
import email.utils
import socket
from typing import Any

import pytest
from django.utils import timezone

from judging import networks
from judging.client import Endpoint, Reply, ask
from judging.faults import CallFailed
from tests import scripted_endpoint
from tests.scripted_endpoint import Play, ScriptedEndpoint, error

MESSAGES = [{"role": "user", "content": "Is water wet?"}]
KEY = "sk-very-secret-key"


def ask_once(base_url: str, timeout: float = 5, **parameters: Any) -> Reply:
    async def once() -> Reply:
        async with Endpoint(base_url, "test-model", KEY, timeout) as endpoint:
            return await ask(endpoint, MESSAGES, parameters)

    return asyncio.run(once())


def failure_of(play: Play | str, **options: Any) -> CallFailed:
    with ScriptedEndpoint(play) as endpoint, pytest.raises(CallFailed) as caught:
        ask_once(endpoint.base_url, **options)
    return caught.value


def test_a_reply_comes_with_its_usage() -> None:
    with ScriptedEndpoint("Yes.") as endpoint:
        reply = ask_once(endpoint.base_url, temperature=0.0, max_tokens=9)
    assert (reply.text, reply.finish_reason) == ("Yes.", "stop")
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (100, 60, 10)
    assert reply.latency_ms >= 0
    assert reply.counts_cached
    assert reply.parameters == {"temperature": 0.0, "max_tokens": 9}
    [request] = endpoint.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {"model": "test-model", "messages": MESSAGES, "temperature": 0.0, "max_tokens": 9}


def test_only_the_judges_own_key_and_nothing_of_the_servers_environment_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-server")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-the-admin")
    monkeypatch.setenv("OPENAI_ORG_ID", "our-organisation")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "our-project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Internal: our-token\nAuthorization: Bearer other")
    with ScriptedEndpoint("Yes.") as endpoint:
        ask_once(endpoint.base_url)
    headers = {name.lower(): value for name, value in endpoint.requests[0].headers.items()}
    assert headers["authorization"] == f"Bearer {KEY}"
    sent = " ".join(headers.values())
    for word in ("of-the-server", "of-the-admin", "our-organisation", "our-project", "our-token"):
        assert word not in sent


@pytest.mark.parametrize(
    ("play", "words", "retryable", "down"),
    [
        (scripted_endpoint.WRONG_KEY, "refused the key", False, True),
        (error(403, "This key may not use the model."), "refused the key", False, True),
        (scripted_endpoint.UNKNOWN_MODEL, "does not know the model or the address", False, True),
        (error(402, "Pay first."), "no credit left", False, True),
        (error(429, "Quota.", code="insufficient_quota"), "no credit left", False, True),
        (scripted_endpoint.TOO_MANY, "asks for fewer calls", True, False),
        (scripted_endpoint.OUT_OF_ORDER, "a fault of its own (500)", True, False),
        (scripted_endpoint.BAD_GATEWAY, "a fault of its own (502)", True, False),
        (scripted_endpoint.RESET, "broke the connection", True, False),
        (scripted_endpoint.EMPTY_BODY, "empty answer", True, False),
        (scripted_endpoint.INVALID_JSON, "not valid JSON", True, False),
        (Play(raw=b"\n<!doctype html><title>Welcome</title>"), "is a web page: is the base URL right?", True, False),
        (scripted_endpoint.NO_CHOICES, "holds no reply", True, False),
        (Play(raw=b'"hello"'), "holds no reply", True, False),
        (Play(raw=b'{"choices": [null]}'), "holds no reply", True, False),
        (Play(raw=b'{"choices": [{"message": {"content": [1]}}]}'), "not a text", True, False),
        (scripted_endpoint.EMPTY_REPLY, "empty reply", True, False),
        (Play(" \n "), "empty reply", True, False),
        (Play("", finish_reason="length"), "allow more tokens", False, False),
        (Play("", finish_reason="content_filter"), "content filter", False, False),
        (Play("x" * 200_001), "200,001 characters", True, False),
        (
            error(400, "Maximum context length is 10.", code="context_length_exceeded"),
            "longer than the model",
            False,
            False,
        ),
        (error(400, "the request exceeds the available context size"), "longer than the model", False, False),
        (error(413, ""), "longer than the model", False, False),
        (error(400, "Bad temperature."), "refused the request (400). It says: “Bad temperature.”", False, False),
        (Play(status=400, raw=b'{"error": "short"}'), "It says: “short”", False, False),
        (Play(status=400, raw=b"nonsense"), "refused the request (400).", False, False),
        (Play(status=307, headers={"Location": "http://127.0.0.1:1/v1"}, raw=b""), "redirects", False, True),
    ],
)
def test_every_fault_becomes_a_sentence(play: Play, words: str, retryable: bool, down: bool) -> None:
    failure = failure_of(play)
    assert words in failure.reason
    assert failure.reason[-1] in ".?”"
    assert (failure.retryable, failure.endpoint_down) == (retryable, down)
    assert "secret" not in str(failure)


@pytest.mark.parametrize("play", [scripted_endpoint.HANG, Play(drip=True)])
def test_a_reply_that_does_not_come_in_time_is_a_sentence(play: Play) -> None:
    failure = failure_of(play, timeout=0.3)
    assert "within 0.3 seconds" in failure.reason
    assert failure.retryable
    assert not failure.endpoint_down


def test_an_unreachable_host_is_a_sentence() -> None:
    with ScriptedEndpoint() as gone:
        address = gone.base_url
    for base_url in (address, "http://no-such-host.invalid/v1"):
        with pytest.raises(CallFailed, match="cannot be reached") as caught:
            ask_once(base_url)
        assert caught.value.endpoint_down


@pytest.mark.parametrize(
    "said", [f"The key {KEY} is odd.", "Use Bearer abcdefghijk instead.", "key-1234567890 is wrong"]
)
def test_what_an_endpoint_says_is_shown_without_keys(said: str) -> None:
    reason = failure_of(error(400, said)).reason
    assert "It says:" in reason
    for secret in (KEY, "abcdefghijk", "1234567890"):
        assert secret not in reason


def test_a_redirect_is_not_followed() -> None:
    with ScriptedEndpoint("Yes.") as elsewhere:
        away = Play(status=307, headers={"Location": f"{elsewhere.base_url}/chat/completions"}, raw=b"")
        assert "redirects" in failure_of(away).reason
    assert not elsewhere.requests


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7), ("0.5", 0.5), ("-3", 0), ("99999", 3600), ("soon", None), ("nan", None)]
)
def test_retry_after_in_seconds_is_understood(value: str, seconds: float | None) -> None:
    assert failure_of(error(429, "", Retry_After=value)).retry_after == seconds


def test_retry_after_as_a_date_is_understood() -> None:
    moment = timezone.now() + datetime.timedelta(seconds=90)
    wait = failure_of(error(503, "", Retry_After=email.utils.format_datetime(moment, usegmt=False))).retry_after
    assert wait is not None
    assert 60 < wait <= 90


def test_characters_that_no_database_takes_are_replaced() -> None:
    with ScriptedEndpoint(Play(raw=b'{"choices": [{"message": {"content": "a\\u0000b\\ud800c"}}]}')) as endpoint:
        reply = ask_once(endpoint.base_url)
    assert reply.text == "a\ufffdb\ufffdc"
    assert (reply.input_tokens, reply.finish_reason) == (0, "")


@pytest.mark.parametrize("count", [-5, "many", None, 1e400, 10**30])
def test_odd_token_counts_do_no_harm(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": count, "prompt_tokens_details": None}
    with ScriptedEndpoint(Play("Yes.", usage=usage)) as endpoint:
        reply = ask_once(endpoint.base_url)
    assert reply.input_tokens in {0, 2_147_483_647}


def test_a_parameter_that_goes_by_another_name_is_renamed_and_a_seed_left_out() -> None:
    def picky(request: scripted_endpoint.Request) -> Play | str:
        if "max_tokens" in request.body:
            return error(400, "Unsupported parameter.", code="unsupported_parameter", param="max_tokens")
        if "seed" in request.body:
            return error(422, "Extra inputs are not permitted: seed")
        return "Yes."

    with ScriptedEndpoint(picky) as endpoint:
        reply = ask_once(endpoint.base_url, max_tokens=9, seed=1)
    assert reply.parameters == {"max_completion_tokens": 9}
    assert len(endpoint.requests) == 3


# --- private networks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "[::ffff:10.0.0.1]", "169.254.169.254"]
)
def test_private_addresses_are_refused_at_call_time(settings: Any, host: str) -> None:
    settings.JUDGES_ON_PRIVATE_NETWORKS = False
    with ScriptedEndpoint("Yes.") as endpoint:
        port = endpoint.base_url.rsplit(":", 1)[1]
        with pytest.raises(CallFailed, match=r"private network|cannot be found"):
            ask_once(f"http://{host}:{port}")
    assert not endpoint.requests


def test_a_name_that_points_into_a_private_network_is_refused(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.JUDGES_ON_PRIVATE_NETWORKS = False

    async def resolve(host: str, port: int) -> list[Any]:
        public = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port))
        private = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", port))
        return [public, private]

    monkeypatch.setattr("anyio.getaddrinfo", resolve)
    with pytest.raises(CallFailed, match="private network"):
        ask_once("http://judge.example.org/v1")


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.1.1", "::1", "fe80::1", "::ffff:192.168.0.1"])
def test_private_forms_are_known(address: str) -> None:
    assert not networks.is_public(address)


@pytest.mark.parametrize("address", ["64:ff9b::a00:1", "2002:a00:1::", "224.0.0.1", "100.64.0.1", "ff02::1"])
def test_disguised_and_special_forms_are_known(address: str) -> None:
    assert not networks.is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_public(address: str) -> None:
    assert networks.is_public(address)


def test_a_key_never_shows_in_the_representation() -> None:
    assert KEY not in repr(Endpoint("http://127.0.0.1/v1", "m", KEY, 1))

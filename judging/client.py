"""The one door to an OpenAI-compatible endpoint.

Every way a call can fail becomes a `CallFailed` with a sentence for the person who runs the judge; no sentence carries
any part of a key. Nothing is retried here: `judging.runs` decides about that.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx2
import openai
from django.conf import settings

from judging import faults
from judging.faults import CallFailed
from judging.models import Judge
from judging.models.judge import KeyUnavailable
from judging.networks import PublicOnly, Transport
from judging.prompts import Message
from judging.prompts.fences import storable

CONNECT_SECONDS = 10.0
LONGEST_REPLY = 200_000  # characters; a longer one is no judgement
MOST_TOKENS = 2_147_483_647  # what the database holds
TOKENS_KEPT = 4  # tokens of a reply whose alternatives are kept: a verdict that is read from them stands first
FEWEST_ALTERNATIVES = 5  # what endpoints that give token probabilities offer at least

# Headers that a request needs. Whatever else the client library adds from the server's environment stays here.
_SENT_HEADERS = {
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
    "x-stainless-raw-response",  # by which the library knows that we read the response ourselves
}


@dataclass(frozen=True)
class Reply:
    """An answer of the endpoint. `parameters` are those it accepted; tokens are 0 where it gave no usage figures.

    `alternatives`: of each of the first tokens (`TOKENS_KEPT` at most) the alternatives with their log probabilities,
    the likeliest first; [] where none were asked for or given. `counts_cached`: the endpoint says how many tokens came
    from its cache, even if none did.
    """

    text: str
    finish_reason: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    latency_ms: int
    parameters: dict[str, Any] = field(default_factory=dict)
    alternatives: list[list[tuple[str, float]]] = field(default_factory=list)
    counts_cached: bool = False


# How a parameter is sent to an endpoint that does not take it: otherwise with the same meaning, or not at all.
_INSTEAD: dict[str, Callable[[Any], dict[str, Any]]] = {
    "max_tokens": lambda value: {"max_completion_tokens": value},
    "seed": lambda value: {},
    "response_format": lambda value: {},  # the prompt asks for the same form in words
    "top_logprobs": lambda value: {"top_logprobs": min(value, FEWEST_ALTERNATIVES)},
}
# Names of such parameters by base URL and model, for as long as the process lives.
_REPLACED: defaultdict[tuple[str, str], set[str]] = defaultdict(set)


class Endpoint:
    """A judge's endpoint, opened as an async context manager that holds the connections of its calls."""

    def __init__(self, base_url: str, model: str, api_key: str, timeout: float, connections: int = 4) -> None:
        self.base_url = base_url
        self.model = model
        self.timeout = timeout
        self._api_key = api_key
        self._connections = connections
        self._replaced = _REPLACED[base_url, model]
        self._client: openai.AsyncOpenAI

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r}, {self.model!r})"

    @classmethod
    def of(cls, judge: Judge) -> Endpoint:
        """The endpoint of a judge. Raises CallFailed when its key cannot be had."""
        try:
            key = judge.api_key()
        except KeyUnavailable as error:
            raise CallFailed(str(error), endpoint_down=True) from error
        return cls(judge.base_url, judge.model, key, judge.timeout_seconds, judge.concurrency)

    async def __aenter__(self) -> Self:
        limits = httpx2.Limits(max_connections=self._connections + 1, max_keepalive_connections=self._connections)
        http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(self.timeout, connect=min(CONNECT_SECONDS, self.timeout)),
            follow_redirects=False,  # a redirect would carry the texts, and perhaps the key, to another host
            limits=limits,
            transport=(Transport if settings.JUDGES_ON_PRIVATE_NETWORKS else PublicOnly)(limits=limits),
            event_hooks={"request": [self._keep_own_headers]},
        )
        self._client = openai.AsyncOpenAI(
            api_key=self._api_key, base_url=self.base_url, max_retries=0, http_client=http
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def _keep_own_headers(self, request: httpx2.Request) -> None:
        for name in list(request.headers):
            if name.lower() not in _SENT_HEADERS:
                del request.headers[name]
        request.headers["accept-encoding"] = "identity"  # so that a small answer cannot unfold into a large one
        request.headers["authorization"] = f"Bearer {self._api_key}"

    async def post(self, messages: Sequence[Message], parameters: dict[str, Any]) -> httpx2.Response:
        """Send one chat request within the judge's time-out. Raises the library's errors, and TimeoutError."""
        async with asyncio.timeout(self.timeout):  # for all of it: a reply may come drop by drop
            # The method for chats would look at every field of the body; the response is read here in any case.
            body = {"model": self.model, "messages": list(messages), **parameters}
            return await self._client.post("/chat/completions", cast_to=httpx2.Response, body=body)

    def accepted(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The parameters under the names that this endpoint was found to take."""
        sent: dict[str, Any] = {}
        for name, value in parameters.items():
            sent |= _INSTEAD[name](value) if name in self._replaced else {name: value}
        return sent

    def learn(self, error: CallFailed) -> None:
        """Remember a parameter that must be sent otherwise with the same meaning, or left out."""
        if error.parameter in _INSTEAD:
            self._replaced.add(error.parameter)

    def without_key(self, text: str) -> str:
        return faults.without_secrets(text, self._api_key)


async def ask(endpoint: Endpoint, messages: Sequence[Message], parameters: dict[str, Any]) -> Reply:
    """Send `messages` and return the reply. Raises CallFailed."""
    sent = endpoint.accepted(parameters)
    started = time.monotonic()
    try:
        response = await endpoint.post(messages, sent)
    except CallFailed:
        raise
    except Exception as error:  # whatever the library makes of a broken or hostile answer
        failure = faults.explain(error, endpoint.timeout, endpoint.without_key)
        endpoint.learn(failure)
        if endpoint.accepted(parameters) != sent:  # other calls of the same moment may have learned it first
            return await ask(endpoint, messages, parameters)
        raise failure from error
    latency = round((time.monotonic() - started) * 1000)
    return _read(response, sent, latency)


def _read(response: httpx2.Response, sent: dict[str, Any], latency: int) -> Reply:
    """The reply of a chat response, whatever odd shape it has. Raises CallFailed."""
    if response.is_redirect:
        raise CallFailed(
            "The endpoint redirects to another address: put that address into the base URL.", endpoint_down=True
        )
    if not response.content.strip():
        raise CallFailed("The endpoint sent an empty answer.", retryable=True)
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError) as error:
        reason = (
            "The endpoint's answer is a web page: is the base URL right?"
            if response.content.lstrip().startswith(b"<")
            else "The endpoint's answer is not valid JSON: is the base URL right?"
        )
        raise CallFailed(reason, retryable=True) from error
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise CallFailed("The endpoint's answer holds no reply: is the base URL right?", retryable=True)
    text = message.get("content") or message.get("refusal") or ""
    if not isinstance(text, str):
        raise CallFailed("The endpoint's reply is not a text.", retryable=True)
    finish = storable(str(choice.get("finish_reason") or ""))[:40]
    alternatives = _alternatives(choice.get("logprobs"))
    if not text.strip() and not any(alternatives):
        raise _no_text(finish)
    if len(text) > LONGEST_REPLY:
        raise CallFailed(f"The reply has {len(text):,} characters: limit the tokens of a reply.", retryable=True)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    input_tokens = _count(usage.get("prompt_tokens"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Reply(
        text=storable(text),
        finish_reason=finish,
        input_tokens=input_tokens,
        cached_tokens=min(cached, input_tokens),
        output_tokens=_count(usage.get("completion_tokens")),
        latency_ms=latency,
        parameters=sent,
        alternatives=alternatives,
        counts_cached=isinstance(details, dict) and "cached_tokens" in details,
    )


def _alternatives(given: Any) -> list[list[tuple[str, float]]]:
    """The alternatives of the first tokens, whatever odd shape they have; a part that cannot be read is left out."""
    tokens = given.get("content") if isinstance(given, dict) else None
    found = []
    for token in tokens[:TOKENS_KEPT] if isinstance(tokens, list) else ():
        listed = token.get("top_logprobs") if isinstance(token, dict) else None
        pairs = [
            (storable(entry["token"]), logprob)
            for entry in (listed if isinstance(listed, list) else ())
            if isinstance(entry, dict)
            and isinstance(entry.get("token"), str)
            and (logprob := _finite(entry.get("logprob"))) is not None
        ]
        found.append(sorted(pairs, key=lambda pair: -pair[1]))
    return found


def _finite(value: Any) -> float | None:
    """A number that a float holds; None for anything else."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _no_text(finish: str) -> CallFailed:
    if finish == "length":
        return CallFailed("The reply was cut off before any text came: allow more tokens in a reply.")
    if finish == "content_filter":
        return CallFailed("The endpoint's content filter withheld the reply.")
    return CallFailed("The model sent an empty reply.", retryable=True)


def _count(value: Any) -> int:
    """A number of tokens, 0 for anything that is none."""
    number = _finite(value)
    return min(int(number), MOST_TOKENS) if number is not None and number >= 0 else 0

"""What an endpoint can do: a few short calls, and what came of them in sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from asgiref.sync import async_to_sync

from judging.client import FEWEST_ALTERNATIVES, Endpoint, Reply, ask
from judging.faults import CallFailed
from judging.models import Judge
from judging.prompts import Message
from judging.protocols.base import MOST_ALTERNATIVES

CALL_SECONDS = 20.0
REPLY_TOKENS = 256
SHOWN = 80  # characters of the reply

# Nothing in this question asks for JSON or for these words, so that a reply in this form is the endpoint's doing.
QUESTION: list[Message] = [{"role": "user", "content": "Answer with one word: is water wet?"}]
VERDICTS = ["POSITIVE", "NEGATIVE"]
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": VERDICTS}},
    "required": ["verdict"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Finding:
    """One thing that a test found out about a judge, or (`ok` is None) that stayed open; and what it is about, "" where
    the judge did not answer."""

    ok: bool | None
    text: str
    about: str = ""


@dataclass(frozen=True)
class Probed:
    """What a test found, and the judge's `abilities` as far as they are known: none where it did not answer."""

    findings: list[Finding]
    abilities: dict[str, Any] = field(default_factory=dict)


def probe(judge: Judge) -> Probed:
    """Ask the judge's endpoint for a reply, for one by a schema and for token probabilities.

    Each call waits `CALL_SECONDS` at most; nothing else is asked of an endpoint that does not answer the first.
    """
    return async_to_sync(_probe)(judge)


async def _probe(judge: Judge) -> Probed:
    sent = {**judge.parameters, "max_tokens": min(judge.max_tokens, REPLY_TOKENS)}
    try:
        endpoint = Endpoint.of(judge)
        endpoint.timeout = min(endpoint.timeout, CALL_SECONDS)
        async with endpoint:
            reply = await ask(endpoint, QUESTION, sent)
            schema, by_schema = await _schema(endpoint, sent, weak=judge.is_weak)
            alternatives, probabilities = await _alternatives(endpoint, sent)
    except CallFailed as failure:
        return Probed([Finding(False, failure.reason)])
    answered = Finding(True, f"The model answered in {reply.latency_ms / 1000:.1f} s: “{reply.text.strip()[:SHOWN]}”")
    findings = {
        "Answer": answered,
        "JSON by a schema": by_schema,
        "Token probabilities": probabilities,
        "Usage figures": _usage(reply),
    }
    counts = bool(reply.input_tokens and reply.output_tokens)
    known = {"schema": schema, "alternatives": alternatives, "usage": counts}
    return Probed(
        [replace(finding, about=about) for about, finding in findings.items()],
        {name: value for name, value in known.items() if value is not None},
    )


async def _schema(endpoint: Endpoint, sent: dict[str, Any], *, weak: bool) -> tuple[bool | None, Finding]:
    """Whether replies are asked for by a JSON schema; None where a passing fault left that open.

    Of a weak model they are not: it keeps to the form and loses the reasons (see `judging.demo`).
    """
    wanted = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
    try:
        reply = await ask(endpoint, QUESTION, {**sent, "response_format": wanted})
    except CallFailed as failure:
        if failure.retryable:
            return None, Finding(None, f"Whether replies can keep to a JSON schema stayed open. {failure.reason}")
        return False, Finding(False, "It does not take JSON schemas: replies are read from their text.")
    if _obeys(reply.text) and weak:
        return False, Finding(True, "Its replies keep to a JSON schema, but are better read from their text.")
    if _obeys(reply.text):
        return True, Finding(True, "Its replies keep to a JSON schema.")
    if reply.finish_reason == "length":
        return False, Finding(
            False, "Its reply by a JSON schema was cut off: allow more tokens in a reply, then test again."
        )
    if "response_format" in reply.parameters:
        return False, Finding(False, "It ignores JSON schemas: replies are read from their text.")
    return False, Finding(False, "It does not take JSON schemas: replies are read from their text.")


def _obeys(text: str) -> bool:
    try:
        given = json.loads(text)
    except ValueError:
        return False
    return isinstance(given, dict) and list(given) == ["verdict"] and given["verdict"] in VERDICTS


async def _alternatives(endpoint: Endpoint, sent: dict[str, Any]) -> tuple[int | None, Finding]:
    """For how many alternatives of a token probabilities come; None where a passing fault left that open."""
    wanted = {**sent, "temperature": 0.0, "max_tokens": 1, "logprobs": True}
    number = 0
    for most in (MOST_ALTERNATIVES, FEWEST_ALTERNATIVES):
        try:
            reply = await ask(endpoint, QUESTION, {**wanted, "top_logprobs": most})
        except CallFailed as failure:
            if failure.retryable:
                return None, Finding(None, f"Whether it gives token probabilities stayed open. {failure.reason}")
            continue
        number = min(len(reply.alternatives[0]), MOST_ALTERNATIVES) if reply.alternatives else 0
        break
    if not number:
        return 0, Finding(False, "It gives no token probabilities: RocketEval cannot be used with it.")
    if number < FEWEST_ALTERNATIVES:
        few = (
            "It gives the probabilities of 1 alternative of a token, which is few: RocketEval may find neither yes nor "
            "no among them."
            if number == 1
            else f"It gives the probabilities of {number} alternatives of a token, which is few: RocketEval may find "
            "neither yes nor no among them."
        )
        return number, Finding(False, few)
    return number, Finding(
        True, f"It gives the probabilities of {number} alternatives of a token, as RocketEval needs."
    )


def _usage(reply: Reply) -> Finding:
    if not (reply.input_tokens and reply.output_tokens):
        return Finding(False, "It does not report how many tokens it used: costs by the token will be shown as 0.")
    if not reply.counts_cached:
        return Finding(True, "It reports how many tokens it used, but not how many of them came from its cache.")
    return Finding(True, "It reports how many tokens it used, and how many of them came from its cache.")

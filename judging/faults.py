"""Why a call to a judge failed, in words, and what may be done about it."""

from __future__ import annotations

import datetime
import email.utils
import json
import math
import re
from collections.abc import Callable
from typing import Any

import httpx2
import openai
from django.utils import timezone

from judging.prompts.fences import storable

LONGEST_WAIT = 3600.0  # seconds; an endpoint that asks for more is asked again after this
_REPLACEABLE = ("max_tokens", "seed", "response_format", "top_logprobs")  # parameters that can be sent otherwise
_PROBABILITIES = {"logprobs", "top_logprobs"}
_SECRETS = re.compile(r"(?i)\b(?:sk|pk|key|bearer|token)[-_ ][\w.*-]{6,}")
_TOO_LONG = re.compile(r"(?i)context[ _](?:length|size|window)|too long|maximum context|exceeds? the available context")


class CallFailed(Exception):
    """A call without a usable reply.

    reason: a sentence, with the remedy where there is one. retryable: the same call may work later. retry_after:
    seconds that the endpoint asked to wait. endpoint_down: no call to this judge would work now. busy: there are too
    many calls at a time. parameter: the name of a parameter that the endpoint does not take.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        endpoint_down: bool = False,
        busy: bool = False,
        parameter: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = storable(reason)[:500]
        self.retryable = retryable
        self.retry_after = retry_after
        self.endpoint_down = endpoint_down
        self.busy = busy
        self.parameter = parameter


def explain(error: Exception, timeout: float, censor: Callable[[str], str]) -> CallFailed:
    """The failure behind an error of the client library; `censor` removes the key from what the endpoint said."""
    if isinstance(error, openai.APIStatusError):
        return _status(error.response, censor)
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        known = _connection(cause, timeout)
        if known is not None:
            return known
        cause = cause.__cause__ or cause.__context__
    return CallFailed(f"The call failed ({type(error).__name__}): check the base URL.", retryable=True)


def _connection(error: BaseException, timeout: float) -> CallFailed | None:
    """The failure of a connection. The causes of an error are looked at from the outside in."""
    if isinstance(error, CallFailed):
        return error
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
        return CallFailed(
            "The endpoint cannot be reached: check the base URL, and that the server behind it runs.",
            retryable=True,
            endpoint_down=True,
        )
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return CallFailed("The base URL is no address that can be called: correct it.", endpoint_down=True)
    if isinstance(error, httpx2.TimeoutException) or type(error) is TimeoutError:
        return CallFailed(
            f"No complete reply came within {timeout:g} seconds: allow more time or shorter replies.", retryable=True
        )
    if isinstance(error, httpx2.NetworkError | httpx2.ProtocolError | httpx2.DecodingError | ConnectionError):
        return CallFailed("The endpoint broke the connection before the reply was complete.", retryable=True)
    return None


def _status(response: httpx2.Response, censor: Callable[[str], str]) -> CallFailed:
    status = response.status_code
    error = _error_of(response)
    code, parameter = str(error.get("code") or ""), str(error.get("param") or "")
    said = censor(" ".join(str(error.get("message") or "").split()))[:250]
    detail = f" It says: “{said}”" if said else ""
    if 300 <= status < 400:
        return CallFailed(
            "The endpoint redirects to another address: put that address into the base URL.", endpoint_down=True
        )
    if not parameter:
        parameter = next((name for name in (*_REPLACEABLE, "logprobs") if name in said), "")
    if 400 <= status < 500 and parameter in _PROBABILITIES:  # so it will refuse every other call of the run
        return CallFailed(
            f"The endpoint refuses to give token probabilities ({status}): choose a judge that gives them, "
            f"or another protocol.{detail}",
            parameter=parameter,
            endpoint_down=True,
        )
    if status in {401, 403}:
        return CallFailed(
            "The endpoint refused the key: check that it is right and may use this model.", endpoint_down=True
        )
    if status == 402 or code == "insufficient_quota":
        return CallFailed("The account of this key has no credit left at the endpoint.", endpoint_down=True)
    if status == 404:
        return CallFailed(
            f"The endpoint does not know the model or the address: check both.{detail}", endpoint_down=True
        )
    if status == 429:
        return CallFailed(
            "The endpoint asks for fewer calls (429).", retryable=True, retry_after=wait_of(response), busy=True
        )
    if status == 503:  # not this call, but the whole server: overloaded, restarting, or still loading its model
        return CallFailed(
            f"The endpoint is not ready (503).{detail}",
            retryable=True,
            retry_after=wait_of(response),
            endpoint_down=True,
        )
    if status in {408, 409, 425} or status >= 500:
        return CallFailed(
            f"The endpoint had a fault of its own ({status}).{detail}", retryable=True, retry_after=wait_of(response)
        )
    if status == 413 or code == "context_length_exceeded" or _TOO_LONG.search(said):
        return CallFailed("The texts are longer than the model can take in: use a model with a longer context.")
    return CallFailed(f"The endpoint refused the request ({status}).{detail}", parameter=parameter)


def _error_of(response: httpx2.Response) -> dict[str, Any]:
    """The error object of a response body, which comes in several shapes; {} where there is none."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(body, dict):
        return {}
    error = body.get("error", body)
    if isinstance(error, dict):
        return error
    return {"message": error}


def wait_of(response: httpx2.Response) -> float | None:
    """Seconds to wait by the Retry-After header (a number or a date), at most LONGEST_WAIT; None without one."""
    text = response.headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(text)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        seconds = (moment - timezone.now()).total_seconds()
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT)


def without_secrets(text: str, key: str) -> str:
    """`text` without the key and without anything that looks like one."""
    if len(key) > 4:
        text = text.replace(key, "…")
    return _SECRETS.sub("…", text)

"""A chat endpoint that speaks HTTP on loopback and does what a test tells it to, faults included.

with ScriptedEndpoint("Verdict: YES") as endpoint: ...              # always this reply
with ScriptedEndpoint(lambda request: "Score: 3") as endpoint: ...  # a reply, or a `Play`, for each request
endpoint.play(Play(status=429, headers={"Retry-After": "2"}), "Verdict: NO")  # in turn; the last one stays
"""

from __future__ import annotations

import json
import math
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """What arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body["messages"])

    @property
    def prompt(self) -> str:
        return "\n\n".join(message["content"] for message in self.messages)


@dataclass(frozen=True)
class Play:
    """What to send back: a chat reply with `text`, or `raw` bytes, or a fault."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    refusal: str = ""  # said in the place of a text
    finish_reason: str = "stop"
    logprobs: list[dict[str, float]] | None = None  # of each token: its alternatives with their log probabilities
    usage: dict[str, Any] | None = field(
        default_factory=lambda: {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 60},
        }
    )
    latency: float = 0.0  # seconds before the answer
    reset: bool = False  # break the connection instead of answering
    hang: bool = False  # answer nothing until the endpoint closes
    drip: bool = False  # send the headers and then one byte at a time, without an end


def error(status: int, message: str = "", code: str = "", param: str = "", **headers: str) -> Play:
    """An error in the shape that OpenAI gives it. Underscores in header names stand for hyphens."""
    body = {"error": {"message": message, "code": code, "param": param, "type": "error"}}
    return Play(
        status=status,
        raw=json.dumps(body).encode(),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def chances(*tokens: dict[str, float]) -> list[dict[str, float]]:
    """Log probabilities for `Play.logprobs`, from the probabilities of each token's alternatives, all above 0."""
    return [{word: math.log(chance) for word, chance in alternatives.items()} for alternatives in tokens]


TOO_MANY = error(429, "Slow down.")
TOO_MANY_FOR_A_SECOND = error(429, "Slow down.", Retry_After="1")
OUT_OF_ORDER = error(500, "Something broke.")
BAD_GATEWAY = Play(status=502, raw=b"<html>Bad gateway</html>")
WRONG_KEY = error(401, "Incorrect API key provided: sk-very-secret-key")
UNKNOWN_MODEL = error(404, "The model does not exist.", code="model_not_found")
RESET = Play(reset=True)
HANG = Play(hang=True)
DRIP = Play(drip=True)
EMPTY_BODY = Play(raw=b"")
INVALID_JSON = Play(raw=b'{"choices": [')
NO_CHOICES = Play(raw=b'{"choices": []}')
EMPTY_REPLY = Play("")
CUT_OFF = Play("Analysis: it begins well, and then it", finish_reason="length")
REFUSAL = Play(refusal="I am sorry, but I cannot help with that.")
WRONG_LANGUAGE = Play("Ответ хорошо написан и полностью соответствует заданию.")
WRONG_SCHEMA = Play('{"grade": "excellent", "comments": ["well done"], "passed": {"maybe": null}}')

# Answers that hold no reply: the call failed, and may work when it is asked again.
NO_REPLY = {
    "too many": TOO_MANY,
    "too many for a second": TOO_MANY_FOR_A_SECOND,
    "out of order": OUT_OF_ORDER,
    "bad gateway": BAD_GATEWAY,
    "reset": RESET,
    "hang": HANG,
    "drip": DRIP,
    "empty body": EMPTY_BODY,
    "invalid JSON": INVALID_JSON,
    "no choices": NO_CHOICES,
    "empty reply": EMPTY_REPLY,
}
# Replies that hold no verdict, whatever was asked.
NO_VERDICT = {
    "cut off": CUT_OFF,
    "refusal": REFUSAL,
    "wrong language": WRONG_LANGUAGE,
    "wrong schema": WRONG_SCHEMA,
}

Script = str | Play | Callable[[Request], "str | Play"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # as many calls may come at once

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, as one does that is killed or has waited long enough, is no news."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class ScriptedEndpoint:
    """The endpoint, serving from `with` on. `requests` keeps what arrived, in order."""

    def __init__(self, *script: Script) -> None:
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._script: list[Script] = list(script) or ["Verdict: YES"]
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                if len(body) < length:  # the client was killed while it asked
                    self.close_connection = True
                    return
                request = Request(self.path, dict(self.headers), json.loads(body))
                endpoint._answer(self, request, endpoint._next(request))

            def log_message(self, *arguments: Any) -> None:
                """Requests are kept, not printed."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def play(self, *script: Script) -> None:
        """Replace what is still to be played."""
        with self._lock:
            self._script = list(script)

    def prompts(self) -> Counter[str]:
        """How often each prompt arrived."""
        with self._lock:
            return Counter(request.prompt for request in self.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _next(self, request: Request) -> Play:
        with self._lock:
            self.requests.append(request)
            script = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        played = script(request) if callable(script) else script
        return Play(played) if isinstance(played, str) else played

    def _answer(self, handler: BaseHTTPRequestHandler, request: Request, play: Play) -> None:
        if play.latency:
            self._closing.wait(play.latency)
        if play.reset:
            # Closing with linger zero sends a reset instead of an orderly end.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
            handler.close_connection = True
            return
        if play.hang:
            self._closing.wait()
            handler.close_connection = True
            return
        if play.drip:
            self._drip(handler)
            return
        raw = play.raw if play.raw is not None else self._chat(request, play)
        handler.send_response(play.status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            **play.headers,
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(raw)

    def _drip(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.close_connection = True
        try:
            while not self._closing.wait(0.02):
                handler.wfile.write(b" ")
        except OSError:
            return

    @staticmethod
    def _chat(request: Request, play: Play) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": play.text}
        if play.refusal:
            message |= {"content": None, "refusal": play.refusal}
        choice: dict[str, Any] = {"index": 0, "finish_reason": play.finish_reason, "message": message}
        if play.logprobs is not None:
            choice["logprobs"] = {"content": [_token(listed) for listed in play.logprobs]}
        body: dict[str, Any] = {
            "id": "scripted",
            "object": "chat.completion",
            "created": 0,
            "model": request.body.get("model"),
            "choices": [choice],
        }
        if play.usage is not None:
            body["usage"] = play.usage
        return json.dumps(body).encode()


def _token(alternatives: dict[str, float]) -> dict[str, Any]:
    """One token of a reply, the likeliest of its alternatives, in the shape that OpenAI gives it."""
    listed = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in alternatives.items()]
    chosen = max(listed, key=lambda entry: float(str(entry["logprob"])), default={"token": "", "logprob": 0.0})
    return {**chosen, "top_logprobs": listed}

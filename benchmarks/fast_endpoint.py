"""A chat endpoint of a process of its own that answers every call after a fixed time, for benchmarks of the engine.

    python benchmarks/fast_endpoint.py PORT_FILE [--latency SECONDS] [--reply TEXT]

It writes its port to the file, and answers GET /counts with how many calls came, how many prompts came more than once,
and the most that were under way at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any


class Endpoint(asyncio.Protocol):
    latency = 0.2
    reply = "Analysis: fine.\nVerdict: YES"
    prompts: Counter[int] = Counter()
    under_way = most_under_way = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end].lower()
            length = 0
            if (at := head.find(b"content-length:")) >= 0:
                length = int(head[at + 15 :].split(b"\r\n", 1)[0])
            if len(self.received) < end + 4 + length:
                return
            body = self.received[end + 4 : end + 4 + length]
            self.received = self.received[end + 4 + length :]
            if head.startswith(b"get"):
                self._send(json.dumps(self.counts()).encode())
            else:
                kind = type(self)
                kind.prompts[hash(body)] += 1
                kind.under_way += 1
                kind.most_under_way = max(kind.most_under_way, kind.under_way)
                asyncio.get_running_loop().call_later(self.latency, self._answer)

    @classmethod
    def counts(cls) -> dict[str, int]:
        return {
            "calls": cls.prompts.total(),
            "repeated": sum(number - 1 for number in cls.prompts.values()),
            "most_under_way": cls.most_under_way,
        }

    def _answer(self) -> None:
        type(self).under_way -= 1
        message = {"role": "assistant", "content": self.reply}
        body = {
            "id": "chatcmpl-benchmark",
            "object": "chat.completion",
            "created": 0,
            "model": "benchmark",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 400, "completion_tokens": 12, "total_tokens": 412},
        }
        self._send(json.dumps(body).encode())

    def _send(self, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


async def serve(port_file: Path) -> None:
    server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", 0)
    port_file.write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description="A chat endpoint that answers after a fixed time.")
    options.add_argument("port_file", type=Path)
    options.add_argument("--latency", type=float, default=Endpoint.latency)
    options.add_argument("--reply", default=Endpoint.reply)
    given = options.parse_args()
    Endpoint.latency, Endpoint.reply = given.latency, given.reply
    asyncio.run(serve(given.port_file))

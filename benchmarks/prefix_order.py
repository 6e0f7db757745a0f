"""How many prompt tokens the packaged model really evaluates, by the order in which a checklist is asked.

    .venv/bin/python benchmarks/prefix_order.py [--items N]

It asks the questions of the sample project (`rocketeval`, one token each) in three ways, each at a freshly started
model: as Concord does (the questions of a response next to each other, the question last in the prompt); the same
prompts question by question over all responses; and with the question first in the prompt. Evaluated tokens are those
of the prompt less those that the server had cached, both from its usage figures. Exit code 1 if the target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

MOST_SHARE = 0.5
Prompt = list[dict[str, str]]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--items", type=int, default=8)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "CONCORD_VAR_DIR": folder, "DEBUG": "true"}
        import django

        django.setup()
        by_response = prompts(given.items)
        beside = [prompt for asked in by_response for prompt in asked]
        by_question = [prompt for asked in zip_longest(*by_response) for prompt in asked if prompt]
        first = [question_first(prompt) for prompt in by_question]
        print(f"{len(beside)} calls about {len(by_response)} responses")
        print("| order | prompt tokens | evaluated | share |\n|---|---|---|---|", flush=True)
        evaluated = []
        for name, order in (
            ("questions of a response together, question last", beside),
            ("question by question, question last", by_question),
            ("question by question, question first", first),
        ):
            sent, cached = ask_all(order)
            evaluated.append(sent - cached)
            print(f"| {name} | {sent:,} | {sent - cached:,} | {(sent - cached) / sent:.1%} |", flush=True)
    share = evaluated[0] / evaluated[2]
    sound = share <= MOST_SHARE
    print(f"\nTogether / question first: {share:.2f} of the evaluated tokens, at most {MOST_SHARE} wanted.")
    return 0 if sound else 1


def prompts(items: int) -> list[list[Prompt]]:
    """The prompts about each response of the first items of the sample, as the protocol makes them."""
    from annotate.models import Item, Question, Response, Round
    from judging.models import Call
    from judging.prompts import template
    from judging.protocols import PROTOCOLS, Setup

    protocol = PROTOCOLS["rocketeval"]
    setup = Setup(template("rocketeval"), Round())
    lines = (ROOT / "annotate/sample/items.jsonl").read_text(encoding="utf-8").splitlines()
    found = []
    for row in map(json.loads, lines[:items]):
        item = Item(instruction=row["instruction"], reference=row.get("reference", ""))
        for said in row["responses"]:
            response = Response(item=item, system=said["system"], text=said["text"])
            calls = [
                Call(item=item, response=response, question=Question(text=text))
                for text in row["checklist"]["questions"]
            ]
            found.append([protocol.messages(call, setup) for call in calls])
    return found


def question_first(prompt: Prompt) -> Prompt:
    """The same prompt with the fenced question before the other texts of the last message."""
    *before, last = prompt
    fenced = re.search(r"@@@ QUESTION STARTS @@@\n.*?\n@@@ QUESTION ENDS @@@\n*", last["content"], re.DOTALL)
    assert fenced
    rest = last["content"].replace(fenced[0], "", 1)
    return [*before, {**last, "content": f"{fenced[0].strip()}\n\n{rest}"}]


def ask_all(order: list[Prompt]) -> tuple[int, int]:
    """Prompt tokens, and how many of them were cached, at a model that starts now."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port = trial.getsockname()[1]
    command = [sys.executable, "manage.py", "serve_model", "--port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        server.stdout.readline()  # it says that it is ready
        return asyncio.run(ask_in_turn(f"http://127.0.0.1:{port}/v1", order))
    finally:
        server.terminate()
        server.wait()


async def ask_in_turn(base_url: str, order: list[Prompt]) -> tuple[int, int]:
    from judging import local_model
    from judging.client import Endpoint, ask

    sent = cached = 0
    async with Endpoint(base_url, local_model.NAME, "none", timeout=120) as endpoint:
        for prompt in order:
            reply = await ask(endpoint, prompt, {"temperature": 0, "max_tokens": 1})
            sent, cached = sent + reply.input_tokens, cached + reply.cached_tokens
    return sent, cached


if __name__ == "__main__":
    sys.exit(main())

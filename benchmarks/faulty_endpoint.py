"""A chat endpoint of a process of its own that fails as often as it is told to, and knows what it played to whom.

    python benchmarks/faulty_endpoint.py [--latency SECONDS] [--faults SHARE] [--seed NUMBER]

It writes its base URL as its first line. Then it answers each line that it reads: to `count` with the number of
requests so far, to anything else with all of them as JSON: {prompt hash: [[name of what was played, moment of the
answer or null], ...]}. It ends with its input. A share of the requests (0 to 1) gets a fault that
`tests.scripted_endpoint` names, or a reply whose last verdict is not its first; which one depends on the seed, the
prompt and how often it was asked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.scripted_endpoint import NO_REPLY, NO_VERDICT, Play, Request, ScriptedEndpoint

SOUND = "sound"
# Replies that say one verdict and then another: the last one counts.
CHANGED_MINDS = {
    "two verdicts": "Verdict: {other}\nOn a second look that is wrong.\nVerdict: {answer}",
    "duplicate keys": '{{"verdict": "{other}", "verdict": "{answer}"}}',
    "injected verdict": 'The text says "Verdict: {other}" by itself:\nVerdict: {other}\n\nMy own verdict: {answer}',
}
FAULTS = [*NO_REPLY, *NO_VERDICT, *CHANGED_MINDS]


def hash_of(messages: Sequence[dict[str, str]]) -> str:
    """What a prompt is known by."""
    return hashlib.sha256(json.dumps(list(messages), sort_keys=True).encode()).hexdigest()


def answer_to(prompt: str) -> str:
    """The answer that this endpoint gives to a prompt, by its hash: "YES" or "NO"."""
    return "YES" if int(prompt, 16) % 2 else "NO"


def expected(played: str, prompt: str) -> str:
    """The state of the verdict on a call to which this was played last: "yes", "no", "unparsed" or "error"."""
    if played in NO_REPLY:
        return "error"
    return "unparsed" if played in NO_VERDICT else answer_to(prompt).lower()


class Player:
    """Decides what is played, and writes it down."""

    def __init__(self, latency: float, faults: float, seed: int) -> None:
        self.latency, self.faults, self.seed = latency, faults, seed
        self.played: defaultdict[str, list[list[Any]]] = defaultdict(list)
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Play:
        prompt = hash_of(request.messages)
        with self._lock:
            chance = random.Random(f"{self.seed} {prompt} {len(self.played[prompt])}")
            name = chance.choice(FAULTS) if chance.random() < self.faults else SOUND
            entry: list[Any] = [name, None]
            self.played[prompt].append(entry)
        time.sleep(self.latency)
        entry[1] = time.time()
        return self._play(name, prompt)

    def _play(self, name: str, prompt: str) -> Play:
        known = NO_REPLY | NO_VERDICT
        if name in known:
            return known[name]
        answer = answer_to(prompt)
        text = CHANGED_MINDS.get(name, "Analysis: it was read with care.\nVerdict: {answer}")
        return Play(text.format(answer=answer, other="NO" if answer == "YES" else "YES"))

    def told(self, wanted: str) -> object:
        with self._lock:
            return sum(map(len, self.played.values())) if wanted == "count" else dict(self.played)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--latency", type=float, default=0.0)
    options.add_argument("--faults", type=float, default=0.0)
    options.add_argument("--seed", type=int, default=42)
    player = Player(**vars(options.parse_args()))
    with ScriptedEndpoint(player) as endpoint:
        print(endpoint.base_url, flush=True)
        for line in sys.stdin:
            print(json.dumps(player.told(line.strip())), flush=True)

"""How long `manage.py measure` takes, and how much memory, for files of about a million rows.

Run it with the project's Python from the repository:

    .venv/bin/python benchmarks/measure_speed.py

It writes files of random data into a temporary folder, measures each in a process of its own, and prints one
table. Times are those of the processor, so that other programs do not count. It ends with exit code 1 if a
kind takes more than two minutes or more than 2 GB.
"""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_SECONDS, MOST_MEGABYTES = 120, 2000
UNITS = 333_333


def labels(draw: random.Random) -> Iterator[str]:
    yield "unit,rater,value"
    for unit in range(UNITS):
        truth = draw.randint(1, 5)
        for rater in "abc":
            yield f"unit {unit},{rater},{min(5, max(1, truth + draw.randint(-1, 1)))}"


def preferences(draw: random.Random) -> Iterator[str]:
    yield "unit,rater,value"
    for unit in range(UNITS):
        for rater in ("ann", "bob", "judge"):
            yield f"pair {unit},{rater},{draw.choice(('win', 'tie', 'loss'))}"


def scores(draw: random.Random) -> Iterator[str]:
    yield "group,unit,x,y"
    for row in range(3 * UNITS):
        x = draw.gauss(0, 1)
        yield f"instruction {row // 20},system {row % 20},{x:.3f},{x + draw.gauss(0, 1):.3f}"


def matches(draw: random.Random) -> Iterator[str]:
    yield "system_a,system_b,winner"
    for _ in range(3 * UNITS):
        first, second = draw.sample(range(20), 2)
        yield f"system {first},system {second},{draw.choice('aab' if first < second else 'abb')}"


def votes(draw: random.Random) -> Iterator[str]:
    yield "unit,source,value"
    for unit in range(UNITS // 5):
        yield f"pair {unit},gold,a"
        for source, number in (("plain", 10), ("checklist", 4)):
            for _ in range(number):
                yield f"pair {unit},{source},{draw.choice('aaab')}"


def estimates(draw: random.Random) -> Iterator[str]:
    yield "unit,human,judge"
    for unit in range(3 * UNITS):
        judge = draw.gauss(3, 1)
        yield f"unit {unit},{judge + draw.gauss(0, 1) if unit % 100 == 0 else '':.5},{judge:.3f}"


RUNS: list[tuple[str, Callable[[random.Random], Iterator[str]], list[str]]] = [
    ("alpha", labels, ["--level", "ordinal", "--interval", "bca"]),
    ("kappa", labels, ["--weights", "quadratic"]),
    ("alttest", labels, ["--judge", "c"]),
    ("pld", preferences, ["--judge", "judge"]),
    ("correlation", scores, ["--coefficient", "spearman", "--replicates", "100"]),
    ("ranking", matches, []),
    ("selective", votes, []),
    ("ppi", estimates, []),
]


def measured(kind: str, path: Path, options: list[str]) -> tuple[float, float]:
    """Seconds of the processor, and megabytes, of one run."""
    command = [sys.executable, str(ROOT / "manage.py"), "measure", kind, str(path), *options, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{kind} ended with exit code {os.waitstatus_to_exitcode(status)}.")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


if __name__ == "__main__":
    sound = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        for kind, make, options in RUNS:
            rows = -1
            with path.open("w", encoding="utf-8") as file:
                for line in make(random.Random(42)):
                    file.write(line + "\n")
                    rows += 1
            took, memory = measured(kind, path, options)
            reached = took <= MOST_SECONDS and memory <= MOST_MEGABYTES
            sound &= reached
            what = " ".join([kind, *options])
            print(f"{what:<52} {rows:>10,} rows {took:>8.1f} s {memory:>8.0f} MB {'' if reached else 'MISSED'}")
    sys.exit(0 if sound else 1)

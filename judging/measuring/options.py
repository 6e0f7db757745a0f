"""Options that several kinds share, and the checks of their values."""

import argparse
import math
from collections.abc import Callable, Iterable
from typing import Any

from judging.agreement import METHODS, MISSING_POLICIES
from judging.measuring.problems import BadInput, quoted
from judging.measuring.table import Scale


def between(low: float, high: float, *, closed: bool = False) -> Callable[[str], float]:
    """An argument type: a number between two limits."""

    def read(text: str) -> float:
        number = _float(text)
        inside = low <= number <= high if closed else low < number < high
        if not inside:
            raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number between {low:g} and {high:g}")
        return number

    return read


def whole(low: int, high: int) -> Callable[[str], int]:
    """An argument type: a whole number from low to high."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{quoted(text)} is not a whole number from {low:,} to {high:,}")
        return int(text)

    return read


def finite(text: str) -> float:
    """An argument type: a finite number."""
    number = _float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a finite number")
    return number


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def add_interval(parser: argparse.ArgumentParser, *, methods: bool = True, draws: bool = True) -> None:
    """--confidence, --seed and --replicates where something is drawn, and --interval where there is a choice."""
    if methods:
        parser.add_argument(
            "--interval",
            choices=METHODS,
            default="jackknife",
            help="how the interval over units is made: jackknife-t (default), percentile or BCa bootstrap",
        )
    parser.add_argument(
        "--confidence", type=between(0, 1), default=0.95, metavar="C", help="of the interval, default 0.95"
    )
    if draws:
        parser.add_argument(
            "--replicates", type=whole(2, 1_000_000), default=1000, metavar="N", help="of a bootstrap, default 1000"
        )
        parser.add_argument(
            "--seed", type=whole(0, 2**63 - 1), default=42, metavar="N", help="of a bootstrap, default 42"
        )


def interval_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The interval options as keyword arguments of the agreement functions."""
    names = {"method": "interval", "confidence": "confidence", "seed": "seed", "replicates": "replicates"}
    return {name: getattr(options, option) for name, option in names.items() if hasattr(options, option)}


def add_scale(parser: argparse.ArgumentParser, *, values: bool = True) -> None:
    """--scale, and --values where labels may be words. A label off the scale is then refused."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--scale", nargs=2, type=finite, metavar=("LOW", "HIGH"), help="the lowest and the highest value of the scale"
    )
    if values:
        group.add_argument("--values", metavar="A,B,C", help="all values of the scale, from low to high")


def scale_of(options: argparse.Namespace) -> Scale:
    """The declared scale. Raises BadInput if it cannot be one."""
    if options.scale is not None:
        low, high = options.scale
        if low >= high:
            raise BadInput(f"--scale: {low:g} is not below {high:g}.")
        return Scale(limits=(low, high))
    listed = getattr(options, "values", None)
    if listed is None:
        return Scale()
    values = tuple(value.strip() for value in listed.split(","))
    if len(values) < 2 or "" in values or len(set(values)) < len(values):
        raise BadInput("--values: name at least two different values, with commas between them.")
    return Scale(values=values)


def add_missing(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument("--missing", choices=MISSING_POLICIES, default="exclude", help=meaning)


def add_judge(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--judge", required=required, metavar="RATER", help="the rater who is not one of the people")


def joined(*sentences: str | None) -> list[str]:
    """The sentences that there are."""
    return [sentence for sentence in sentences if sentence]


def plural(number: int, one: str, many: Iterable[str] | str) -> str:
    """ "1 unit was", "3 units were"."""
    return f"{number:,} {one if number == 1 else many}"

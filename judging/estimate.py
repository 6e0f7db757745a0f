"""What drafted runs would send, and about what it would take, before anything is stored or sent.

Numbers of calls are exact. Tokens, money and time are estimated from the filled prompts of a seeded sample of the
calls, and from what the judge reported of its earlier calls.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Avg, Count, Q, Sum
from django.utils.translation import gettext as _

from judging import claims, tokens, units
from judging.methods import Judging, setup_of
from judging.models import Call, Judge, Run
from judging.prompts import Message
from judging.protocols import PROTOCOLS, Unit
from judging.runs import PlanError
from judging.spending import MILLION, most_cost

SAMPLED = 50  # planned calls whose prompts are filled
LOOKED_BACK = 200  # earlier calls of a judge that tell how it counts, and how long its replies are


@dataclass(frozen=True)
class Estimate:
    """What one judge's run would take, beyond the calls that were answered before; None where nothing tells.

    cached         share of the sampled calls that were answered before
    cost           US dollars, about
    most_cost      with a token for every byte of the prompts and every reply as long as the judge may write, or the
                   run's limit where that is less
    seconds        at the pace of earlier calls, so many at the same time as the judge takes, and within its limits
    assumptions    where the numbers come from, in sentences
    """

    run: Run
    input_tokens: int
    output_tokens: int | None
    cached: float
    cost: Decimal | None
    most_cost: Decimal
    seconds: float | None
    assumptions: Sequence[str]

    @property
    def priced(self) -> bool:
        judge = self.run.judge
        return bool(judge.input_price or judge.output_price or judge.cached_input_price or judge.hour_price)


@dataclass(frozen=True)
class Plan:
    """What the drafted runs of a panel would send; they differ in nothing but their judge. Calls are those of one run.

    left_out       sentences
    prompt         of the first call
    fingerprint    of all that was chosen and counted: another one means that something has changed since
    """

    calls: int
    units: int
    left_out: Sequence[str]
    prompt: Sequence[Message]
    estimates: Sequence[Estimate]
    fingerprint: str

    @property
    def all_calls(self) -> int:
        return self.calls * len(self.estimates)

    @property
    def cost(self) -> Decimal | None:
        """About, of all runs; None where that of one is unknown."""
        known = [estimate.cost for estimate in self.estimates if estimate.cost is not None]
        return sum(known, Decimal(0)) if len(known) == len(self.estimates) else None

    @property
    def most_cost(self) -> Decimal:
        """At most, of all runs."""
        return sum((estimate.most_cost for estimate in self.estimates), Decimal(0))

    @property
    def priced(self) -> bool:
        return any(estimate.priced for estimate in self.estimates)


def plan_of(drafts: Sequence[Run]) -> Plan:
    """Of drafted judging runs of several judges, as `runs.draft_panel` makes them. Raises PlanError where there is
    nothing to judge."""
    first = drafts[0]
    found, left_out = units.units_of(first)
    if not found:
        raise PlanError(units.why_none(first, left_out))
    sample = Sample.of(first, found)
    return Plan(
        calls=sample.calls,
        units=len(found),
        left_out=units.in_words(first, left_out),
        prompt=sample.prompts[0] if sample.prompts else [],
        estimates=[estimate(run, sample) for run in drafts],
        fingerprint=_fingerprint(drafts, sample.calls),
    )


@dataclass(frozen=True)
class Sample:
    """The number of calls that a run would plan, and some of them with their prompts, the first one first."""

    calls: int
    chosen: Sequence[Call]
    prompts: Sequence[Sequence[Message]]

    @classmethod
    def of(cls, run: Run, found: Sequence[Unit]) -> Sample:
        """Drawn by the run's seed: the first call, and each other one with the same chance."""
        protocol = PROTOCOLS[run.method]
        draw = random.Random(run.seed)
        calls, chosen = 0, list[Call]()
        for call in _planned(run, found):
            calls += 1
            if len(chosen) < SAMPLED:
                chosen.append(call)
            elif (place := draw.randrange(calls - 1)) < SAMPLED - 1:
                chosen[place + 1] = call
        setup = setup_of(run, protocol)
        return cls(calls, chosen, [protocol.messages(call, setup) for call in chosen])

    @property
    def tokens(self) -> float:
        """Tokens of one prompt, by counting letters."""
        return sum(tokens.likely(prompt) for prompt in self.prompts) / max(1, len(self.prompts))


def _planned(run: Run, found: Sequence[Unit]) -> Iterator[Call]:
    for unit in found:
        yield from PROTOCOLS[run.method].plan(unit, run.repeats)


def estimate(run: Run, sample: Sample) -> Estimate:
    """What the run of one judge would take, given a sample of its calls."""
    judge, protocol = run.judge, PROTOCOLS[run.method]
    method = Judging(run, protocol, setup_of(run, protocol))
    for call, prompt in zip(sample.chosen, sample.prompts, strict=True):
        call.prompt, call.parameters = list(prompt), method.parameters(call)
    counted, past, cached = _counted_by(judge), Past.of(run), _answered_before(run, sample)
    asked = sample.calls * (1 - cached) * past.turns
    input_tokens = asked * sample.tokens * (counted or 1.0)
    output_tokens = None if past.output is None else asked * past.output
    bounds = [most_cost(call, judge) for call in sample.chosen]
    bound = sum(bounds, Decimal(0)) / max(1, len(bounds)) * sample.calls * protocol.turns
    if run.spending_cap is not None:
        bound = min(bound, run.spending_cap)
    about = _cost(judge, past, asked, input_tokens, output_tokens)
    return Estimate(
        run=run,
        input_tokens=round(input_tokens),
        output_tokens=None if output_tokens is None else round(output_tokens),
        cached=cached,
        cost=None if about is None else min(about, bound),
        most_cost=bound,
        seconds=_seconds(judge, past, asked, input_tokens + (output_tokens or 0)),
        assumptions=_assumptions(judge, sample, counted, past, cached),
    )


@dataclass(frozen=True)
class Past:
    """What earlier calls of a judge by the same protocol were like; None where there were none.

    output, latency    mean tokens of a reply, mean seconds of a call
    cached             share of the input tokens that the endpoint had in its cache
    turns              calls to one planned call
    """

    calls: int = 0
    output: float | None = None
    latency: float | None = None
    cached: float = 0.0
    turns: float = 1.0

    @classmethod
    def of(cls, run: Run) -> Past:
        same = Run.objects.filter(judge=run.judge, kind=run.kind, method=run.method).only("pk", "options")
        analysis = run.options.get("analysis", True)
        alike = [one.pk for one in same if one.options.get("analysis", True) == analysis]
        done = Call.objects.filter(run__in=alike, state=Call.State.DONE, from_cache=False, attempts=1)
        newest = done.order_by("-pk").values_list("pk", flat=True)[:LOOKED_BACK]
        found = Call.objects.filter(pk__in=list(newest)).aggregate(
            n=Count("pk"),
            output=Avg("output_tokens", filter=Q(output_tokens__gt=0)),
            latency=Avg("latency_ms"),
            input=Sum("input_tokens"),
            cached=Sum("cached_tokens"),
            follow=Count("pk", filter=Q(follows__isnull=False)),
        )
        if not found["n"]:
            return cls()
        return cls(
            calls=found["n"],
            output=found["output"],
            latency=None if found["latency"] is None else found["latency"] / 1000,
            cached=found["cached"] / found["input"] if found["input"] else 0.0,
            turns=found["n"] / max(1, found["n"] - found["follow"]),
        )


def _counted_by(judge: Judge) -> float | None:
    """How many tokens the endpoint counts for one that is counted by letters, from its earlier calls; None without."""
    told = Call.objects.filter(
        run__judge=judge, state=Call.State.DONE, from_cache=False, attempts=1, input_tokens__gt=0
    ).order_by("-pk")
    rows = [
        (counted, tokens.likely(prompt)) for counted, prompt in told.values_list("input_tokens", "prompt")[:SAMPLED]
    ]
    likely = sum(guessed for _, guessed in rows)
    return sum(counted for counted, _ in rows) / likely if likely else None


def _answered_before(run: Run, sample: Sample) -> float:
    """The share of the sampled calls whose very prompt was answered before, with the same parameters and repeat."""
    keys = [claims.cache_key(run.judge, call.parameters, call.prompt, call.repeat) for call in sample.chosen]
    known = Call.objects.filter(cache_key__in=keys, state=Call.State.DONE).exclude(reply="")
    answered = set(known.values_list("cache_key", flat=True))
    return sum(key in answered for key in keys) / max(1, len(keys))


def _seconds(judge: Judge, past: Past, calls: float, tokens: float) -> float | None:
    if past.latency is None:
        return None
    seconds = calls * past.latency / judge.concurrency
    if judge.requests_per_minute:
        seconds = max(seconds, calls * 60 / judge.requests_per_minute)
    if judge.tokens_per_minute:
        seconds = max(seconds, tokens * 60 / judge.tokens_per_minute)
    return seconds


def _cost(judge: Judge, past: Past, calls: float, input_tokens: float, output_tokens: float | None) -> Decimal | None:
    """By the judge's price table, as `Run.cost`; None where a price is set and what it is for is unknown."""
    if (judge.output_price and output_tokens is None) or (judge.hour_price and past.latency is None):
        return None
    fresh, cached = Decimal(input_tokens * (1 - past.cached)), Decimal(input_tokens * past.cached)
    tokens = fresh * judge.input_price + cached * judge.cached_input_price
    tokens += Decimal(output_tokens or 0) * judge.output_price
    hours = Decimal(calls * (past.latency or 0)) / 3600 / judge.concurrency
    return tokens / MILLION + hours * judge.hour_price


def _assumptions(judge: Judge, sample: Sample, counted: float | None, past: Past, cached: float) -> list[str]:
    longest = max((int(call.parameters.get("max_tokens", judge.max_tokens)) for call in sample.chosen), default=0)
    said = [_input(judge, sample, counted), _output(judge, past, longest)]
    if judge.hour_price and past.latency is None:
        sentence = _("%(judge)s is paid by the hour: about what it costs is unknown until it has run.")
        said.append(sentence % {"judge": judge})
    if cached:
        sentence = _("About %(share)s of the calls were answered before with the same prompt, and cost nothing.")
        said.append(sentence % {"share": f"{cached:.0%}"})
    said.append(_("Calls that have to be asked again come on top."))
    return said


def _input(judge: Judge, sample: Sample, counted: float | None) -> str:
    if sample.calls > len(sample.chosen):
        sentence = (
            _("Input: the prompts of %(number)d calls, in tokens as %(judge)s counted them before.")
            if counted
            else _(
                "Input: the prompts of %(number)d calls, with a token for four letters, or for one Chinese, Japanese "
                "or Korean letter."
            )
        )
    else:
        sentence = (
            _("Input: the prompts, in tokens as %(judge)s counted them before.")
            if counted
            else _("Input: the prompts, with a token for four letters, or for one Chinese, Japanese or Korean letter.")
        )
    return sentence % {"number": len(sample.chosen), "judge": judge}


def _output(judge: Judge, past: Past, longest: int) -> str:
    sentence = (
        _("Output: %(judge)s has not judged by this protocol yet; at most %(most)s tokens a reply.")
        if past.output is None
        else _("Output: as in %(calls)s earlier calls of %(judge)s by this protocol; at most %(most)s tokens a reply.")
    )
    return sentence % {"calls": f"{past.calls:,}", "judge": judge, "most": f"{longest:,}"}


def _fingerprint(drafts: Sequence[Run], calls: int) -> str:
    run = drafts[0]
    chosen = [
        [draft.judge.pk for draft in drafts],
        [run.method, run.round and run.round.pk, run.category, run.language, run.sample_size, run.checklist_policy],
        [run.repeats, run.options, run.prompt_version, str(run.spending_cap), calls],
    ]
    return hashlib.sha256(json.dumps(chosen, default=str, sort_keys=True).encode()).hexdigest()[:16]

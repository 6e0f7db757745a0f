from __future__ import annotations

import datetime
from collections import defaultdict
from decimal import Decimal
from itertools import product
from typing import NamedTuple

from django.db import models
from django.db.models import Count, Q, Sum
from django.utils.translation import gettext_lazy as _

from annotate.models import Checklist, Dimension, Item, Project, Question, Response, Round, User
from judging.models.judge import Judge


class RunQuerySet(models.QuerySet["Run"]):
    def unfinished(self) -> RunQuerySet:
        return self.filter(state=Run.State.RUNNING)


class Usage(NamedTuple):
    """Of calls that were really sent: tokens of input (cached ones included), cached input and output, and the
    milliseconds of waiting for replies."""

    input: int = 0
    cached: int = 0
    output: int = 0
    milliseconds: int = 0


class Run(models.Model):
    """A judge at work: a protocol that judges units, or a policy that writes checklists, planned as rows of calls."""

    class Kind(models.TextChoices):
        JUDGING = "judging", _("Judging")
        GENERATION = "generation", _("Checklist writing")

    NEWEST_CHECKLIST = "newest"

    class State(models.TextChoices):
        RUNNING = "running", _("Running")
        PAUSED = "paused", _("Paused")
        CANCELLED = "cancelled", _("Cancelled")
        FINISHED = "finished", _("Finished")

    project = models.ForeignKey(Project, models.PROTECT, related_name="runs")
    judge = models.ForeignKey(Judge, models.PROTECT, related_name="runs")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.JUDGING)
    method = models.CharField(max_length=40)  # the name of a protocol, or of a policy
    round = models.ForeignKey(Round, models.PROTECT, null=True, blank=True, related_name="runs")
    # Without a round, the units are the responses of the project's items, by these filters.
    category = models.CharField(_("only this category"), max_length=100, blank=True)
    language = models.CharField(_("only this language"), max_length=35, blank=True)
    sample_size = models.PositiveIntegerField(_("at most this many items"), null=True, blank=True)
    # "": the one that the round pins, else the newest approved; NEWEST_CHECKLIST: the newest approved in any case.
    checklist_policy = models.CharField(_("checklists written by"), max_length=40, blank=True)
    repeats = models.PositiveSmallIntegerField(default=1)
    options = models.JSONField(default=dict, blank=True)  # "analysis", "schema", "alternatives": see protocols.Setup
    prompt_version = models.CharField(max_length=64)  # content hash of the prompt template
    spending_cap = models.DecimalField(_("spend at most (USD)"), max_digits=10, decimal_places=4, null=True, blank=True)
    seed = models.PositiveIntegerField(default=42)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    pause_reason = models.CharField(max_length=500, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)  # since when no call of it was answered
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(condition=Q(repeats__gte=1, repeats__lte=100), name="run_repeats_in_range"),
            models.CheckConstraint(
                condition=Q(kind="judging") | Q(kind="generation", round=None),
                name="run_generation_has_no_round",
            ),
            models.CheckConstraint(
                condition=Q(spending_cap=None) | Q(spending_cap__gte=0), name="run_spending_cap_not_negative"
            ),
            models.CheckConstraint(
                condition=~Q(state="finished") | Q(finished_at__isnull=False), name="run_finish_dated"
            ),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk}: {self.method} by {self.judge}"

    def note_failing(self, since: datetime.datetime | None) -> None:
        """Remember since when no call was answered; None after an answer."""
        self.failing_since = since
        Run.objects.filter(pk=self.pk).update(failing_since=since)

    def progress(self) -> dict[str, int]:
        """Number of calls by state, and `total`."""
        return self.calls.progress_by_run()[self.pk]

    def usage(self) -> Usage:
        return self.calls.used_by_run()[self.pk]

    def cost(self, used: Usage | None = None) -> Decimal:
        """US dollars so far, from the judge's price table; of this usage, where given.

        Token prices are for a million. A judge paid by the hour is charged the time of its calls, shared by as many as
        go at the same time.
        """
        used = self.usage() if used is None else used
        judge = self.judge
        return (
            (used.input - used.cached) * judge.input_price
            + used.cached * judge.cached_input_price
            + used.output * judge.output_price
        ) / Decimal(1_000_000) + judge.hour_price * used.milliseconds / 3_600_000 / judge.concurrency


class CallQuerySet(models.QuerySet["Call"]):
    def progress_by_run(self) -> defaultdict[int, dict[str, int]]:
        """Numbers of these calls by state, and `total`, by run id. One query."""
        nothing = {**dict.fromkeys(Call.State.values, 0), "total": 0}
        found: defaultdict[int, dict[str, int]] = defaultdict(nothing.copy)
        for run, state, number in self.order_by().values_list("run", "state").annotate(n=Count("pk")):
            found[run][state] = number
            found[run]["total"] += number
        return found

    def used_by_run(self) -> defaultdict[int, Usage]:
        """What these calls used, by run id. One query."""
        sent = self.filter(from_cache=False).order_by().values_list("run")
        sums = sent.annotate(Sum("input_tokens"), Sum("cached_tokens"), Sum("output_tokens"), Sum("latency_ms"))
        return defaultdict(Usage, {run: Usage(*(number or 0 for number in numbers)) for run, *numbers in sums})


class Call(models.Model):
    """One planned question to the judge: claimed by a worker under a lease, asked, and kept with prompt and reply."""

    class State(models.TextChoices):
        PLANNED = "planned", _("Planned")
        LEASED = "leased", _("Being asked")
        DONE = "done", _("Answered")
        FAILED = "failed", _("Failed")

    run = models.ForeignKey(Run, models.CASCADE, related_name="calls")
    position = models.PositiveIntegerField()  # order of issue; calls that share a prompt prefix are neighbours
    item = models.ForeignKey(Item, models.PROTECT, related_name="calls")
    response = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="calls")
    other = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="+")
    order = models.CharField(max_length=2, blank=True)  # of a pair: "ab" or "ba"
    checklist = models.ForeignKey(Checklist, models.PROTECT, null=True, blank=True, related_name="calls")
    question = models.ForeignKey(Question, models.PROTECT, null=True, blank=True, related_name="calls")
    dimension = models.ForeignKey(Dimension, models.PROTECT, null=True, blank=True, related_name="calls")
    subdimension = models.CharField(max_length=80, blank=True)  # only the questions that belong to it are asked
    repeat = models.PositiveSmallIntegerField(default=1)
    follows = models.OneToOneField("self", models.CASCADE, null=True, blank=True, related_name="followed_by")

    state = models.CharField(max_length=8, choices=State.choices, default=State.PLANNED)
    leased_until = models.DateTimeField(null=True, blank=True)
    lease_token = models.CharField(max_length=32, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)  # back-off: nobody takes the call earlier
    attempts = models.PositiveSmallIntegerField(default=0)
    refusals = models.PositiveSmallIntegerField(default=0)  # times that the endpoint asked for fewer calls
    error = models.CharField(max_length=500, blank=True)  # in words, of the last attempt

    cache_key = models.CharField(max_length=64, blank=True, db_index=True)
    from_cache = models.BooleanField(default=False)
    prompt = models.JSONField(default=list, blank=True)  # the messages as sent
    parameters = models.JSONField(default=dict, blank=True)
    reply = models.TextField(blank=True)
    alternatives = models.JSONField(default=list, blank=True)  # of each of the first tokens: [[token, log probability]]
    reserved = models.DecimalField(max_digits=16, decimal_places=10, null=True, blank=True)  # USD it may cost at most
    finish_reason = models.CharField(max_length=40, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    written = models.OneToOneField(  # the checklist that a generation call wrote
        Checklist, models.PROTECT, null=True, blank=True, related_name="generated_by"
    )

    objects = CallQuerySet.as_manager()

    class Meta:
        ordering = ["run", "position"]
        indexes = [models.Index(fields=["run", "state", "position"], name="call_run_state_position")]
        constraints = [
            models.UniqueConstraint(fields=["run", "position"], name="call_position_once"),
            models.CheckConstraint(
                condition=Q(state="leased", leased_until__isnull=False) | (~Q(state="leased") & Q(leased_until=None)),
                name="call_lease_complete",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="call_failure_has_reason"),
            models.CheckConstraint(
                condition=Q(other=None, order="") | Q(other__isnull=False, order__in=["ab", "ba"]),
                name="call_pair_has_order",
            ),
        ]

    def __str__(self) -> str:
        return f"Call {self.position} of {self.run_id}"


class Sending(models.Model):
    """A call that was let through to a judge with limits, kept for a minute (see `judging.pacing`)."""

    judge = models.ForeignKey(Judge, models.CASCADE, related_name="sendings")
    call = models.ForeignKey(Call, models.CASCADE, related_name="sendings")
    at = models.DateTimeField()
    tokens = models.PositiveIntegerField()  # estimated; once it is answered, as the endpoint counted them

    class Meta:
        indexes = [models.Index(fields=["judge", "at"], name="sending_judge_at")]

    def __str__(self) -> str:
        return f"{self.call_id} to {self.judge}"


def _verdict_once() -> list[models.UniqueConstraint]:
    """One verdict per run, unit, question or dimension, repeat and order; NULLs are told apart because SQL holds them
    distinct."""
    constraints = []
    for pair, by in product((False, True), ("question", "dimension", "whole")):
        constraints.append(
            models.UniqueConstraint(
                fields=["run", "response", "repeat", *(["other", "order"] if pair else []), *([by] * (by != "whole"))],
                condition=Q(
                    other__isnull=not pair, question__isnull=by != "question", dimension__isnull=by != "dimension"
                ),
                name=f"verdict_once_{'pair' if pair else 'single'}_{by}",
            )
        )
    return constraints


class VerdictQuerySet(models.QuerySet["Verdict"]):
    def readable(self) -> VerdictQuerySet:
        """Verdicts that carry a value: an answer, a score or a preference."""
        return self.filter(state__in=["yes", "no", "na", "score", "preference"])


class Verdict(models.Model):
    """What a judge said about one unit in one repeat and order. A reply that could not be read is `unparsed`."""

    class State(models.TextChoices):
        YES = "yes", _("Yes")
        NO = "no", _("No")
        NA = "na", _("Not applicable")
        SCORE = "score", _("Score")
        PREFERENCE = "preference", _("Preference")
        UNPARSED = "unparsed", _("Unreadable")
        ERROR = "error", _("Failed")

    class Choice(models.TextChoices):
        """Of a pair, in the order in which it was shown; `judging.pairs.turned_back` makes it a win, tie or loss."""

        FIRST = "first", _("The first shown")
        SAME = "same", _("Neither")
        SECOND = "second", _("The second shown")

    run = models.ForeignKey(Run, models.CASCADE, related_name="verdicts")
    call = models.ForeignKey(Call, models.CASCADE, related_name="verdicts")
    response = models.ForeignKey(Response, models.PROTECT, related_name="verdicts")
    other = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="+")
    order = models.CharField(max_length=2, blank=True)
    question = models.ForeignKey(Question, models.PROTECT, null=True, blank=True, related_name="verdicts")
    dimension = models.ForeignKey(Dimension, models.PROTECT, null=True, blank=True, related_name="verdicts")
    repeat = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=10, choices=State.choices)
    score = models.FloatField(null=True, blank=True)
    choice = models.CharField(max_length=6, choices=Choice.choices, blank=True)
    probability = models.FloatField(null=True, blank=True)  # of yes, as a share of yes and no (paper 003, Eq. 1)
    captured = models.FloatField(null=True, blank=True)  # what yes and no have together of the probability mass
    created_at = models.DateTimeField(auto_now_add=True)

    objects = VerdictQuerySet.as_manager()

    class Meta:
        ordering = ["run", "call", "pk"]
        constraints = [
            *_verdict_once(),
            models.CheckConstraint(
                condition=Q(state="score", score__isnull=False) | (~Q(state="score") & Q(score=None)),
                name="verdict_score_only_when_read",
            ),
            models.CheckConstraint(
                condition=Q(question=None) | Q(state__in=["yes", "no", "na", "unparsed", "error"]),
                name="verdict_question_gets_answer",
            ),
            models.CheckConstraint(
                condition=Q(state="preference", other__isnull=False) & ~Q(choice="")
                | (~Q(state="preference") & Q(choice="")),
                name="verdict_choice_only_when_read",
            ),
            models.CheckConstraint(condition=Q(question=None) | Q(dimension=None), name="verdict_about_one_thing"),
            models.CheckConstraint(
                condition=Q(probability=None) | Q(probability__gte=0, probability__lte=1),
                name="verdict_probability_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.state} on {self.response}"

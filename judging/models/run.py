from __future__ import annotations

import datetime
from decimal import Decimal

from django.db import models
from django.db.models import Count, Q, Sum

from annotate.models import Checklist, Item, Project, Question, Response, Round, User
from judging.models.judge import Judge


class RunQuerySet(models.QuerySet["Run"]):
    def unfinished(self) -> RunQuerySet:
        return self.filter(state=Run.State.RUNNING)

    def with_progress(self) -> RunQuerySet:
        """Adds the numbers of calls: `n_calls`, `n_done` and `n_failed`."""
        return self.annotate(
            n_calls=Count("calls"),
            n_done=Count("calls", filter=Q(calls__state=Call.State.DONE)),
            n_failed=Count("calls", filter=Q(calls__state=Call.State.FAILED)),
        )

    def usages(self) -> dict[int, dict[str, int]]:
        """What `Run.usage` says of each of these runs that has sent a call, by run id. One query."""
        sent = Call.objects.filter(run__in=self, from_cache=False).order_by().values_list("run")
        sums = sent.annotate(Sum("input_tokens"), Sum("cached_tokens"), Sum("output_tokens"))
        return {run: dict(zip(("input", "cached", "output"), tokens, strict=True)) for run, *tokens in sums}


class Run(models.Model):
    """A judge at work: a protocol that judges units, or a policy that writes checklists, planned as rows of calls."""

    class Kind(models.TextChoices):
        JUDGING = "judging", "Judging"
        GENERATION = "generation", "Checklist writing"

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        CANCELLED = "cancelled", "Cancelled"
        FINISHED = "finished", "Finished"

    project = models.ForeignKey(Project, models.PROTECT, related_name="runs")
    judge = models.ForeignKey(Judge, models.PROTECT, related_name="runs")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.JUDGING)
    method = models.CharField(max_length=40)  # the name of a protocol, or of a policy
    round = models.ForeignKey(Round, models.PROTECT, null=True, blank=True, related_name="runs")
    repeats = models.PositiveSmallIntegerField(default=1)
    prompt_version = models.CharField(max_length=64)  # content hash of the prompt template
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
                condition=~Q(state="finished") | Q(finished_at__isnull=False), name="run_finish_dated"
            ),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk}: {self.method} by {self.judge}"

    def note_failing(self, since: datetime.datetime | None) -> None:
        """Remember since when no call was answered; None after an answer."""
        Run.objects.filter(pk=self.pk).update(failing_since=since)

    def progress(self) -> dict[str, int]:
        """Number of calls by state, and `total`."""
        counts = dict.fromkeys(Call.State.values, 0)
        counts |= dict(self.calls.values_list("state").annotate(n=Count("pk")).order_by())
        return {**counts, "total": sum(counts.values())}

    def usage(self) -> dict[str, int]:
        """Tokens of the calls that were really sent: input (cached ones included), cached input and output."""
        sums = self.calls.filter(from_cache=False).aggregate(
            input=Sum("input_tokens"), cached=Sum("cached_tokens"), output=Sum("output_tokens")
        )
        return {name: value or 0 for name, value in sums.items()}

    def cost(self, used: dict[str, int] | None = None) -> Decimal:
        """US dollars so far, from the judge's price table (rates per million tokens); of this usage, where given."""
        used = self.usage() if used is None else used
        judge = self.judge
        return (
            (used["input"] - used["cached"]) * judge.input_price
            + used["cached"] * judge.cached_input_price
            + used["output"] * judge.output_price
        ) / Decimal(1_000_000)


class Call(models.Model):
    """One planned question to the judge: claimed by a worker under a lease, asked, and kept with prompt and reply."""

    class State(models.TextChoices):
        PLANNED = "planned", "Planned"
        LEASED = "leased", "Being asked"
        DONE = "done", "Answered"
        FAILED = "failed", "Failed"

    run = models.ForeignKey(Run, models.CASCADE, related_name="calls")
    position = models.PositiveIntegerField()  # order of issue; calls that share a prompt prefix are neighbours
    item = models.ForeignKey(Item, models.PROTECT, related_name="calls")
    response = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="calls")
    other = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="+")
    order = models.CharField(max_length=2, blank=True)  # of a pair: "ab" or "ba"
    checklist = models.ForeignKey(Checklist, models.PROTECT, null=True, blank=True, related_name="calls")
    question = models.ForeignKey(Question, models.PROTECT, null=True, blank=True, related_name="calls")
    repeat = models.PositiveSmallIntegerField(default=1)

    state = models.CharField(max_length=8, choices=State.choices, default=State.PLANNED)
    leased_until = models.DateTimeField(null=True, blank=True)
    lease_token = models.CharField(max_length=32, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)  # back-off: nobody takes the call earlier
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=500, blank=True)  # in words, of the last attempt

    cache_key = models.CharField(max_length=64, blank=True, db_index=True)
    from_cache = models.BooleanField(default=False)
    prompt = models.JSONField(default=list, blank=True)  # the messages as sent
    parameters = models.JSONField(default=dict, blank=True)
    reply = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    written = models.OneToOneField(  # the checklist that a generation call wrote
        Checklist, models.PROTECT, null=True, blank=True, related_name="generated_by"
    )

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


def _verdict_once() -> list[models.UniqueConstraint]:
    """One verdict per run, unit, question, repeat and order; NULLs are told apart because SQL holds them distinct."""
    constraints = []
    for pair in (False, True):
        for asked in (False, True):
            fields = (
                ["run", "response", "repeat"] + (["other", "order"] if pair else []) + (["question"] if asked else [])
            )
            constraints.append(
                models.UniqueConstraint(
                    fields=fields,
                    condition=Q(other__isnull=not pair, question__isnull=not asked),
                    name=f"verdict_once_{'pair' if pair else 'single'}_{'question' if asked else 'whole'}",
                )
            )
    return constraints


class VerdictQuerySet(models.QuerySet["Verdict"]):
    def readable(self) -> VerdictQuerySet:
        """Verdicts that carry a value: an answer or a score."""
        return self.filter(Q(state__in=["yes", "no", "na"]) | Q(state="score"))


class Verdict(models.Model):
    """What a judge said about one unit in one repeat and order. A reply that could not be read is `unparsed`."""

    class State(models.TextChoices):
        YES = "yes", "Yes"
        NO = "no", "No"
        NA = "na", "Not applicable"
        SCORE = "score", "Score"
        UNPARSED = "unparsed", "Unreadable"
        ERROR = "error", "Failed"

    run = models.ForeignKey(Run, models.CASCADE, related_name="verdicts")
    call = models.ForeignKey(Call, models.CASCADE, related_name="verdicts")
    response = models.ForeignKey(Response, models.PROTECT, related_name="verdicts")
    other = models.ForeignKey(Response, models.PROTECT, null=True, blank=True, related_name="+")
    order = models.CharField(max_length=2, blank=True)
    question = models.ForeignKey(Question, models.PROTECT, null=True, blank=True, related_name="verdicts")
    repeat = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=8, choices=State.choices)
    score = models.FloatField(null=True, blank=True)
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
        ]

    def __str__(self) -> str:
        return f"{self.state} on {self.response}"

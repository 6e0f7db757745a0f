from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models import Question, Round
from judging.models.run import Run


class Ledger(models.Model):
    """The book of a round's live figures. Whoever moves its cells raises `revision` first, and so holds the row until
    the transaction ends: movers of one round queue here, and a revision that stands still means that nothing moved.

    questions   how many questions the round asks, each with a series of its own
    """

    round = models.OneToOneField(Round, models.CASCADE, related_name="ledger")
    revision = models.PositiveBigIntegerField(default=0)
    questions = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"Ledger of {self.round}"


class Series(models.Model):
    """One live figure of a round: of its people on one facet, or of a run of a judge beside them."""

    class Kind(models.TextChoices):
        SCORE = "score", _("Scores")
        PREFERENCE = "preference", _("Preferences")
        QUESTIONS = "questions", _("All questions pooled")
        QUESTION = "question", _("One question")

    # Percent agreement is at most 1, so an index puts questions without pairable labels last on every database.
    NOTHING_PAIRABLE = 2.0

    round = models.ForeignKey(Round, models.CASCADE, related_name="series")
    run = models.ForeignKey(Run, models.CASCADE, null=True, blank=True, related_name="series")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    question = models.ForeignKey(Question, models.CASCADE, null=True, blank=True, related_name="series")
    observed = models.FloatField(default=NOTHING_PAIRABLE)  # percent agreement of one question, to find the worst

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = _("series")
        indexes = [models.Index(fields=["round", "kind", "observed", "id"], name="series_worst_first")]
        constraints = [
            models.UniqueConstraint(
                fields=["round", "kind"], condition=Q(run=None, question=None), name="series_once_of_people"
            ),
            models.UniqueConstraint(
                fields=["round", "question"],
                condition=Q(run=None, question__isnull=False),
                name="series_once_per_question",
            ),
            models.UniqueConstraint(fields=["run", "kind"], condition=Q(run__isnull=False), name="series_once_per_run"),
            models.CheckConstraint(
                condition=Q(kind="question", question__isnull=False, run=None)
                | (~Q(kind="question") & Q(question=None)),
                name="series_question_named",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of round {self.round_id}" + (f", run {self.run_id}" if self.run_id else "")


class Cell(models.Model):
    """How many units of a series have one pattern of labels.

    pattern     the people's labels as counts of values, "yes:2,no:1"; "" where nobody has labelled the unit
    judge       in the series of a run: the judge's value of the unit, or why it has none ("pending"); else ""
    simulated   how many of the labels simulated annotators made
    units       units with just this; a pattern that was left by its last unit stays with 0
    """

    series = models.ForeignKey(Series, models.CASCADE, related_name="cells")
    pattern = models.CharField(max_length=500)
    judge = models.CharField(max_length=24)
    simulated = models.PositiveSmallIntegerField(default=0)
    units = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["series", "pattern", "judge", "simulated"], name="cell_once"),
            models.CheckConstraint(condition=Q(units__gte=0), name="cell_units_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.units} units with {self.pattern or 'no labels'}"


class Snapshot(models.Model):
    """The figures of a round at one moment, for the curve over time.

    figures     by "people/<kind>" and "run/<id>/<kind>": value, low, high, n_units, n_labels and missing of alpha
    """

    round = models.ForeignKey(Round, models.CASCADE, related_name="snapshots")
    taken_at = models.DateTimeField()
    revision = models.PositiveBigIntegerField()  # of the ledger, when the snapshot was taken
    figures = models.JSONField(default=dict)

    class Meta:
        ordering = ["round", "taken_at"]
        constraints = [models.UniqueConstraint(fields=["round", "revision"], name="snapshot_once_per_revision")]

    def __str__(self) -> str:
        return f"{self.round} at {self.taken_at:%Y-%m-%d %H:%M}"

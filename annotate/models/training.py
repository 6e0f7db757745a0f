from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.models.annotation import Annotation
from annotate.models.round import Round
from annotate.models.user import User


class Comparison(models.Model):
    """What an annotator submitted about a task with a key, beside what was expected then. A later change of the key
    changes nothing here."""

    annotation = models.ForeignKey(Annotation, models.CASCADE, related_name="comparisons")
    attempt = models.PositiveSmallIntegerField(default=1)  # of a qualification; of a gold unit always the first
    # Both as `annotate.contents.Content.as_json`; the comment of what is expected is the feedback.
    said = models.JSONField()
    expected = models.JSONField()
    met = models.PositiveSmallIntegerField()  # expected answers that were given
    of = models.PositiveSmallIntegerField()
    at = models.DateTimeField(auto_now=True)
    seen_at = models.DateTimeField(null=True, blank=True)  # when the annotator went on from the feedback

    class Meta:
        ordering = ["annotation", "attempt"]
        constraints = [
            models.UniqueConstraint(fields=["annotation", "attempt"], name="comparison_once_per_attempt"),
            models.CheckConstraint(
                condition=models.Q(of__gte=1, met__lte=models.F("of")), name="comparison_met_in_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.met} of {self.of}: {self.annotation}"


class Grant(models.Model):
    """The record of what a researcher gave an annotator in a training set: one more attempt, or the pass."""

    class What(models.TextChoices):
        ATTEMPT = "attempt", _("One more attempt")
        PASS = "pass", _("Passed by hand")

    round = models.ForeignKey(Round, models.CASCADE, related_name="grants")
    annotator = models.ForeignKey(User, models.PROTECT, related_name="grants")
    what = models.CharField(max_length=8, choices=What.choices)
    reason = models.CharField(max_length=500, blank=True)
    granted_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    granted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-granted_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.what} for {self.annotator} in {self.round}"

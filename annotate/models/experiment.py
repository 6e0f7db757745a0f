from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from annotate.models.project import Project
from annotate.models.user import User

if TYPE_CHECKING:
    from annotate.models.round import Round


class Experiment(models.Model):
    """Rounds that label the same units in different ways: its arms. Who works in which arm is drawn by the seed."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="experiments")
    name = models.CharField(_("name"), max_length=120)
    seed = models.PositiveIntegerField(_("seed"), default=42)
    # Without it people choose their rounds themselves.
    draws_arms = models.BooleanField(_("draw each annotator's arm at random"), default=True)
    same_unit_again = models.BooleanField(_("an annotator may see a unit in more than one arm"), default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="experiment_name_once")]

    def __str__(self) -> str:
        return self.name

    def arm_of(self, user: User) -> Round | None:
        """The round that this annotator works in, drawn when they first come; None while no arm is open.

        The draw is balanced: one of the arms with the fewest people, by the seed. A researcher's own placing is kept,
        as is a draw whose round is closed by now.
        """
        placed = self._placing_of(user)
        if placed is None:
            with transaction.atomic():
                # Held, so that of two draws the later one counts the earlier.
                Experiment.objects.select_for_update().get(pk=self.pk)
                placed = self._placing_of(user) or self._draw(user)
        return placed.round if placed else None

    def _placing_of(self, user: User) -> Placing | None:
        found: Placing | None = self.placings.filter(annotator=user).select_related("round").first()
        return found

    def _draw(self, user: User) -> Placing | None:
        arms = list(self.arms.filter(state="open").annotate(people=models.Count("placings")).order_by("people", "pk"))
        if not arms:
            return None
        fewest = [arm for arm in arms if arm.people == arms[0].people]  # type: ignore[attr-defined]
        digest = hashlib.sha256(f"{self.seed}:{self.pk}:{user.pk}".encode()).digest()
        chosen = fewest[int.from_bytes(digest[:8], "big") % len(fewest)]
        return self.placings.create(annotator=user, round=chosen, drawn=True)

    def place(self, user: User, round: Round) -> Placing:
        """Put an annotator into an arm by hand. Raises ValueError for a round that is no arm of this experiment."""
        if round.experiment_id != self.pk:
            raise ValueError(f"{round} is no arm of {self}.")
        placing, _made = self.placings.update_or_create(annotator=user, defaults={"round": round, "drawn": False})
        return placing


class Placing(models.Model):
    """Which arm of an experiment one annotator works in, and whether chance or a researcher decided so."""

    experiment = models.ForeignKey(Experiment, models.CASCADE, related_name="placings")
    annotator = models.ForeignKey(User, models.PROTECT, related_name="placings")
    round = models.ForeignKey("annotate.Round", models.PROTECT, related_name="placings")
    drawn = models.BooleanField()
    placed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["experiment", "annotator"]
        constraints = [
            models.UniqueConstraint(fields=["experiment", "annotator"], name="placing_once_per_annotator"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} in {self.round}"

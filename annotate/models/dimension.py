from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Count, F, Q

from annotate.models.project import Project, Scale

if TYPE_CHECKING:
    from annotate.models.checklist import Checklist


class DimensionQuerySet(models.QuerySet["Dimension"]):
    def active(self) -> DimensionQuerySet:
        return self.filter(archived=False)

    def with_drafts(self) -> DimensionQuerySet:
        """Adds the number of checklist drafts, `n_drafts`."""
        return self.annotate(n_drafts=Count("checklists", filter=Q(checklists__state="draft")))


class Dimension(Scale):
    """A quality that every response of a project can be judged on (naturalness, coherence), with its own scale.

    Its checklists are versioned like those of items; their questions are grouped by sub-dimension (paper 001).
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="dimensions")
    name = models.CharField(max_length=80)
    definition = models.TextField(max_length=2000)
    archived = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = DimensionQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="dimension_name_once"),
            models.CheckConstraint(condition=~Q(name="") & ~Q(definition=""), name="dimension_is_defined"),
            models.CheckConstraint(condition=Q(scale_high__gt=F("scale_low")), name="dimension_scale_rises"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_judged(self) -> bool:
        """Whether a run has scored responses on it: from then on its scale stays as it is."""
        return Dimension.objects.filter(pk=self.pk, calls__isnull=False).exists()

    @property
    def newest_checklist(self) -> Checklist | None:
        """The newest version that is not retired, a draft or an approved one."""
        return self.checklists.exclude(state="retired").order_by("-version").first()

    def archive(self) -> None:
        """Judge by it no more. Runs that did keep their verdicts."""
        self._set_archived(True)

    def restore(self) -> None:
        self._set_archived(False)

    def _set_archived(self, archived: bool) -> None:
        Dimension.objects.filter(pk=self.pk).update(archived=archived)
        self.archived = archived

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotate.models.project import Project, Scale


class Dimension(Scale):
    """A quality that every response of a project can be judged on (naturalness, coherence), with its own scale.

    Its checklists are versioned like those of items; their questions are grouped by sub-dimension (paper 001).
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="dimensions")
    name = models.CharField(max_length=80)
    definition = models.TextField(max_length=2000)
    archived = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="dimension_name_once"),
            models.CheckConstraint(condition=~Q(name="") & ~Q(definition=""), name="dimension_is_defined"),
            models.CheckConstraint(condition=Q(scale_high__gt=models.F("scale_low")), name="dimension_scale_rises"),
        ]

    def __str__(self) -> str:
        return self.name

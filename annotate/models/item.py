from __future__ import annotations

import random

from django.db import models
from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from annotate.models.project import Project


class ItemQuerySet(models.QuerySet["Item"]):
    def without_checklist(self, policy: str = "") -> ItemQuerySet:
        """Items that have no live (draft or approved) checklist, of this policy where one is named."""
        live = Q(checklists__state__in=["draft", "approved"])
        if policy:
            live &= Q(checklists__policy=policy)
        return self.exclude(pk__in=self.filter(live).values("pk"))

    def matching(self, text: str) -> ItemQuerySet:
        """Items whose external id or instruction contains the text, in any case."""
        return self.filter(Q(external_id__icontains=text) | Q(instruction__icontains=text))

    def chosen(self, category: str, language: str, sample_size: int | None, seed: int) -> list[Item]:
        """Items of this category and language ("" for all), at most `sample_size` of them, drawn by the seed."""
        found = self.filter(category=category) if category else self
        found = found.filter(language=language) if language else found
        items = list(found)
        if sample_size is None or sample_size >= len(items):
            return items
        keep = set(random.Random(seed).sample([item.pk for item in items], sample_size))
        return [item for item in items if item.pk in keep]

    def with_overview(self) -> ItemQuerySet:
        """Adds `n_responses`, `has_draft` and `has_approved` (checklists)."""
        responses = Response.objects.filter(item=OuterRef("pk")).order_by().values("item")
        same = Item.objects.filter(pk=OuterRef("pk"))
        return self.annotate(
            n_responses=Coalesce(Subquery(responses.values(n=Count("pk"))), 0),
            has_draft=Exists(same.filter(checklists__state="draft")),
            has_approved=Exists(same.filter(checklists__state="approved")),
        )


class Item(models.Model):
    """One instruction, with an optional conversation before it and an optional reference response."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="items")
    external_id = models.CharField(max_length=200)
    instruction = models.TextField()
    history = models.JSONField(default=list, blank=True)  # [{"role": "user" | "assistant", "content": str}]
    reference = models.TextField(blank=True)
    category = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=35, blank=True)  # BCP 47, "" where unknown
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "external_id"], name="item_external_id_once"),
            models.CheckConstraint(condition=~Q(instruction=""), name="item_has_instruction"),
            models.CheckConstraint(condition=~Q(external_id=""), name="item_has_external_id"),
        ]

    def __str__(self) -> str:
        return self.external_id


class Response(models.Model):
    """One system's text for an item. `system` is for researchers and curators alone: never for annotators."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="responses")
    system = models.CharField(max_length=100)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["item", "system"], name="response_once_per_system"),
            models.CheckConstraint(condition=~Q(text=""), name="response_has_text"),
            models.CheckConstraint(condition=~Q(system=""), name="response_has_system"),
        ]

    def __str__(self) -> str:
        return f"{self.item} by {self.system}"

from __future__ import annotations

from typing import Any

from django import forms

from annotate.models import Checklist, Item, Project, Round


class RoundForm(forms.ModelForm[Round]):
    """A round in draft. The scale is the project's at the time the round is made."""

    class Meta:
        model = Round
        fields = [
            "name",
            "kind",
            "overlap",
            "category",
            "language",
            "sample_size",
            "checklist_policy",
            "guidelines",
            "arm",
            "lease_minutes",
            "allow_na",
            "seed",
        ]
        widgets = {"guidelines": forms.Textarea(attrs={"rows": 8}), "kind": forms.RadioSelect}
        help_texts = {
            "name": "Annotators see it.",
            "overlap": "How many people label each response; never more than this are counted.",
            "sample_size": "Leave empty for all. Which ones are drawn follows from the seed.",
            "guidelines": "Markdown. Annotators can open it on every task.",
            "lease_minutes": "Every save holds the task for this long again; then it goes to the next person.",
            "seed": "Decides the sample and the order of the tasks.",
        }

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        items = Item.objects.filter(project=project)
        self._choose("category", "All categories", items.exclude(category="").values_list("category", flat=True))
        self._choose("language", "All languages", items.exclude(language="").values_list("language", flat=True))
        policies = Checklist.objects.approved().filter(item__project=project).values_list("policy", flat=True)
        self._choose("checklist_policy", "Anybody: the newest approved one", policies)
        self.fields["kind"].widget.choices = [
            (Round.Kind.CHECK_THEN_SCORE, "Check, then score: every question of the checklist, then a score"),
            (Round.Kind.DIRECT_SCORING, "Direct scoring: a score alone"),
        ]
        self.fields["overlap"].widget.attrs |= {"min": 1, "max": Round.MOST_OVERLAP}
        if self.instance.pk is None:
            self.instance.project = project
            self.instance.scale_low = project.scale_low
            self.instance.scale_high = project.scale_high
            self.instance.scale_anchors = project.scale_anchors
            self.initial.setdefault("guidelines", project.guidelines)

    def _choose(self, name: str, everything: str, values: Any) -> None:
        field = self.fields[name]
        field.widget = forms.Select(choices=[("", everything), *((value, value) for value in sorted(set(values)))])

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if Round.objects.filter(project=self.project, name=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError("Another round of this project has this name: choose a new one.")
        return name

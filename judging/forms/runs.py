"""What researchers write about runs."""

from __future__ import annotations

from typing import Any

from django import forms

from annotate.models import Project, Round
from judging.generators import POLICIES
from judging.models import Judge
from judging.protocols import PROTOCOLS
from judging.runs import MOST_REPEATS


class RunForm(forms.Form):
    """A judge, how it judges, and what."""

    judge = forms.ModelChoiceField(Judge.objects.none(), empty_label=None)
    protocol = forms.ChoiceField(label="How it judges", widget=forms.RadioSelect)
    round = forms.ModelChoiceField(
        Round.objects.none(), empty_label=None, help_text="The judge labels all responses of this round."
    )
    repeats = forms.IntegerField(
        label="Times to ask everything",
        min_value=1,
        max_value=MOST_REPEATS,
        initial=1,
        help_text="Answers give their majority, scores their mean. At temperature 0 repeats hardly differ.",
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _offer(self, "judge", Judge.objects.filter(project=project, archived=False))
        _offer(self, "round", Round.objects.filter(project=project).exclude(state=Round.State.DRAFT))
        _choose(self, "protocol", {name: _described(method) for name, method in PROTOCOLS.items()})


class GenerationForm(forms.Form):
    """A judge that writes checklists, and by which policy."""

    judge = forms.ModelChoiceField(Judge.objects.none(), label="Model that writes", empty_label=None)
    policy = forms.ChoiceField(label="How it writes", widget=forms.RadioSelect)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _offer(self, "judge", Judge.objects.filter(project=project, archived=False))
        _choose(self, "policy", {name: _described(method) for name, method in POLICIES.items()})


def _described(method: Any) -> str:
    return f"{method.title}. {method.description}"


def _offer(form: forms.Form, name: str, choices: Any) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)  # noqa: S101
    field.queryset = choices


def _choose(form: forms.Form, name: str, titles: dict[str, str]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)  # noqa: S101
    field.choices = list(titles.items())
    field.initial = next(iter(titles))

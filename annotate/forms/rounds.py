"""What a researcher writes about a round. Fields that do not apply to the chosen kind or purpose are hidden by the
page's script, and ignored here: they keep what they had."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.kinds import SHAPES, Kind
from annotate.models import Checklist, Experiment, Item, Project, Response, Round

LONGEST_ANCHOR = 200
MOST_SCORES = Round.LONGEST
MOST = {
    "overlap": Round.MOST_OVERLAP,
    "pass_mark": 100,
    "attempts": 20,
    "gold_percent": Round.MOST_GOLD,
    "lease_minutes": 7 * 24 * 60,
}

# What a field needs of the round: a part of its kind, its unit, its purpose, or that it can have expected answers.
KEYED, LABELS = "keyed", str(Round.Purpose.LABELS)
NEEDS: dict[str, tuple[str, ...]] = {
    "scale_low": ("score",),
    "scale_high": ("score",),
    "baseline": ("pair",),
    "checklist_policy": ("questions",),
    "allow_na": ("questions",),
    "allow_unsure": ("questions",),
    "purpose": (KEYED,),
    "overlap": (LABELS,),
    "reveal": (LABELS,),
    "qualification": (LABELS, KEYED),
    "pass_mark": (LABELS, KEYED),
    "attempts": (LABELS, KEYED),
    "gold": (LABELS, KEYED),
    "gold_percent": (LABELS, KEYED),
    "experiment": (LABELS,),
    "arm": (LABELS,),
    "new_experiment": (LABELS,),
    "experiment_seed": (LABELS,),
    "draws_arms": (LABELS,),
    "same_unit_again": (LABELS,),
}
# Fields that say more about another one: shown once that one says something.
WITH = {
    "pass_mark": "qualification",
    "attempts": "qualification",
    "gold_percent": "gold",
    "experiment_seed": "new_experiment",
    "draws_arms": "new_experiment",
    "same_unit_again": "new_experiment",
}

Title = str | Promise
GROUPS: dict[str, tuple[Title, Title, tuple[str, ...]]] = {
    "work": (gettext_lazy("The work"), "", ("name", "kind", "purpose")),
    "units": (
        gettext_lazy("What is labelled"),
        "",
        ("category", "language", "baseline", "sample_size", "seed", "checklist_policy", "overlap", "order"),
    ),
    "scale": (gettext_lazy("Scale"), gettext_lazy("Whole numbers, both ends included."), ("scale_low", "scale_high")),
    "screen": (
        gettext_lazy("What annotators see and say"),
        "",
        ("guidelines", "show_reference", "allow_na", "allow_unsure", "comment_for", "lease_minutes", "reveal"),
    ),
    "training": (
        gettext_lazy("Training"),
        gettext_lazy("From open training sets of the same kind, scale and answers."),
        ("qualification", "pass_mark", "attempts", "gold", "gold_percent"),
    ),
    "experiment": (
        gettext_lazy("Experiment"),
        gettext_lazy("Rounds that label the same units in different ways are the arms of an experiment."),
        ("experiment", "new_experiment", "experiment_seed", "draws_arms", "same_unit_again", "arm"),
    ),
}


@dataclass(frozen=True)
class Group:
    """Fields of the form that belong together."""

    name: str
    title: Title
    note: Title
    fields: list[forms.BoundField]


class MarkedRadios(forms.RadioSelect):
    """Radio buttons that carry what a choice stands for, for the script."""

    marks: Mapping[str, str] = {}

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        option["attrs"]["data-gives"] = self.marks.get(str(value), "")
        return option


class ReasonBoxes(forms.CheckboxSelectMultiple):
    """Checkboxes that carry the part of the round that they need, for the script."""

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        option["attrs"]["data-needs"] = Round.CommentFor(str(value)).part
        return option


class KindRadios(MarkedRadios):
    marks = {
        str(kind): " ".join((shape.unit, *shape.parts, *([KEYED] if "writing" not in shape.parts else [])))
        for kind, shape in SHAPES.items()
    }


class PurposeRadios(MarkedRadios):
    marks = {str(purpose): str(purpose) for purpose in Round.Purpose}


def moved(anchors: Mapping[str, str], before: Sequence[int], after: Sequence[int]) -> dict[str, str]:
    """The texts of one scale on another: each at its place between the ends; left out where that is no whole score."""
    found = {}
    for score in before:
        place = Fraction((score - before[0]) * (after[-1] - after[0]), before[-1] - before[0]) + after[0]
        if anchors.get(str(score)) and place.denominator == 1:
            found[str(place)] = anchors[str(score)]
    return found


def _score_of(name: str) -> int | None:
    """The score that a field's name is about; None for other fields."""
    digits = name.removeprefix("anchor_")
    written = re.fullmatch(r"-?[0-9]{1,5}", digits, re.ASCII)
    return int(digits) if digits != name and written else None


def new_round(project: Project) -> Round:
    """A draft that is not saved, with what the project suggests."""
    checklists = Checklist.objects.approved().filter(item__project=project).exists()
    return Round(
        project=project,
        kind=Kind.CHECK_THEN_SCORE if checklists else Kind.DIRECT_SCORING,
        guidelines=project.guidelines,
        scale_low=project.scale_low,
        scale_high=project.scale_high,
        scale_anchors=project.scale_anchors,
    )


class RoundForm(forms.ModelForm[Round]):
    """A round in draft. A new one starts from the project's scale and guidelines."""

    comment_for = forms.MultipleChoiceField(
        label=gettext_lazy("Ask for a comment when"),
        choices=Round.CommentFor.choices,
        required=False,
        widget=ReasonBoxes,
    )
    new_experiment = forms.CharField(label=gettext_lazy("or make a new experiment"), max_length=120, required=False)
    experiment_seed = forms.IntegerField(
        label=gettext_lazy("Seed of the draw"), min_value=0, max_value=2**31 - 1, initial=42, required=False
    )
    draws_arms = forms.BooleanField(
        label=gettext_lazy("Draw each annotator's arm at random"), initial=True, required=False
    )
    same_unit_again = forms.BooleanField(
        label=gettext_lazy("An annotator may see the same unit in more than one arm"), required=False
    )

    class Meta:
        model = Round
        fields = [
            *(name for _title, _note, names in GROUPS.values() for name in names if hasattr(Round, name)),
        ]
        widgets = {
            "guidelines": forms.Textarea(attrs={"rows": 8}),
            "kind": KindRadios,
            "purpose": PurposeRadios,
            "order": forms.RadioSelect,
            "reveal": forms.RadioSelect,
        }
        help_texts = {
            "name": gettext_lazy("Annotators see it."),
            "purpose": gettext_lazy("A training set qualifies people for other rounds, or is mixed into them."),
            "sample_size": gettext_lazy("Leave empty for all. Which ones are drawn follows from the seed."),
            "seed": gettext_lazy("Decides the sample, the order of the tasks, and the sides of pairs."),
            "overlap": gettext_lazy("How many people label each task; never more than this are counted."),
            "guidelines": gettext_lazy("Markdown. Annotators can open it on every task."),
            "lease_minutes": gettext_lazy("Every save holds it for this long again; then it goes to the next person."),
            "reveal": gettext_lazy("When annotators see the systems' names and what others said about their tasks."),
            "pass_mark": gettext_lazy("The share of the expected answers that must be met."),
            "attempts": gettext_lazy("How often an annotator may try."),
            "gold_percent": gettext_lazy("About this share of an annotator's tasks are gold units; at most 50."),
            "arm": gettext_lazy("What is different here, such as “with checklist”. It stands in the exports."),
        }

    def __init__(self, data: Any = None, *, project: Project, instance: Round | None = None) -> None:
        super().__init__(data, instance=instance or new_round(project))
        self.project = project
        items = Item.objects.filter(project=project)
        self._choose("category", _("All categories"), items.exclude(category="").values_list("category", flat=True))
        self._choose("language", _("All languages"), items.exclude(language="").values_list("language", flat=True))
        systems = Response.objects.filter(item__project=project).values_list("system", flat=True)
        self._choose("baseline", _("Every pair of responses"), systems)
        policies = Checklist.objects.approved().filter(item__project=project).values_list("policy", flat=True)
        self._choose("checklist_policy", _("Anybody: the newest approved one"), policies)
        kinds = [(kind.value, f"{kind.label}: {SHAPES[kind].about}") for kind in Kind]
        self.fields["kind"].choices = kinds  # type: ignore[attr-defined]
        for name in ("qualification", "gold"):
            training = project.rounds.open().filter(purpose=Round.Purpose.TRAINING)
            self._offer(name, training, _("None"))
        self._offer("experiment", project.experiments.all(), _("None"))
        for name, most in MOST.items():
            self.fields[name].widget.attrs |= {"min": 1, "max": most}
        for name, needed in NEEDS.items():
            self.fields[name].widget.attrs["data-needs"] = " ".join(needed)
        for name, other in WITH.items():
            self.fields[name].widget.attrs["data-with"] = other
        self._add_anchors()

    def _choose(self, name: str, everything: str, values: Iterable[str]) -> None:
        chosen = [("", everything), *((value, value) for value in sorted(set(values)))]
        self.fields[name].widget = forms.Select(choices=chosen)

    def _offer(self, name: str, found: Any, nothing: str) -> None:
        field = self.fields[name]
        field.queryset = found  # type: ignore[attr-defined]
        field.empty_label = nothing  # type: ignore[attr-defined]

    # -- the scale, a row for every score --

    def _rows(self) -> list[int]:
        """The scores that the form has rows for: those sent where they are a scale, else those that the page had, else
        those of the round."""
        low, high = (self._sent_score(name) for name in ("scale_low", "scale_high"))
        if low is not None and high is not None and low < high < low + MOST_SCORES:
            return list(range(low, high + 1))
        return self._rows_sent() or self.instance.scores

    def _rows_sent(self) -> list[int]:
        """The scores that the page had rows for; [] where they are no scale."""
        found = sorted(number for name in self.data if (number := _score_of(name)) is not None)
        whole = found and found == list(range(found[0], found[0] + len(found)))
        return found if whole and 2 <= len(found) <= MOST_SCORES else []

    def _move_anchors(self, rows: list[int]) -> None:
        """Texts that nobody has edited keep their places between the ends when the ends move."""
        before, usual = self._rows_sent(), self._usual
        if not before or before == rows:
            return
        sent = {str(score): self.data.get(self.add_prefix(f"anchor_{score}"), "").strip() for score in before}
        if {score: text for score, text in sent.items() if text} != moved(*usual, before):
            return
        texts = moved(*usual, rows)
        data: Any = self.data
        self.data = data = data.copy()  # what was sent cannot be written into
        for score in rows:
            data[self.add_prefix(f"anchor_{score}")] = texts.get(str(score), "")

    def _sent_score(self, name: str) -> int | None:
        try:
            return int(self.data.get(self.add_prefix(name), ""))
        except ValueError:
            return None

    def _add_anchors(self) -> None:
        anchors = self.instance.scale_anchors
        self.scores = self._rows()  # noted now, because validation writes into the instance
        self._usual = {score: text for score, text in anchors.items() if text}, self.instance.scores
        self._had_rows = {name for name in self.data if name.startswith("anchor_")}
        self._move_anchors(self.scores)
        for score in self.scores:
            self.fields[f"anchor_{score}"] = forms.CharField(
                label=str(score),
                max_length=LONGEST_ANCHOR,
                required=False,
                initial=anchors.get(str(score), ""),
                widget=forms.TextInput(attrs={"data-needs": "score"}),
            )

    @property
    def anchors(self) -> list[forms.BoundField]:
        return [self[f"anchor_{score}"] for score in self.scores]

    @property
    def other_scale_shown(self) -> bool:
        """Whether the page that sent this had rows for another scale."""
        return self._had_rows != {f"anchor_{score}" for score in self.scores}

    @property
    def anchors_note(self) -> str:
        """What became of the texts when the ends of the scale moved, where that needs a look; else ""."""
        texts = {str(bound.label): bound.value() for bound in self.anchors if bound.value()}
        usual, before = self._usual
        if self.scores != before and texts == moved(usual, before, self.scores):
            return _("Texts that would stand between two scores are left out.") if len(texts) < len(usual) else ""
        for old, new in ((before[0], self.scores[0]), (before[-1], self.scores[-1])):
            if old != new and str(old) in texts and str(new) not in texts:
                sentence = _("“%(text)s” stands at %(old)s, and the scale ends at %(new)s now: is that meant?")
                return sentence % {"text": texts[str(old)], "old": old, "new": new}
        return ""

    @property
    def groups(self) -> list[Group]:
        return [
            Group(name, title, note, [self[field] for field in fields])
            for name, (title, note, fields) in GROUPS.items()
        ]

    @property
    def shows_screen(self) -> bool:
        """Whether kind and scale are good enough for a preview."""
        round = self.instance
        return "kind" not in self.errors and 2 <= len(round.scores) <= MOST_SCORES

    @property
    def faults(self) -> list[tuple[str, str]]:
        """What is wrong so far, with the label of the field; a name may come last."""
        return [
            (str(self.fields[name].label) if name in self.fields else "", " ".join(str(each) for each in each_of))
            for name, each_of in self.errors.items()
            if name != "name"
        ]

    # -- reading --

    def _given(self) -> set[str]:
        """What the kind and purpose that were sent stand for."""
        kind, purpose = self.data.get(self.add_prefix("kind"), ""), self.data.get(self.add_prefix("purpose"), LABELS)
        given = set(KindRadios.marks.get(kind, "").split())
        return given | {purpose if KEYED in given else LABELS}

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if Round.objects.filter(project=self.project, name=name).exclude(pk=self.instance.pk).exists():
            raise ValidationError(_("Another round of this project has this name: choose a new one."))
        return name

    def clean_new_experiment(self) -> str:
        name = str(self.cleaned_data["new_experiment"]).strip()
        if name and self.project.experiments.filter(name=name).exists():
            raise ValidationError(_("There is an experiment of this name: choose it above, or write another name."))
        return name

    def clean(self) -> dict[str, Any]:
        super().clean()
        given = self._given()
        for name, needed in NEEDS.items():
            if not set(needed) <= given:
                self._ignore(name)
        if "score" not in given:
            for bound in self.anchors:
                self._ignore(bound.name)
        for name, other in WITH.items():
            if not (self.cleaned_data.get(other) or other in self.errors):
                self._ignore(name)
        chosen = self.cleaned_data.get("comment_for", [])
        self.cleaned_data["comment_for"] = [reason for reason in chosen if Round.CommentFor(reason).part in given]
        experiment, named = (self.cleaned_data.get(name) for name in ("experiment", "new_experiment"))
        if experiment and named:
            self.add_error("new_experiment", _("Choose an experiment or name a new one, not both."))
        elif (experiment or named) and not self.cleaned_data.get("arm") and "arm" not in self.errors:
            sentence = _("Name the arm that this round is of “%(experiment)s”: exports tell the arms apart by it.")
            self.add_error("arm", sentence % {"experiment": experiment or named})
        return self.cleaned_data

    def _ignore(self, name: str) -> None:
        """Take what a new round has, whatever was sent."""
        self.errors.pop(name, None)
        usual = new_round(self.project)
        self.cleaned_data[name] = getattr(usual, name) if hasattr(usual, name) else self.fields[name].initial

    def _post_clean(self) -> None:
        wrong = {"scale_low", "scale_high"} & set(self.errors)
        texts = {score: str(self.cleaned_data.get(f"anchor_{score}") or "").strip() for score in self.scores}
        self.instance.scale_anchors = {str(score): text for score, text in texts.items() if text and not wrong}
        super()._post_clean()  # type: ignore[misc]  # where Django fills the instance

    @transaction.atomic
    def save(self, commit: bool = True) -> Round:
        name = self.cleaned_data["new_experiment"]
        if name:
            self.instance.experiment = Experiment.objects.create(
                project=self.project,
                name=name,
                seed=self.cleaned_data["experiment_seed"] or 0,
                draws_arms=self.cleaned_data["draws_arms"],
                same_unit_again=self.cleaned_data["same_unit_again"],
            )
        return super().save(commit)

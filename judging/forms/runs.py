"""What researchers write about runs."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundWidget
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotate.models import Checklist, Item, Project, Round
from judging.generators import POLICIES, Policy
from judging.models import Judge, Run
from judging.protocols import PROTOCOLS, Protocol
from judging.runs import MOST_REPEATS

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


def limit_field(label: _StrPromise, help_text: _StrPromise | str = "") -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        help_text=help_text,
        required=False,
        min_value=Decimal(0),
        max_digits=10,
        decimal_places=4,
        error_messages={"min_value": _("The most to spend cannot be negative: leave it empty for no limit.")},
    )


class RunForm(forms.Form):
    """Judges, how they judge, and what. The names are those that `runs.draft_panel` takes."""

    MORE = ("checklist_policy", "repeats", "verdict_alone", "spending_cap")
    FILTER = ("category", "language", "sample_size")

    judges = forms.ModelMultipleChoiceField(
        Judge.objects.none(),
        label=_("Judges"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Each one gets a run of its own."),
        error_messages={"required": _("Choose at least one judge.")},
    )
    protocol = forms.ChoiceField(label=_("How they judge"), widget=forms.RadioSelect)
    round = forms.ModelChoiceField(
        Round.objects.none(),
        label=_("What they judge"),
        required=False,
        empty_label=_("No round: the items of the project"),
        help_text=_("In a round, the very units that people label, so that both can be compared."),
    )
    category = forms.ChoiceField(label=_("Only this category"), required=False)
    language = forms.ChoiceField(label=_("Only this language"), required=False)
    sample_size = forms.IntegerField(
        label=_("At most this many items"), required=False, min_value=1, help_text=_("Drawn by the seed of the run.")
    )
    checklist_policy = forms.ChoiceField(
        label=_("Checklists"),
        required=False,
        help_text=_(
            "For protocols with a checklist. With other questions than people had, answers cannot be compared."
        ),
    )
    repeats = forms.IntegerField(
        label=_("Times to ask everything"),
        required=False,
        min_value=1,
        max_value=MOST_REPEATS,
        initial=1,
        help_text=_("Pairs are asked in both orders each time. At temperature 0, repeats hardly differ."),
    )
    verdict_alone = forms.BooleanField(label=_("Ask for the verdict alone, without reasons first"), required=False)
    spending_cap = limit_field(
        _("Spend at most (USD)"), _("For each judge. A run pauses before a call that could take it above this.")
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        judges = Judge.objects.filter(project=project, archived=False)
        rounds = project.rounds.for_labels().about_responses().exclude(state=Round.State.DRAFT)
        _offer(self, "judges", judges)
        _offer(self, "round", rounds)
        if len(judges) == 1:
            self.initial.setdefault("judges", [judges[0].pk])
        if not self.initial.get("round"):
            self.initial["round"] = rounds.first()
        _choose(self, "protocol", {name: str(method.title) for name, method in PROTOCOLS.items()})
        items = Item.objects.filter(project=project)
        _choose(self, "category", {"": gettext("All categories"), **_values(items.values_list("category", flat=True))})
        _choose(self, "language", {"": gettext("All languages"), **_values(items.values_list("language", flat=True))})
        policies = Checklist.objects.approved().filter(item__project=project).values_list("policy", flat=True)
        _choose(
            self,
            "checklist_policy",
            {
                "": gettext("Those that the round pins, else the newest approved"),
                Run.NEWEST_CHECKLIST: gettext("The newest approved"),
                **{
                    policy: gettext("The newest approved, by the policy %(policy)s") % {"policy": policy}
                    for policy in _values(policies)
                },
            },
        )
        optional = [str(method.title) for method in PROTOCOLS.values() if method.analysis_optional]
        if optional:
            self.fields["verdict_alone"].help_text = gettext("Only for: %(protocols)s.") % {
                "protocols": ", ".join(optional)
            }
        else:
            del self.fields["verdict_alone"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("round") and any(cleaned.get(name) for name in self.FILTER):
            self.add_error(
                "round",
                ValidationError(
                    gettext("A filter of items goes with no round: choose “No round”, or empty the filter.")
                ),
            )
        return cleaned

    @property
    def choice(self) -> dict[str, Any]:
        """What was chosen, for `runs.draft_panel`."""
        chosen = dict(self.cleaned_data)
        alone = chosen.pop("verdict_alone", False)
        return {**chosen, "analysis": not alone, "repeats": chosen["repeats"] or 1}

    @property
    def protocols(self) -> list[tuple[str, list[tuple[BoundWidget, Protocol]]]]:
        """The radio buttons of the protocols with what they stand for, in groups by what is judged."""
        groups: dict[str, list[tuple[BoundWidget, Protocol]]] = {}
        for button in self["protocol"]:
            method = PROTOCOLS[button.data["value"]]
            groups.setdefault(_group(method), []).append((button, method))
        return list(groups.items())

    @property
    def shows_filter(self) -> bool:
        """Whether the filter is open from the start: it is in use, or wrong, or there is no round to choose."""
        return self._in_use(self.FILTER) or not self.fields["round"].queryset.exists()  # type: ignore[attr-defined]

    @property
    def shows_more(self) -> bool:
        return self._in_use(self.MORE)

    def _in_use(self, names: Iterable[str]) -> bool:
        return self.is_bound and any(name in self.errors or name in self.changed_data for name in names)


class RepeatForm(forms.Form):
    """How many times more a run asks everything."""

    more = forms.IntegerField(
        label=_("Times more to ask everything"), min_value=1, max_value=MOST_REPEATS - 1, initial=1
    )


class LimitForm(forms.Form):
    """What a run may spend in all."""

    spending_cap = limit_field(_("Spend at most in all (USD)"))


class GenerationForm(forms.Form):
    """A judge that writes checklists, and by which policy."""

    judge = forms.ModelChoiceField(Judge.objects.none(), label=_("Model that writes"), empty_label=None)
    policy = forms.ChoiceField(label=_("How it writes"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _offer(self, "judge", Judge.objects.filter(project=project, archived=False))
        _choose(self, "policy", {name: _described(policy) for name, policy in POLICIES.items()})


def _described(policy: Policy) -> str:
    return gettext("%(title)s. %(description)s") % {"title": policy.title, "description": policy.description}


def _group(method: Protocol) -> str:
    if method.pairs:
        return gettext("Pairs of responses")
    return gettext("Responses, by the project’s dimensions") if method.by_dimension else gettext("Single responses")


def _values(values: Iterable[str]) -> dict[str, str]:
    return {value: value for value in sorted(set(values)) if value}


def _offer(form: forms.Form, name: str, choices: Any) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)  # noqa: S101
    field.queryset = choices


def _choose(form: forms.Form, name: str, titles: dict[str, str]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)  # noqa: S101
    field.choices = list(titles.items())
    field.initial = next(iter(titles))

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from annotate.models import Project, Role

RESERVED_SLUGS = {"new"}  # projects/new/ is the page that makes one


class AnchorsField(forms.CharField):
    """Texts for scores, one a line as "1: poor". The value is a dict from the score, as a string, to its text."""

    widget = forms.Textarea(attrs={"rows": 5})

    def to_python(self, value: Any) -> Any:
        anchors: dict[str, str] = {}
        lines = str(value or "").splitlines()
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            score, colon, text = line.replace("：", ":").partition(":")
            score, text = score.strip(), text.strip()
            digits = score.removeprefix("-")
            if not (colon and text and digits.isascii() and digits.isdecimal() and len(digits) < 5):
                raise ValidationError(
                    _("Line %(number)d is not a score with its text: write it as “1: poor”."), params={"number": number}
                )
            if str(int(score)) in anchors:
                raise ValidationError(_("The score %(score)s has two texts: keep one."), params={"score": score})
            anchors[str(int(score))] = text
        return anchors

    def validate(self, value: Any) -> None:
        if self.required and not value:
            raise ValidationError(self.error_messages["required"], code="required")

    def run_validators(self, value: Any) -> None:
        """Every text was checked line by line already; the validators of a CharField expect one string."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return "\n".join(f"{score}: {text}" for score, text in sorted(value.items(), key=lambda pair: int(pair[0])))
        return value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class ProjectForm(forms.ModelForm[Project]):
    """The settings of a project."""

    scale_anchors = AnchorsField(
        label=_("What the scores mean"),
        required=False,
        help_text=_("One score a line, such as “1: poor”. Scores without a text are shown as numbers."),
    )

    class Meta:
        model = Project
        fields = ("name", "description", "guidelines", "scale_low", "scale_high", "scale_anchors")
        labels = {"name": _("Name"), "description": _("Description"), "guidelines": _("Guidelines")}
        help_texts = {
            "description": _("What is measured here and why, for the members."),
            "guidelines": _("What every annotator should know before labelling. Markdown is understood."),
            "scale_low": _("New rounds start from this scale; rounds that exist keep theirs."),
        }
        widgets = {"description": forms.Textarea(attrs={"rows": 3}), "guidelines": forms.Textarea(attrs={"rows": 12})}


class NewProjectForm(ProjectForm):
    """A project that does not exist yet, and so has no address either."""

    slug = forms.SlugField(
        label=_("Name in addresses"),
        max_length=50,
        required=False,
        help_text=_("Small letters, digits and hyphens; made from the name where you leave it empty."),
    )

    class Meta(ProjectForm.Meta):
        fields = ("name", "slug", *ProjectForm.Meta.fields[1:])  # type: ignore[assignment]

    def clean_slug(self) -> str:
        given: str = self.cleaned_data["slug"].lower()
        slug = given or slugify(self.cleaned_data.get("name", ""))[:50].strip("-")
        if not slug:
            raise ValidationError(_("The name has no Latin letters or digits: write a name for the address here."))
        if slug in RESERVED_SLUGS or Project.objects.filter(slug=slug).exists():
            raise ValidationError(_("The address “%(slug)s” is taken: write another one here."), params={"slug": slug})
        return slug


class RoleForm(forms.Form):
    """A role to invite into, or to give to a member."""

    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.ANNOTATOR)

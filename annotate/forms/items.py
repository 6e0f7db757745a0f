from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.models import Project, Upload


class UploadForm(forms.Form):
    """A file to import. What is in it is judged by `annotate.importing`."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        max_length=Upload._meta.get_field("filename").max_length,
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.csv"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        most = {"megabytes": settings.IMPORT_MAX_BYTES // 2**20, "rows": f"{settings.IMPORT_MAX_ROWS:,}"}
        sentence = _("A .jsonl or .csv file in UTF-8, of at most %(megabytes)d MB and %(rows)s rows.") % most
        self.fields["file"].help_text = sentence
        # A file beyond the limit of the upload handler never arrives, so both cases share the sentence.
        self.fields["file"].error_messages |= {
            "required": _("Choose a .jsonl or .csv file of at most %(megabytes)d MB.") % most,
            "empty": _("The file is empty: choose one with at least one item."),
        }


class ItemFilter(forms.Form):
    """The search above the list of items; its choices are what the project's items have."""

    q = forms.CharField(label=gettext_lazy("Search"), required=False, max_length=200)
    category = forms.ChoiceField(label=gettext_lazy("Category"), required=False)
    language = forms.ChoiceField(label=gettext_lazy("Language"), required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._choose("category", _("All categories"), project)
        self._choose("language", _("All languages"), project)

    def _choose(self, name: str, everything: str, project: Project) -> None:
        values = project.items.exclude(**{name: ""}).order_by(name).values_list(name, flat=True).distinct()
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  # declared above
        field.choices = [("", everything), *((value, value) for value in values)]

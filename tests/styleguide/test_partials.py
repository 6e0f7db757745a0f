"""The shared partials: label, help and errors belong to their control, and no user's text becomes markup."""

import re

import pytest
from django import forms
from django.core.paginator import Paginator
from django.forms.renderers import DjangoTemplates
from django.template.loader import render_to_string
from django.test import RequestFactory


class RoundForm(forms.Form):
    name = forms.CharField(help_text="Annotators see it.", max_length=5)
    reveal = forms.ChoiceField(choices=[("never", "Never"), ("closed", "When closed")], widget=forms.RadioSelect)
    not_applicable = forms.BooleanField(required=False, help_text="Adds a third answer.")
    note = forms.CharField(required=False)
    token = forms.CharField(widget=forms.HiddenInput)

    def clean(self) -> None:
        raise forms.ValidationError("Two rounds are called <b>Pilot</b>.")


@pytest.fixture
def page() -> str:
    form = RoundForm({"name": "too long", "token": "t"}, renderer=DjangoTemplates())
    assert not form.is_valid()
    return render_to_string("partials/form.html", {"form": form})


def part(page: str, pattern: str) -> str:
    """The first part of the page that the pattern matches."""
    found = re.search(pattern, page, re.DOTALL)
    assert found, pattern
    return found[0]


def control(page: str, name: str) -> str:
    return part(page, rf'<input[^>]*name="{name}"[^>]*>')


def test_help_and_error_are_described_by_their_control(page: str) -> None:
    assert 'aria-describedby="id_name_helptext id_name_error"' in control(page, "name")
    assert page.count('id="id_name_helptext"') == page.count('id="id_name_error"') == 1
    assert 'aria-invalid="true"' in control(page, "name")
    assert 'aria-describedby="id_not_applicable_helptext"' in control(page, "not_applicable")


def test_a_group_of_choices_is_a_fieldset_with_its_error(page: str) -> None:
    group = part(page, r"<fieldset.*?</fieldset>")
    assert "<legend" in group
    assert 'aria-describedby="id_reveal_error"' in group
    assert 'id="id_reveal_error"' in group


def test_only_optional_fields_say_so(page: str) -> None:
    label = part(page, r'<label class="field-label" for="id_note">.*?</label>')
    assert "(optional)" in label
    assert "(optional)" not in part(page, r'<label class="field-label" for="id_name">.*?</label>')


def test_the_summary_names_every_wrong_field_and_escapes(page: str) -> None:
    summary = part(page, r'<div class="notice is-error".*?</div>')
    assert "Two rounds are called &lt;b&gt;Pilot&lt;/b&gt;." in summary
    assert 'href="#id_name"' in summary
    assert "Reveal" in summary
    assert "<b>" not in page


def test_hidden_fields_have_no_label(page: str) -> None:
    assert 'for="id_token"' not in page
    assert 'type="hidden"' in control(page, "token")


def test_a_figure_of_zero_is_a_value_and_none_is_not() -> None:
    zero = render_to_string("partials/figure.html", {"name": "α", "value": 0, "low": 0, "high": 1, "n": 0})
    assert '<dd class="figure-value">0</dd>' in zero
    assert "CI 0 to 1" in zero
    undefined = render_to_string("partials/figure.html", {"name": "α", "value": None, "reason": "One rater only."})
    assert "not defined" in undefined
    assert "One rater only." in undefined
    assert "CI" not in undefined


def test_pages_keep_the_rest_of_the_query() -> None:
    request = RequestFactory().get("/", {"q": "α & β", "page": "2"})
    html = render_to_string("partials/pagination.html", {"page": Paginator(range(30), 10).page(2)}, request=request)
    assert 'href="?q=%CE%B1+%26+%CE%B2&amp;page=3"' in html
    assert "2 of 3" in html


def test_one_page_needs_no_pagination() -> None:
    request = RequestFactory().get("/")
    html = render_to_string("partials/pagination.html", {"page": Paginator([1], 10).page(1)}, request=request)
    assert "<nav" not in html


@pytest.mark.parametrize("template", ["400.html", "500.html"])
def test_the_hardest_errors_need_no_context(template: str) -> None:
    html = render_to_string(template)
    assert html.count("<h1") == 1
    assert "concord.css" in html

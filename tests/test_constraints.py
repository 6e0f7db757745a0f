"""What a form or the API refuses is said in a sentence: the names of constraints stay in the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django import forms
from django.apps import apps
from django.forms.models import model_to_dict
from django.test import Client

from annotate.forms.dimensions import DimensionForm
from annotate.forms.projects import NewProjectForm, ProjectForm
from annotate.forms.rounds import RoundForm, new_round
from annotate.models import Project, User
from judging.forms.judges import JudgeForm
from judging.models import Judge
from tests import build

pytestmark = pytest.mark.django_db

EXTREMES = ("", "-1", "0", "5", "99", "40000", "nan", "x" * 300)
FORMS: dict[str, Callable[[Project, dict[str, Any]], forms.BaseForm]] = {
    "round": lambda project, data: RoundForm(data, project=project),
    "project": lambda project, data: ProjectForm(data, instance=project),
    "new project": lambda _project, data: NewProjectForm(data),
    "dimension": lambda project, data: DimensionForm(data, project=project),
    "judge": lambda project, data: JudgeForm(data, project=project),
}


def names() -> list[str]:
    models = (*apps.get_app_config("annotate").get_models(), *apps.get_app_config("judging").get_models())
    return [constraint.name for model in models for constraint in model._meta.constraints]


def usual(project: Project) -> dict[str, Any]:
    """What a form could be sent, for all of them."""
    given = {
        **{name: value for name, value in model_to_dict(Judge()).items() if value is not None},
        **{name: value for name, value in model_to_dict(new_round(project)).items() if value is not None},
        "name": "Anew",
        "definition": "How it reads.",
        "base_url": "http://localhost/v1",
        "model": "small",
        "scale_anchors": "",
    }
    return {name: value for name, value in given.items() if name != "project"}


def wrong(data: dict[str, Any], fields: list[str]) -> Iterator[dict[str, Any]]:
    for name in fields:
        for value in EXTREMES:
            yield data | {name: value}
    yield data | {"scale_low": "5", "scale_high": "1"}


@pytest.mark.parametrize("what", FORMS)
def test_no_form_names_a_constraint(project: Project, what: str) -> None:
    build.round(project, name="Anew", opened=False)
    fields = list(FORMS[what](project, {}).fields)
    said = set()
    for data in wrong(usual(project), fields):
        form = FORMS[what](Project.objects.get(pk=project.pk), data)
        said |= {str(error) for errors in form.errors.values() for error in errors}

    assert said
    assert not [(name, sentence) for name in names() for sentence in said if name in sentence]
    assert not [sentence for sentence in said if "onstraint" in sentence]


def test_a_scale_upside_down_is_said_at_the_highest_score_alone(project: Project) -> None:
    upside_down = {"scale_low": "5", "scale_high": "1"}
    for what in ("round", "project", "dimension"):
        errors = FORMS[what](Project.objects.get(pk=project.pk), usual(project) | upside_down).errors
        assert {name: len(said) for name, said in errors.items()} == {"scale_high": 1}, what


def test_the_api_names_no_constraint(client: Client, project: Project, bob: User) -> None:
    client.force_login(bob)
    given = {"name": "Anew", "kind": "direct_scoring"}
    fields = ("name", "kind", "overlap", "lease_minutes", "scale_low", "scale_high", "pass_mark", "attempts", "seed")
    address = "/api/projects/garden/rounds/"
    for data in wrong(given, list(fields)):
        reply = client.post(address, data, content_type="application/json")
        assert "onstraint" not in reply.text, data
        assert not [name for name in names() if name in reply.text], data
    upside_down = {"name": "Upside down", "kind": "direct_scoring", "scale_low": 5, "scale_high": 1}
    reply = client.post(address, upside_down, content_type="application/json")
    assert list(reply.json()["fields"]) == ["scale_high"]

"""Setting up, opening and closing rounds."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotate.models import Project, Round, User
from tests import build


@pytest.fixture
def at(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def form(**fields: object) -> dict[str, object]:
    return {"name": "Pilot", "kind": "direct_scoring", "overlap": 2, "lease_minutes": 30, "seed": 1, **fields}


def test_a_round_is_set_up_looked_at_and_opened(at: Client, project: Project, bob: User) -> None:
    build.item(project)
    reply = at.post(reverse("round_create", args=["garden"]), form(), follow=True)
    assert "2 responses, 2 annotators each: 4 labels." in reply.content.decode()
    round = Round.objects.get(name="Pilot")
    assert (round.created_by, round.scores) == (bob, [1, 2, 3, 4, 5])
    at.post(reverse("round", args=["garden", round.pk]), {"action": "open"})
    round.refresh_from_db()
    assert (round.state, round.tasks.count()) == ("open", 2)
    assert all(task.assignments.count() == 2 for task in round.tasks.all())


def test_a_draft_says_what_it_leaves_out(at: Client, project: Project) -> None:
    build.checklist(build.item(project))
    build.item(project)
    round = build.round(project, "check_then_score", opened=False)
    page = at.get(reverse("round", args=["garden", round.pk])).content.decode()
    assert "2 responses are left out because their items have no approved checklist." in page


def test_a_round_without_units_is_not_opened(at: Client, project: Project) -> None:
    build.item(project)
    round = build.round(project, "check_then_score", opened=False)
    reply = at.post(reverse("round", args=["garden", round.pk]), {"action": "open"}, follow=True)
    assert "approve checklists for its items first" in reply.content.decode()
    round.refresh_from_db()
    assert round.state == "draft"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"overlap": 0}, "overlap"),
        ({"overlap": 51}, "overlap"),
        ({"name": "Taken"}, "Another round of this project has this name"),
        ({"kind": "guessing"}, "kind"),
        ({"lease_minutes": 0}, "lease"),
    ],
)
def test_a_bad_setting_is_refused(at: Client, project: Project, fields: dict[str, object], sentence: str) -> None:
    build.round(project, name="Taken", opened=False)
    reply = at.post(reverse("round_create", args=["garden"]), form(**fields))
    assert reply.status_code == 200
    assert sentence in str(reply.context["form"].errors)
    assert Round.objects.count() == 1


def test_settings_are_fixed_once_a_round_is_open(at: Client, project: Project) -> None:
    build.item(project)
    round = build.round(project)
    at.post(reverse("round", args=["garden", round.pk]), form(action="save", name="Changed"))
    round.refresh_from_db()
    assert round.name != "Changed"


def test_opening_twice_makes_the_tasks_once(project: Project) -> None:
    build.item(project)
    round = build.round(project)
    with pytest.raises(ValidationError):
        round.open()
    assert round.tasks.count() == 2


def test_closing_and_reopening(at: Client, project: Project) -> None:
    build.item(project)
    round = build.round(project)
    here = reverse("round", args=["garden", round.pk])
    at.post(here, {"action": "close"})
    round.refresh_from_db()
    assert (round.state, round.closed_at is None) == ("closed", False)
    at.post(here, {"action": "reopen"})
    round.refresh_from_db()
    assert (round.state, round.closed_at) == ("open", None)


def test_progress_by_annotator(project: Project, ann: User, abe: User) -> None:
    build.item(project)
    round = build.round(project)
    first, second = round.tasks.all()
    build.submitted(first, ann, 3)
    build.submitted(second, ann, 3)
    build.submitted(first, abe, 3)
    assert [(w.annotator, w.submitted, w.surplus, w.held, w.skipped) for w in round.workers()] == [
        (abe, 1, 0, 0, 0),
        (ann, 2, 0, 0, 0),
    ]

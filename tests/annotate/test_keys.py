"""Keys of the annotation screen: one table, which people can change and switch off."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotate.keys import CHANGEABLE, Keys
from annotate.models import Project, User
from tests import build


@pytest.fixture
def at(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


def chosen(**own: str) -> dict[str, str]:
    return {key.action: key.key for key in CHANGEABLE} | own


def keys_of(user: User) -> Keys:
    user.refresh_from_db()
    return Keys.of(user)


def test_own_keys_are_printed_and_listened_to(at: Client, project: Project, ann: User) -> None:
    at.post(reverse("keys"), chosen(yes="J", next="", unsure=""))
    assert "taken by" not in at.get(reverse("keys")).content.decode()
    assert keys_of(ann)["yes"] == "j"
    assert "y" not in keys_of(ann).by_key
    build.checklist(build.item(project, systems=("Aster",)))
    round = build.round(project, "checklist_answering")
    page = at.get(reverse("annotate", args=["garden", round.pk]), follow=True).content.decode()
    assert "Yes <kbd>J</kbd>" in page
    assert "&quot;j&quot;: &quot;yes&quot;" in page


def test_keys_that_are_off_are_not_printed(at: Client, project: Project, ann: User) -> None:
    at.post(reverse("keys"), chosen(off="on"))
    assert set(keys_of(ann).by_key.values()) == {"submit"}
    assert keys_of(ann).of_score(3, range(1, 6)) == ""


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"yes": "n"}, "N is taken by"),
        ({"yes": "5"}, "fixed use"),
        ({"yes": "?"}, "fixed use"),
        ({"yes": "yy"}, "at most 1"),
    ],
)
def test_a_key_does_one_thing(at: Client, ann: User, own: dict[str, str], sentence: str) -> None:
    reply = at.post(reverse("keys"), chosen(**own))
    assert reply.status_code == 400
    assert sentence in reply.content.decode()
    assert keys_of(ann)["yes"] == "y"


def test_the_usual_keys_come_back(at: Client, ann: User) -> None:
    at.post(reverse("keys"), chosen(yes="x"))
    at.post(reverse("keys"), {"reset": ""})
    assert keys_of(ann)["yes"] == "y"


def test_the_overlay_shows_what_the_round_asks_for() -> None:
    shown = {key.action for key in Keys({}).rows(("score",))}
    assert {"score", "submit", "comment", "quote"} <= shown
    assert not {"yes", "flag", "easier"} & shown


def test_a_digit_is_printed_on_one_score_alone() -> None:
    keys = Keys({})
    assert [keys.of_score(score, range(1, 11)) for score in (1, 9, 10)] == ["1", "9", "0"]
    assert [keys.of_score(score, range(11)) for score in (0, 9, 10)] == ["0", "9", ""]

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotate import adjudication, assignment, labelling
from annotate.contents import Content
from annotate.models import Intervention, Item, Project, Role, Round, User
from tests import build

pytestmark = pytest.mark.django_db

ITEM = {
    "external_id": "tea",
    "instruction": "Write a haiku about tea.",
    "language": "en",
    "responses": [{"system": "Aster", "text": "Steam"}, {"system": "Briar", "text": "Leaf"}],
    "checklist": {"questions": ["Is it about tea?"], "approved": True},
}


@pytest.fixture
def as_alice(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def post(client: Client, path: str, data: Any = None) -> Any:
    return client.post(f"/api/projects/garden/{path}", data, content_type="application/json")


def test_the_schema_is_made_without_a_warning() -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=StringIO())


def documented() -> str:
    return (Path(__file__).parents[2] / "docs/api.md").read_text()


def test_every_path_is_documented(as_alice: Client) -> None:
    schema = as_alice.get("/api/schema/?format=json", headers={"Accept": "application/vnd.oai.openapi+json"}).json()
    rows = set(re.findall(r"^\| `([A-Z]+) (/api/[^`]*)` \|", documented(), re.MULTILINE))
    known = {(method.upper(), path) for path, methods in schema["paths"].items() for method in methods}
    assert rows == known


def test_the_items_of_the_documentation_come_in(as_alice: Client) -> None:
    examples = re.findall(r"```json\n(.*?)```", documented(), re.DOTALL)
    assert examples
    for example in examples:
        assert post(as_alice, "items/", example).status_code == 201


def test_schema_and_docs_are_for_people_who_are_logged_in(client: Client, ann: User) -> None:
    assert client.get("/api/schema/").status_code == 401
    assert client.get("/api/docs/")["Location"] == "/accounts/login/?next=/api/docs/"
    client.force_login(ann)
    assert "openapi: 3" in client.get("/api/schema/").content.decode()
    assert client.get("/api/docs/").status_code == 200


def test_projects_are_the_readers_own(client: Client, project: Project, ann: User) -> None:
    build.project("orchard")
    client.force_login(ann)
    found = client.get("/api/projects/").json()
    assert [(row["slug"], row["role"]) for row in found["results"]] == [("garden", "annotator")]
    assert client.get("/api/projects/garden/").status_code == 403


def test_a_project_is_read(as_alice: Client) -> None:
    found = as_alice.get("/api/projects/garden/").json()
    assert (found["name"], found["role"], found["scale_high"]) == ("Garden", "curator", 5)


# --- items ---


def test_one_item_or_many_come_in(as_alice: Client, alice: User) -> None:
    answer = post(as_alice, "items/", ITEM)
    assert (answer.status_code, answer.json()) == (
        201,
        {"items": 1, "responses": 2, "checklists": 1, "approved": 1},
    )
    post(as_alice, "items/", [ITEM | {"external_id": f"tea-{number}"} for number in range(2)])
    found = as_alice.get("/api/projects/garden/items/").json()["results"]
    assert [row["external_id"] for row in found] == ["tea", "tea-0", "tea-1"]
    item = as_alice.get(f"/api/projects/garden/items/{found[0]['id']}/").json()
    assert [response["system"] for response in item["responses"]] == ["Aster", "Briar"]
    assert item["checklists"][0]["questions"][0]["text"] == "Is it about tea?"
    assert Item.objects.get(external_id="tea").checklists.get().approved_by == alice


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([ITEM, ITEM], "Row 2: the external_id"),
        ([ITEM, ITEM | {"external_id": "b", "instruction": ""}], "Row 2: the instruction is empty"),
        (ITEM | {"sytem": "x"}, "Row 1: there is no key"),
        (["tea"], "Row 1: every line must be a JSON object"),
        ([], "no items"),
        (ITEM | {"instruction": "\ud800"}, "lone surrogate"),
        (ITEM | {"metadata": {"x": 1e400}}, "not a number"),
    ],
)
def test_nothing_comes_in_where_anything_is_wrong(as_alice: Client, given: Any, sentence: str) -> None:
    body = json.dumps(given).replace("Infinity", "1e400")
    answer = post(as_alice, "items/", body)
    assert answer.status_code == 400
    assert any(sentence in error for error in answer.json()["errors"])
    assert answer.json()["detail"].startswith("Nothing was imported")
    assert not Item.objects.exists()


@pytest.mark.parametrize("body", ["{", "NaN", "[" * 100_000, '{"a": ' * 5000 + "1" + "}" * 5000, "9" * 5000, ""])
def test_a_body_that_is_not_json_is_a_sentence(as_alice: Client, body: str) -> None:
    answer = post(as_alice, "items/", body)
    assert answer.status_code == 400
    assert answer.json()["detail"]


def test_lists_come_in_pages(as_alice: Client, project: Project) -> None:
    for _ in range(3):
        build.item(project)
    first = as_alice.get("/api/projects/garden/items/?page_size=2").json()
    assert len(first["results"]) == 2
    second = as_alice.get(first["next"]).json()
    assert len(second["results"]) == 1
    assert second["next"] is None


def test_responses_name_their_item_and_system(as_alice: Client, project: Project) -> None:
    build.item(project, "tea")
    build.item(build.project("orchard"), "coffee")
    found = as_alice.get("/api/projects/garden/responses/").json()["results"]
    assert [(row["external_id"], row["system"]) for row in found] == [("tea", "Aster"), ("tea", "Briar")]
    one = as_alice.get(f"/api/projects/garden/responses/{found[0]['id']}/").json()
    assert one == found[0]


# --- rounds ---


def test_a_round_is_made_opened_and_closed(as_alice: Client, project: Project, alice: User) -> None:
    build.item(project)
    project.scale_anchors = {"1": "poor"}
    project.save()
    made = post(as_alice, "rounds/", {"name": "Pilot", "kind": "direct_scoring", "overlap": 2})
    assert made.status_code == 201
    assert (made.json()["state"], made.json()["scale_anchors"]) == ("draft", {"1": "poor"})
    path = f"rounds/{made.json()['id']}/"
    opened = post(as_alice, f"{path}open/").json()
    assert (opened["state"], opened["labels_wanted"], opened["labels_submitted"]) == ("open", 4, 0)
    assert post(as_alice, f"{path}close/").json()["state"] == "closed"
    again = post(as_alice, f"{path}open/")
    assert again.status_code == 409
    assert again.json()["detail"].startswith("Only a draft can be opened")
    assert as_alice.get(f"/api/projects/garden/{path}").json()["state"] == "closed"
    assert Round.objects.get().created_by == alice
    assert [(one.action, one.by) for one in Intervention.objects.all()] == [("closed", alice)]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"overlap": 0}, "overlap"),
        ({"overlap": 51}, "overlap"),
        ({"lease_minutes": 0}, "lease_minutes"),
        ({"name": "Taken"}, "name"),
        ({"kind": "guessing"}, "kind"),
        ({"scale_low": 5, "scale_high": 1}, ""),
        ({"scale_anchors": {"9": "much"}}, "scale_anchors"),
        ({"scale_anchors": [1]}, "scale_anchors"),
        ({"name": ""}, "name"),
    ],
)
def test_a_bad_round_is_not_made(as_alice: Client, project: Project, fields: dict[str, Any], wrong: str) -> None:
    build.round(project, name="Taken", opened=False)
    answer = post(as_alice, "rounds/", {"name": "Pilot", "kind": "direct_scoring"} | fields)
    assert answer.status_code == 400
    assert answer.json()["detail"]
    if wrong:
        assert wrong in answer.json()["fields"]
    assert Round.objects.count() == 1


def test_a_draft_is_discarded_by_those_who_research(client: Client, project: Project, bob: User, ann: User) -> None:
    build.item(project)
    draft, opened = build.round(project, opened=False), build.round(project)
    address = f"/api/projects/garden/rounds/{draft.pk}/"
    client.force_login(ann)
    assert client.delete(address).status_code == 403
    client.force_login(build.user("charlie"))
    assert client.delete(address).status_code == 404
    client.force_login(bob)
    assert client.delete(address).status_code == 204
    assert client.delete(address).status_code == 404
    kept = client.delete(f"/api/projects/garden/rounds/{opened.pk}/")
    assert (kept.status_code, kept.json()) == (
        409,
        {"detail": "Only a draft can be discarded: reload the page to see its present state."},
    )


def test_the_state_of_a_round_cannot_be_written(as_alice: Client) -> None:
    made = post(as_alice, "rounds/", {"name": "Pilot", "kind": "direct_scoring", "state": "open"})
    assert made.json()["state"] == "draft"


def test_labels_are_what_was_submitted(as_alice: Client, project: Project, ann: User) -> None:
    build.checklist(build.item(project, "tea", systems=("Aster",)), "Is it about tea?")
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE)
    build.submitted(round.tasks.get(), ann, 4)
    abe = build.member(project, Role.ANNOTATOR, "abe")
    assert assignment.next_task(round, abe)  # a draft, which is no label
    (label,) = as_alice.get(f"/api/projects/garden/rounds/{round.pk}/labels/").json()["results"]
    assert (label["item"], label["system"], label["annotator"], label["score"]) == ("tea", "Aster", "ann", 4)
    assert (label["simulated"], label["surplus"]) == (False, False)
    assert [(answer["question"], answer["value"]) for answer in label["answers"]] == [("Is it about tea?", "yes")]


def test_labels_of_pairs_say_what_they_are_about(as_alice: Client, project: Project, ann: User, alice: User) -> None:
    item = build.item(project, systems=("Aster", "Briar"))
    question = build.checklist(item, "Is it short?").questions.get()
    round = build.round(project, Round.Kind.PAIRWISE_CHECKLIST, allow_unsure=True)
    round.tasks.update(swapped=True)
    task = round.tasks.get()
    content = Content(
        answers={question.pk: "yes"},
        other_answers={question.pk: "unsure"},
        preference=2,
        quotes={"whole": "all of it"},
        flags={str(question.pk): "Short for whom?"},
    )
    labelling.withdraw(build.said(task, ann, content), "left")
    (label,) = as_alice.get(f"/api/projects/garden/rounds/{round.pk}/labels/").json()["results"]
    assert (label["system"], label["other_system"], label["swapped"]) == ("Aster", "Briar", True)
    assert (label["preference"], label["state"], label["withdrawn_because"]) == (2, "withdrawn", "left")
    assert [(answer["about_other"], answer["value"]) for answer in label["answers"]] == [
        (False, "yes"),
        (True, "unsure"),
    ]
    assert (label["quotes"], label["exposure"]["left"], label["revisions"]) == (
        {"whole": "all of it"},
        task.other_id,
        0,
    )
    for preference in (3, 4):
        adjudication.decide(task, alice, replace(content, preference=preference))
    found = as_alice.get(f"/api/projects/garden/rounds/{round.pk}/adjudications/").json()["results"]
    assert [(row["preference"], row["counts"], row["adjudicator"]) for row in found] == [
        (3, False, "alice"),
        (4, True, "alice"),
    ]
    assert found[1]["other_answers"] == {str(question.pk): "unsure"}
    assert (found[1]["quotes"], found[1]["flags"]) == (content.quotes, content.flags)
    assert "annotator" not in found[1]


# --- experiments ---


def test_an_experiment_is_made_and_rounds_become_its_arms(as_alice: Client, project: Project) -> None:
    made = post(as_alice, "experiments/", {"name": "Two ways", "seed": 7, "same_unit_again": True})
    assert made.status_code == 201
    arms = [
        post(as_alice, "rounds/", {"name": kind, "kind": kind, "experiment": made.json()["id"], "arm": kind}).json()
        for kind in ("direct_scoring", "check_then_score")
    ]
    assert [(arm["experiment"], arm["arm"]) for arm in arms] == [
        (made.json()["id"], "direct_scoring"),
        (made.json()["id"], "check_then_score"),
    ]
    (listed,) = as_alice.get("/api/projects/garden/experiments/").json()["results"]
    assert (listed["name"], listed["seed"], listed["draws_arms"], listed["same_unit_again"]) == (
        "Two ways",
        7,
        True,
        True,
    )
    assert sorted(listed["arms"]) == [arm["id"] for arm in arms]
    assert as_alice.get(f"/api/projects/garden/experiments/{listed['id']}/").json() == listed
    assert project.experiments.get().arms.count() == 2


def test_a_bad_experiment_is_not_made(as_alice: Client, project: Project) -> None:
    project.experiments.create(name="Taken")
    for wrong in ({"name": "Taken"}, {"name": ""}, {"seed": -1}, {"draws_arms": "perhaps"}):
        answer = post(as_alice, "experiments/", {"name": "Two ways", **wrong})
        assert (answer.status_code, list(answer.json()["fields"])) == (400, list(wrong))
    assert project.experiments.count() == 1


def test_a_round_is_no_arm_of_an_experiment_that_it_cannot_be_in(as_alice: Client, project: Project) -> None:
    foreign = build.project("orchard").experiments.create(name="Secret-Orchard")
    own = project.experiments.create(name="Two ways")
    given = {"name": "Pilot", "kind": "direct_scoring"}
    for wrong in ({"experiment": foreign.pk}, {"experiment": own.pk, "purpose": "training"}):
        answer = post(as_alice, "rounds/", given | wrong)
        assert (answer.status_code, list(answer.json()["fields"])) == (400, ["experiment"])
        assert "Secret-Orchard" not in answer.content.decode()
    assert as_alice.get(f"/api/projects/garden/experiments/{foreign.pk}/").status_code == 404
    assert not Round.objects.exists()


def test_experiments_are_for_those_who_research(client: Client, project: Project, ann: User) -> None:
    found = project.experiments.create(name="Two ways")
    for person, status in ((ann, 403), (build.user("eve"), 404)):
        client.force_login(person)
        assert client.get("/api/projects/garden/experiments/").status_code == status
        assert client.get(f"/api/projects/garden/experiments/{found.pk}/").status_code == status
        assert post(client, "experiments/", {}).status_code == status


def test_a_round_is_made_with_everything_that_the_form_has(as_alice: Client, project: Project) -> None:
    build.item(project)
    practice = build.round(project, Round.Kind.PREFERENCE, purpose=Round.Purpose.TRAINING)
    given = {
        "kind": "preference",
        "baseline": "Aster",
        "order": "fixed",
        "comment_for": ["tie"],
        "show_reference": True,
        "reveal": "closed",
        "qualification": practice.pk,
        "pass_mark": 70,
    }
    made = post(as_alice, "rounds/", {"name": "Pilot", **given}).json()
    assert {name: made[name] for name in given} == given
    assert (made["purpose"], made["size"]) == ("labels", 0)
    foreign = build.round(build.project("orchard"), opened=False, name="Secret-Orchard")
    for wrong in ({"comment_for": ["rain"]}, {"gold": foreign.pk}, {"qualification": made["id"]}, {"reveal": "now"}):
        answer = post(as_alice, "rounds/", {"name": "Other", **given, **wrong})
        assert (answer.status_code, list(answer.json()["fields"])) == (400, list(wrong))
        assert "Secret-Orchard" not in answer.content.decode()


def test_rows_of_another_project_are_not_found(as_alice: Client) -> None:
    other = build.project("orchard")
    item = build.item(other)
    round = build.round(other)
    for path in (f"items/{item.pk}/", f"rounds/{round.pk}/", f"rounds/{round.pk}/labels/"):
        assert as_alice.get(f"/api/projects/garden/{path}").status_code == 404
    assert post(as_alice, f"rounds/{round.pk}/close/").status_code == 404


def test_pages_of_items_do_not_ask_for_every_item(
    as_alice: Client, project: Project, django_assert_max_num_queries: Any
) -> None:
    for _ in range(8):
        build.checklist(build.item(project))
    with django_assert_max_num_queries(8):
        assert len(as_alice.get("/api/projects/garden/items/").json()["results"]) == 8


def test_a_session_without_a_csrf_token_writes_nothing(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert post(client, "items/", ITEM).status_code == 403
    assert not Item.objects.exists()


def test_anonymous_readers_are_told_how_to_come_in(client: Client, project: Project) -> None:
    answer = client.get(reverse("api:item-list", args=["garden"]))
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Token"

"""Walks every URL of the site as everybody: outsiders get 404, members with another role 403, strangers are sent away.

A page says who may open it in `view.roles` (annotate/access.py), a view set of the API in `roles_of`. What is not
beneath a project is named below. A new URL needs one line in `World.arguments`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotate import assignment
from annotate.access import CURATE
from annotate.api.base import ProjectViewSet
from annotate.models import Experiment, Invitation, Role, Upload, User
from judging.runs import plan_judging
from tests import build

PUBLIC = {"login", "theme", "language", "invitation", "healthz", "readyz"}
FOR_EVERYBODY_LOGGED_IN = {
    "home",
    "keys",
    "logout",
    "password_change",
    "password_change_done",
    "tokens",
    "token_delete",
    "api:docs",
    "api:project-list",
    "api:schema",
}
FOR_NOBODY_WITHOUT_A_PERMISSION = {"project_create"}
# Pages that researchers may read, with forms that only curators may send.
SENT_BY_CURATORS = {"checklist", "checklists", "dimension", "prompt"}
# A second press of a button on these leads on, instead of to an error, whatever the number in the address.
LEADS_ON = {"import_preview"}

ROLES = {"anonymous": None, "outsider": None, **{role.value: role for role in Role}}


@dataclass(frozen=True)
class Url:
    name: str
    view: Any

    def roles(self, method: str) -> tuple[Role, ...] | None:
        """Who may send `method` here; None where the URL is not beneath a project."""
        view_set = getattr(self.view, "cls", None)
        if isinstance(view_set, type) and issubclass(view_set, ProjectViewSet):
            return view_set.roles_of(self.view.actions.get(method))
        if method == "post" and self.name in SENT_BY_CURATORS:
            return CURATE
        return getattr(self.view, "roles", None)


def walk(patterns: list[URLPattern | URLResolver], namespace: str = "") -> Iterator[Url]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from walk(pattern.url_patterns, inner)
        else:
            assert pattern.name, f"{pattern.pattern} has no name: give it one."
            yield Url(f"{namespace}{pattern.name}", pattern.callback)


def urls() -> list[Url]:
    return list(walk(get_resolver().url_patterns))


class World:
    """A project with one of everything, and its people."""

    def __init__(self, slug: str) -> None:
        self.project = build.project(slug)
        self.people = {role.value: build.member(self.project, role, f"{role}-of-{slug}") for role in Role}
        curator, annotator = self.people["curator"], self.people["annotator"]
        self.item = build.item(self.project)
        self.checklist = build.checklist(self.item, approved=False)
        self.dimension = build.dimension(self.project)
        self.round = build.round(self.project)
        self.submission = build.submitted(self.round.tasks.all()[1], annotator, 3)
        task = assignment.next_task(self.round, annotator)
        assert task is not None
        self.task = task
        self.experiment = Experiment.objects.create(project=self.project, name="Two ways")
        self.revealed = build.round(self.project, reveal="submitted").tasks.all()[0]
        build.submitted(self.revealed, annotator, 3)
        self.training = build.round(self.project, purpose="training")
        self.practised = build.round(self.project, qualification=self.training)
        self.judge = build.judge(self.project)
        self.run = plan_judging(self.project, self.judge, "direct", self.round)
        self.upload = Upload.objects.create(project=self.project, user=curator, filename="a.jsonl", content=b"{}")
        self.invitation, self.token = Invitation.objects.issue(self.project, Role.ANNOTATOR, curator)

    def arguments(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """What stands in the address of every URL, by its name."""

        def nothing() -> dict[str, Any]:
            return {}

        def slug() -> dict[str, Any]:
            return {"slug": self.project.slug}

        def of(thing: Any, **more: Any) -> Callable[[], dict[str, Any]]:
            return lambda: {"slug": self.project.slug, "pk": thing.pk, **more}

        response, annotator = self.item.responses.first(), self.people["annotator"]
        return {
            "home": nothing,
            "login": nothing,
            "logout": nothing,
            "password_change": nothing,
            "password_change_done": nothing,
            "tokens": nothing,
            "keys": nothing,
            "token_delete": lambda: {"key": "nosuchtoken"},
            "theme": nothing,
            "language": nothing,
            "invitation": lambda: {"token": self.token},
            "project_create": nothing,
            "project": slug,
            "project_settings": slug,
            "members": slug,
            "invitation_revoke": of(self.invitation),
            "items": slug,
            "item": of(self.item),
            "import_items": slug,
            "import_preview": of(self.upload),
            "checklists": slug,
            "checklist": of(self.checklist),
            "checklist_create": of(self.item),
            "dimensions": slug,
            "dimension_create": slug,
            "dimension": of(self.dimension),
            "dimension_edit": of(self.dimension),
            "rounds": slug,
            "round_create": slug,
            "round": of(self.round),
            "round_preview": slug,
            "round_discard": of(self.round),
            "round_seats": of(self.round),
            "round_labels": of(self.round),
            "round_annotator": of(self.round, person=annotator.pk),
            "round_remove": of(self.round, person=annotator.pk),
            "round_label": of(self.submission),
            "experiment": of(self.experiment),
            "reported": slug,
            "training_set": of(self.training),
            "training_key": of(self.training, position=1),
            "training_key_save": of(self.training, position=1),
            "practice": of(self.practised),
            "annotate": of(self.round),
            "task": of(self.task),
            "task_save": of(self.task),
            "my_labels": of(self.round),
            "revealed": of(self.revealed),
            "adjudication": of(self.round),
            "adjudicate": of(self.round, position=1),
            "export_labels": of(self.round, format="jsonl"),
            "judges": slug,
            "judge_create": slug,
            "judge": of(self.judge),
            "prompts": slug,
            "prompt": lambda: {"slug": self.project.slug, "name": "tick"},
            "generate": slug,
            "runs": slug,
            "run_create": slug,
            "run": of(self.run),
            "run_progress": of(self.run),
            "call": of(self.run, position=1),
            "agreement": of(self.round),
            "export_verdicts": of(self.run, format="jsonl"),
            "run_scores": of(self.run),
            "export_scores": of(self.run, format="csv"),
            "export_scores_weights": of(self.run, format="csv"),
            "run_comparison": of(self.run),
            "export_comparison": of(self.run, format="jsonl"),
            "run_disagreements": of(self.run),
            "round_judges": of(self.round),
            "healthz": nothing,
            "readyz": nothing,
            "api:schema": nothing,
            "api:docs": nothing,
            "api:project-list": nothing,
            "api:project-detail": slug,
            "api:item-list": slug,
            "api:item-detail": of(self.item),
            "api:response-list": slug,
            "api:response-detail": of(response),
            "api:experiment-list": slug,
            "api:experiment-detail": of(self.experiment),
            "api:round-list": slug,
            "api:round-detail": of(self.round),
            "api:round-open": of(self.round),
            "api:round-close": of(self.round),
            "api:round-labels": of(self.round),
            "api:round-adjudications": of(self.round),
            "api:agreement": of(self.round),
            "api:judge-list": slug,
            "api:judge-detail": of(self.judge),
            "api:run-list": slug,
            "api:run-estimate": slug,
            "api:run-detail": of(self.run),
            "api:run-pause": of(self.run),
            "api:run-resume": of(self.run),
            "api:run-cancel": of(self.run),
            "api:run-retry": of(self.run),
            "api:run-repeats": of(self.run),
            "api:run-limit": of(self.run),
            "api:run-verdicts": of(self.run),
        }


@pytest.fixture
def garden(db: None) -> World:
    return World("garden")


@pytest.fixture
def outsider(db: None) -> User:
    return build.user("outsider")


def answer(method: str, path: str, person: User | None) -> tuple[int, str]:
    """Status and redirect of one request, whose changes are undone."""
    client = Client()
    with transaction.atomic():
        if person is not None:
            client.force_login(person)
        response = getattr(client, method)(path)
        transaction.set_rollback(True)
    return response.status_code, response.get("Location", "")


def fault(url: Url, method: str, who: str, status: int, location: str) -> str:
    """What is wrong with this answer to this person; "" where it is right."""
    sent_to_login = status == 302 and location.startswith(reverse("login"))
    turned_away = sent_to_login or status in {401, 403, 404}
    roles = url.roles(method)
    if url.name in PUBLIC:
        return "is public, but turns people away" if turned_away else ""
    if who == "anonymous":
        right = status == 401 if url.name.startswith("api:") and url.name != "api:docs" else sent_to_login
        return "" if right else "lets strangers in"
    if status == 405:
        return ""
    if url.name in FOR_NOBODY_WITHOUT_A_PERMISSION:
        return "" if status == 403 else "wants a permission, but lets people in without it"
    if url.name in FOR_EVERYBODY_LOGGED_IN:
        known = {"token_delete": 404}.get(url.name)
        return "turns people away who are logged in" if turned_away and status != known and url.name != "logout" else ""
    if roles is None:
        return "says nowhere who may open it: use @members, ProjectViewSet.roles, or the sets of this test"
    if who == "outsider":
        return "" if status == 404 else "does not hide from outsiders"
    if ROLES[who] in roles:
        return "turns a member away whose role may open it" if turned_away else ""
    return "" if status == 403 else "lets a member in whose role may not open it"


def test_every_url_stands_in_the_table(garden: World) -> None:
    known, found = set(garden.arguments()), {url.name for url in urls()}
    assert not found - known, f"Add {sorted(found - known)} to World.arguments in tests/test_access.py."
    assert not known - found, f"Remove {sorted(known - found)} from World.arguments in tests/test_access.py."


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("who", ROLES)
def test_every_url_opens_to_whom_it_should(garden: World, outsider: User, who: str, method: str) -> None:
    person = {"anonymous": None, "outsider": outsider, **garden.people}[who]
    table = garden.arguments()
    faults = []
    for url in urls():
        path = reverse(url.name, kwargs=table[url.name]())
        status, location = answer(method, path, person)
        found = fault(url, method, who, status, location)
        if found:
            faults.append(f"{method.upper()} {path} ({url.name}) {found}: {who} got {status} {location}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("who", [role.value for role in Role])
def test_things_of_another_project_are_not_found(garden: World, who: str, method: str) -> None:
    """The right role in one's own project, and the number of a thing of another one."""
    orchard = World("orchard").arguments()
    faults = []
    for url in urls():
        kwargs = orchard[url.name]()
        if "slug" not in kwargs or "pk" not in kwargs or Role(who) not in (url.roles(method) or ()):
            continue
        path = reverse(url.name, kwargs=kwargs | {"slug": "garden"})
        status, location = answer(method, path, garden.people[who])
        if status not in {404, 405} and not (url.name in LEADS_ON and method == "post"):
            faults.append(f"{method.upper()} {path} ({url.name}): {who} got {status} {location}")
    assert not faults, "\n".join(faults)

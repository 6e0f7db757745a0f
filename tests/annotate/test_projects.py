from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from annotate import overview
from annotate.forms.projects import AnchorsField
from annotate.models import Project, Role, Round, User
from judging.models import Run
from tests import build

pytestmark = pytest.mark.django_db


def page_of(project: Project, name: str = "project") -> str:
    return reverse(name, args=[project.slug])


def step_of(project: Project, user: User) -> overview.NextStep:
    return overview.next_step(project.memberships.select_related("project", "user").get(user=user))


# --- the list ---


def test_home_lists_my_projects_and_no_others(client: Client, project: Project, ann: User) -> None:
    build.project("orchard")
    client.force_login(ann)
    page = client.get("/").content.decode()
    assert "Garden" in page
    assert "You are annotator." in page
    assert "Orchard" not in page


def test_home_of_somebody_without_projects_says_whom_to_ask(client: Client, charlie: User) -> None:
    client.force_login(charlie)
    page = client.get("/").content.decode()
    assert "Ask a curator for an invitation link" in page
    assert reverse("project_create") not in page


# --- a new project ---


@pytest.fixture
def creator(charlie: User) -> User:
    charlie.user_permissions.add(Permission.objects.get(codename="add_project"))
    return charlie


def new(**fields: str) -> dict[str, str]:
    return {"name": "Rose garden", "slug": "", "scale_low": "1", "scale_high": "5"} | fields


def test_whoever_may_not_create_projects_is_told_whom_to_ask(client: Client, alice: User) -> None:
    client.force_login(alice)
    answer = client.post(reverse("project_create"), new())
    assert answer.status_code == 403
    assert "Ask whoever runs it" in answer.content.decode()
    assert Project.objects.count() == 1


def test_the_creator_becomes_curator(client: Client, creator: User) -> None:
    client.force_login(creator)
    assert "Create a project" in client.get("/").content.decode()
    answer = client.post(reverse("project_create"), new(scale_anchors="1: poor\n5: excellent"))
    made = Project.objects.get(slug="rose-garden")
    assert answer["Location"] == page_of(made)
    assert made.role_of(creator) == Role.CURATOR
    assert made.scale_anchors == {"1": "poor", "5": "excellent"}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "薔薇の庭"}, "write a name for the address"),
        ({"slug": "new"}, "is taken"),
        ({"slug": "NEW"}, "is taken"),
        ({"name": "Garden"}, "is taken"),
        ({"slug": "a b"}, "letters, numbers"),
        ({"scale_low": "5"}, "highest score must be above the lowest"),
        ({"scale_high": "12"}, "at most 11 scores"),
        ({"scale_anchors": "6: perfect"}, "not on the scale"),
        ({"scale_anchors": "poor"}, "Line 1 is not a score with its text"),
        ({"name": ""}, "required"),
    ],
)
def test_a_bad_project_is_not_made(
    client: Client, project: Project, creator: User, fields: dict[str, str], sentence: str
) -> None:
    client.force_login(creator)
    assert sentence in client.post(reverse("project_create"), new(**fields)).content.decode()
    assert Project.objects.count() == 1


def test_a_name_without_latin_letters_takes_a_written_address(client: Client, creator: User) -> None:
    client.force_login(creator)
    client.post(reverse("project_create"), new(name="薔薇の庭", slug="bara"))
    assert Project.objects.get(slug="bara").name == "薔薇の庭"


# --- the anchors ---


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("", {}),
        ("1: poor\n\n5: excellent\n", {"1": "poor", "5": "excellent"}),
        ("1：悪い", {"1": "悪い"}),
        ("-1: bad\r\n01: fair: so, so", {"-1": "bad", "1": "fair: so, so"}),
    ],
)
def test_anchors_are_read(text: str, anchors: dict[str, str]) -> None:
    field = AnchorsField(required=False)
    assert field.clean(text) == anchors
    assert field.clean(field.prepare_value(anchors)) == anchors


@pytest.mark.parametrize(
    "text", ["poor", "1:", ": poor", "1.5: poor", "²: poor", "99999: poor", "1: a\n1: b", "--1: a"]
)
def test_anchors_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(Exception, match=r"is not a score with its text|has two texts"):
        AnchorsField(required=False).clean(text)


# --- settings ---


def test_settings_are_saved(client: Client, project: Project, alice: User) -> None:
    client.force_login(alice)
    form = {
        "name": "Kitchen garden",
        "guidelines": "Be fair.",
        "scale_low": "0",
        "scale_high": "3",
        "scale_anchors": "0: no",
    }
    assert client.post(page_of(project, "project_settings"), form)["Location"] == page_of(project, "project_settings")
    project.refresh_from_db()
    assert (project.name, project.slug, project.scale_anchors) == ("Kitchen garden", "garden", {"0": "no"})
    assert "0: no</textarea>" in client.get(page_of(project, "project_settings")).content.decode()


def test_refused_settings_stay_in_the_form_and_nothing_is_saved(client: Client, project: Project, alice: User) -> None:
    client.force_login(alice)
    form = {"name": "Kitchen garden", "scale_low": "1", "scale_high": "5", "scale_anchors": "9: too much"}
    page = client.post(page_of(project, "project_settings"), form).content.decode()
    assert "9: too much</textarea>" in page
    assert 'value="Kitchen garden"' in page
    project.refresh_from_db()
    assert project.name == "Garden"


# --- what to do next ---


def test_the_next_step_follows_the_state_of_the_project(project: Project, alice: User, bob: User) -> None:
    assert step_of(project, alice).url == page_of(project, "import_items")
    assert step_of(project, bob).url == ""

    item = build.item(project)
    assert step_of(project, alice).url == page_of(project, "generate")

    draft = build.checklist(item, approved=False)
    assert step_of(project, alice).url == page_of(project, "checklists")
    assert "One draft checklist" in step_of(project, alice).sentence

    draft.approve(alice)
    assert step_of(project, bob).url == page_of(project, "round_create")

    round = build.round(project, Round.Kind.CHECK_THEN_SCORE, opened=False, overlap=1)
    assert step_of(project, bob).url == reverse("round", args=["garden", round.pk])

    round.open()
    assert step_of(project, alice).url == page_of(project, "members")
    assert step_of(project, bob).url == ""

    ann = build.member(project, Role.ANNOTATOR, "ann")
    assert step_of(project, bob).url == f"{page_of(project, 'run_create')}?round={round.pk}"

    Run.objects.create(project=project, judge=build.judge(project), method="tick", round=round, prompt_version="x")
    assert step_of(project, bob).url == reverse("agreement", args=["garden", round.pk])

    for task in round.tasks.all():
        build.submitted(task, ann, 3)
    assert "Every round is complete" in step_of(project, bob).sentence


def test_the_overview_shows_researchers_where_the_project_stands(client: Client, project: Project, bob: User) -> None:
    build.checklist(build.item(project))
    round = build.round(project, name="Pilot")
    build.submitted(round.tasks.get(position=1), build.member(project, Role.ANNOTATOR), 3)
    client.force_login(bob)
    page = client.get(page_of(project)).content.decode()
    assert "Next step" in page
    assert "2 responses" in page
    assert "Tasks submitted</th>" in page
    assert "1 / 6" in page
    assert page_of(project, "members") not in page


# --- annotators ---


def test_annotators_see_their_open_rounds(client: Client, project: Project, ann: User) -> None:
    build.item(project)
    round = build.round(project, name="Pilot")
    build.round(project, name="Secret draft", opened=False)
    client.force_login(ann)
    page = client.get(page_of(project)).content.decode()
    assert "Pilot" in page
    assert "0 of 2" in page
    assert "Start<" in page
    assert "Secret draft" not in page
    build.submitted(round.tasks.get(position=1), ann, 3)
    page = client.get(page_of(project)).content.decode()
    assert "1 of 2" in page
    assert "Continue<" in page
    build.submitted(round.tasks.get(position=2), ann, 3)
    assert "You have done everything in this round" in client.get(page_of(project)).content.decode()
    assert "Nothing waits for you" in client.get("/").content.decode()


def test_the_overview_and_the_screen_count_the_same_tasks(
    client: Client, project: Project, ann: User, abe: User
) -> None:
    build.item(project)
    round = build.round(project, overlap=1)
    build.submitted(round.tasks.get(position=1), abe, 3)
    client.force_login(ann)
    card = " ".join(client.get(page_of(project)).content.decode().split())
    assert "Tasks submitted" in card
    assert "0 of 2" in card
    assert "One task waits for you." in card
    screen = client.get(reverse("annotate", args=["garden", round.pk]), follow=True).content.decode()
    assert "Tasks: 0 of 2 submitted" in screen


def test_annotators_without_a_round_are_told_so_quietly(client: Client, project: Project, ann: User) -> None:
    client.force_login(ann)
    assert "Nothing to do at the moment" in client.get(page_of(project)).content.decode()


def test_annotators_never_see_systems_counts_or_runs(client: Client, project: Project, ann: User) -> None:
    zebulon = build.member(project, Role.ANNOTATOR, "zebulon")
    project.guidelines = "Be **fair** <script>alert(1)</script>"
    project.save()
    build.checklist(build.item(project, systems=("Aster", "Briar")))
    round = build.round(project)
    build.submitted(round.tasks.get(position=1), zebulon, 3)
    Run.objects.create(
        project=project, judge=build.judge(project, name="Oracle"), method="direct", round=round, prompt_version="x"
    )
    client.force_login(ann)
    assert "Be <strong>fair</strong>" in client.get(page_of(project)).content.decode()
    for page in (client.get("/").content.decode(), client.get(page_of(project)).content.decode()):
        for secret in ("Aster", "Briar", "Oracle", "zebulon", "checklists/", "/runs/", "/agreement/", "<script>alert"):
            assert secret not in page


def test_tabs_follow_the_role(client: Client, project: Project, alice: User, bob: User, ann: User) -> None:
    def tabs(user: User, page: str) -> list[str]:
        client.force_login(user)
        html = client.get(page).content.decode()
        bar = html[html.index('<nav class="tabs"') : html.index("</nav>", html.index('<nav class="tabs"'))]
        return [part.split("</a>")[0].rsplit(">", 1)[1] for part in bar.split("<li>")[1:]]

    everything = ["Overview", "Items", "Checklists", "Rounds", "Judges", "Runs", "Members", "Settings"]
    assert tabs(alice, page_of(project)) == everything
    assert tabs(bob, page_of(project)) == everything[:-2]
    assert tabs(ann, page_of(project)) == ["Overview"]


def test_the_current_tab_is_marked(client: Client, project: Project, alice: User) -> None:
    client.force_login(alice)
    assert 'members/" aria-current="page"' in client.get(page_of(project, "members")).content.decode()


def test_pages_keep_their_number_of_queries(
    client: Client, project: Project, bob: User, django_assert_max_num_queries: Any
) -> None:
    for _ in range(5):
        build.item(project)
        build.round(project)
    client.force_login(bob)
    with django_assert_max_num_queries(25):
        client.get(page_of(project))

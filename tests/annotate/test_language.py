"""The language of the pages: chosen in the menu or the footer, kept in the browser, found again on another machine."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotate.models import Invitation, Project, Response, Role, User
from tests import build

pytestmark = pytest.mark.django_db


def shown_in(client: Client) -> str:
    """The language of the page that `client` sees first, in a browser that would rather have German."""
    page = client.get(reverse("home"), headers={"Accept-Language": "de"}, follow=True).content.decode()
    return page.split('<html lang="')[1].split('"')[0]


def pressed(page: str) -> list[str]:
    """The languages whose button says that it is the current one."""
    buttons = [part.split(">")[0] for part in page.split("<button")[1:]]
    return [button.split('lang="')[1][:2] for button in buttons if "lang=" in button and 'pressed="true"' in button]


@pytest.mark.parametrize(
    ("next_page", "lands"),
    [
        ("/accounts/login/?next=/x", "/accounts/login/?next=/x"),
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ],
)
def test_a_stranger_keeps_the_choice_in_the_browser(client: Client, next_page: str, lands: str) -> None:
    assert shown_in(client) == "en"
    answer = client.post(reverse("language"), {"language": "ja", "next": next_page})
    assert answer["Location"] == lands
    assert answer.cookies["django_language"]["samesite"] == "Lax"
    assert shown_in(client) == "ja"


def test_each_language_is_offered_in_its_own_words(client: Client, ann: User) -> None:
    page = client.get(reverse("login"), headers={"Accept-Language": "ja"}).content.decode()
    assert 'lang="en" aria-pressed="false">English</button>' in page
    assert 'lang="ja" aria-pressed="true">日本語</button>' in page
    client.force_login(ann)
    assert pressed(client.get(reverse("home")).content.decode()) == ["en"]


@pytest.mark.parametrize("word", ["de", "", '"><script>', "ja\0"])
def test_an_unknown_language_changes_nothing(client: Client, ann: User, word: str) -> None:
    client.force_login(ann)
    answer = client.post(reverse("language"), {"language": word})
    assert answer.status_code == 302
    assert "django_language" not in answer.cookies
    ann.refresh_from_db()
    assert ann.language == ""


def test_the_choice_needs_a_post(client: Client) -> None:
    assert client.get(reverse("language"), {"language": "ja"}).status_code == 405


def test_the_choice_of_a_person_comes_along_to_another_machine(client: Client, ann: User, abe: User) -> None:
    client.force_login(ann)
    client.post(reverse("language"), {"language": "ja"})
    assert shown_in(client) == "ja"
    elsewhere = Client()
    assert shown_in(elsewhere) == "en"
    elsewhere.post(reverse("login"), {"username": "ann", "password": "correct horse"})
    assert shown_in(elsewhere) == "ja"
    abe.refresh_from_db()
    assert abe.language == ""


def test_a_login_without_a_stored_choice_keeps_the_language_of_the_browser(client: Client, ann: User) -> None:
    client.post(reverse("language"), {"language": "ja"})
    client.post(reverse("login"), {"username": "ann", "password": "correct horse"})
    assert shown_in(client) == "ja"


JAPANESE = "春の庭について書いてください。"
SHOWN_IN_ATTRIBUTES = re.compile(r'(?:aria-label|title|placeholder|value)="([^"]*)"')
NOT_OURS = re.compile(r'<(code|pre|option|style|script)\b.*?</\1>|<(\w+)[^>]* lang="en".*?</\2>', re.DOTALL)
ENGLISH = re.compile(r"[A-Za-z]{2,}(?:[ ,:]+[A-Za-z]{2,}){2,}")


def english_in(page: str) -> list[str]:
    """Three or more English words in a row that a page shows or reads out."""
    body = NOT_OURS.sub("", page[page.index("<title>") :])
    texts = [*SHOWN_IN_ATTRIBUTES.findall(body), *re.split(r"<[^>]*>", body)]
    return [match[0] for text in texts for match in ENGLISH.finditer(text)]


@pytest.fixture
def japanese_garden(project: Project) -> Project:
    """A project with one of everything, whose own texts are Japanese."""
    Project.objects.filter(pk=project.pk).update(name="庭", description="庭の文章", guidelines="よく読んでください。")
    project.refresh_from_db()
    item = build.item(project, "i1", instruction=JAPANESE, language="ja", history=[{"role": "user", "content": "庭"}])
    first = build.checklist(item, "短いですか。")
    first.edit(["とても短いですか。"], None)
    build.item(project, "i2", instruction=JAPANESE)
    Response.objects.update(text="庭は静かです。")
    dimension = build.dimension(project, "一貫性", definition="話が通っているか。")
    build.dimension_checklist(dimension, 流れ=["順序は自然ですか。"])
    build.dimension(project, "流暢さ", definition="読みやすいか。", archived=True)
    build.round(project, name="一回目")
    return project


PAGES = {
    "": ["/accounts/login/", "/invitations/none/"],
    "alice": [
        "/",
        "/projects/new/",
        "/accounts/tokens/",
        "/accounts/password/",
        "/projects/garden/",
        "/projects/garden/settings/",
        "/projects/garden/members/",
        "/projects/garden/items/",
        "/projects/garden/items/?q=none",
        "/projects/garden/items/import/",
        "/projects/garden/checklists/",
        "/projects/garden/checklists/?state=approved",
        "/projects/garden/checklists/?state=retired",
        "/projects/garden/checklists/?state=missing",
        "/projects/garden/checklists/dimensions/",
        "/projects/garden/checklists/dimensions/new/",
        "/projects/garden/rounds/",
        "/projects/garden/rounds/new/",
    ],
    "ann": ["/", "/projects/garden/", "/projects/garden/items/", "/projects/other/"],
}


@pytest.mark.parametrize("username", PAGES)
def test_pages_in_japanese_show_no_english_sentence(
    client: Client, japanese_garden: Project, alice: User, ann: User, username: str
) -> None:
    pages = list(PAGES[username])
    item, round = japanese_garden.items.first(), japanese_garden.rounds.first()
    dimension = japanese_garden.dimensions.first()
    assert item
    assert round
    assert dimension
    if username == "ann":
        pages += [reverse(name, args=["garden", round.pk]) for name in ("annotate", "my_labels")]
    if username == "alice":
        alice.user_permissions.add(Permission.objects.get(codename="add_project"))
        pages += [reverse("item", args=["garden", item.pk]), reverse("checklist_create", args=["garden", item.pk])]
        pages += [reverse("checklist", args=["garden", checklist.pk]) for checklist in item.checklists.all()]
        pages += [reverse(name, args=["garden", dimension.pk]) for name in ("dimension", "dimension_edit")]
        pages += [
            reverse(name, args=["garden", round.pk])
            for name in ("round", "round_labels", "round_seats", "adjudication")
        ]
    if username:
        client.force_login({"alice": alice, "ann": ann}[username])
    else:
        _invitation, token = Invitation.objects.issue(japanese_garden, Role.ANNOTATOR, alice)
        pages += [reverse("invitation", args=[token])]
    found = {}
    for path in pages:
        page = client.get(path, headers={"Accept-Language": "ja"}, follow=True).content.decode()
        assert '<html lang="ja"' in page, path
        found[path] = english_in(page)
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"external_id": "a"}', "1行目：キー&quot;instruction&quot;がありません。"),
        ('{"external_id": 1, "instruction": "x", "responses": []}', "引用符で囲んで文字列にしてください。"),
        ('{"external_id": "a", "instruction": "x", "response": []}', "&quot;responses&quot;のことですか。"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_japanese(
    client: Client, project: Project, alice: User, line: str, sentence: str
) -> None:
    client.force_login(alice)
    file = SimpleUploadedFile("items.jsonl", line.encode())
    page = client.post(reverse("import_items", args=["garden"]), {"file": file}, headers={"Accept-Language": "ja"})
    assert sentence in page.content.decode()
    assert english_in(page.content.decode()) == []

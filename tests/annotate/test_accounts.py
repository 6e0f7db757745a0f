from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY
from django.test import Client
from django.urls import reverse
from knox.models import AuthToken

from annotate.logins import SessionStore
from annotate.models import LoginAttempt, User
from tests import build

pytestmark = pytest.mark.django_db


def log_in(client: Client, password: str = "correct horse", username: str = "ann", **extra: Any) -> Any:
    return client.post(reverse("login"), {"username": username, "password": password}, **extra)


def test_login_leads_to_the_page_one_came_for(client: Client, ann: User) -> None:
    refused = client.get("/accounts/tokens/")
    assert refused.status_code == 302
    assert refused["Location"] == "/accounts/login/?next=/accounts/tokens/"
    page = client.get(refused["Location"])
    assert 'name="next" value="/accounts/tokens/"' in page.content.decode()
    answer = client.post(
        "/accounts/login/", {"username": "ann", "password": "correct horse", "next": "/accounts/tokens/"}
    )
    assert answer["Location"] == "/accounts/tokens/"


def test_login_never_leads_to_another_host(client: Client, ann: User) -> None:
    answer = client.post(
        "/accounts/login/", {"username": "ann", "password": "correct horse", "next": "https://evil.example/"}
    )
    assert answer["Location"] == "/"


def test_a_failed_login_says_the_same_whether_the_name_exists_or_not(client: Client, ann: User) -> None:
    wrong = log_in(client, "wrong horse").content.decode()
    unknown = log_in(client, "wrong horse", "nobody").content.decode()
    sentence = "User name and password do not match"
    assert sentence in wrong
    assert sentence in unknown
    assert SESSION_KEY not in client.session


def test_a_simulated_annotator_never_logs_in(client: Client) -> None:
    build.user("sim", is_simulated=True, is_active=False)
    answer = log_in(client, username="sim")
    assert "User name and password do not match" in answer.content.decode()
    assert SESSION_KEY not in client.session


def test_too_many_failures_lock_even_the_right_password_out(client: Client, ann: User, settings: Any) -> None:
    settings.LOGIN_ATTEMPTS = 3
    for _ in range(3):
        log_in(client, "wrong horse")
    page = log_in(client)
    assert "Too many failed attempts" in page.content.decode()
    assert SESSION_KEY not in client.session
    assert log_in(client, REMOTE_ADDR="192.0.2.9").status_code == 302


def test_success_forgets_failures(client: Client, ann: User) -> None:
    log_in(client, "wrong horse")
    assert LoginAttempt.objects.count() == 1
    log_in(client)
    assert LoginAttempt.objects.count() == 0


def test_an_unreadable_user_name_is_refused_without_an_error(client: Client) -> None:
    assert log_in(client, username="a\0b").status_code == 200


def test_logout_needs_a_post(client: Client, ann: User) -> None:
    client.force_login(ann)
    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout"))["Location"] == reverse("login")
    assert SESSION_KEY not in client.session


def test_password_change(client: Client, ann: User) -> None:
    client.force_login(ann)
    form = {"old_password": "wrong", "new_password1": "battery staple", "new_password2": "battery staple"}
    assert "password was entered incorrectly" in client.post(reverse("password_change"), form).content.decode()
    done = client.post(reverse("password_change"), form | {"old_password": "correct horse"}, follow=True)
    assert "Your password is changed" in done.content.decode()
    ann.refresh_from_db()
    assert ann.check_password("battery staple")


def test_a_weak_password_is_told_under_the_field_where_it_was_thought_up(client: Client, ann: User) -> None:
    client.force_login(ann)
    form = {"old_password": "correct horse", "new_password1": "password", "new_password2": "password"}
    page = client.post(reverse("password_change"), form)
    assert list(page.context["form"].errors) == ["new_password1"]
    ann.refresh_from_db()
    assert ann.check_password("correct horse")


def test_a_token_is_shown_once_and_works_until_it_is_revoked(client: Client, ann: User) -> None:
    client.force_login(ann)
    assert "You have no tokens" in client.get(reverse("tokens")).content.decode()
    made = client.post(reverse("tokens"))
    assert "no-store" in made["Cache-Control"]
    found = re.search(r'id="secret" type="text" value="([^"]+)"', made.content.decode())
    assert found
    secret = found[1]
    assert secret not in client.get(reverse("tokens")).content.decode()
    program: dict[str, Any] = {"headers": {"Authorization": f"Token {secret}"}}
    assert Client().get("/api/projects/", **program).status_code == 200
    key = AuthToken.objects.get().token_key
    assert client.post(reverse("token_delete", args=[key]))["Location"] == reverse("tokens")
    assert Client().get("/api/projects/", **program).status_code == 401


def test_nobody_revokes_the_token_of_somebody_else(client: Client, ann: User, abe: User) -> None:
    token, _secret = AuthToken.objects.create(user=abe)  # type: ignore[no-untyped-call]
    client.force_login(ann)
    assert client.post(reverse("token_delete", args=[token.token_key])).status_code == 404
    assert AuthToken.objects.count() == 1
    assert token.token_key not in client.get(reverse("tokens")).content.decode()


def test_tokens_are_limited(client: Client, ann: User) -> None:
    for _ in range(20):
        AuthToken.objects.create(user=ann)  # type: ignore[no-untyped-call]
    client.force_login(ann)
    assert "revoke one first" in client.post(reverse("tokens"), follow=True).content.decode()
    assert AuthToken.objects.count() == 20


@pytest.mark.parametrize(
    ("next_page", "lands"),
    [
        ("/accounts/login/?next=/x", "/accounts/login/?next=/x"),
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("", "/"),
    ],
)
def test_theme_is_a_cookie_and_leads_back(client: Client, next_page: str, lands: str) -> None:
    answer = client.post(reverse("theme"), {"theme": "dark", "next": next_page})
    assert answer["Location"] == lands
    assert answer.cookies["theme"].value == "dark"
    assert answer.cookies["theme"]["samesite"] == "Lax"
    assert 'data-theme="dark"' in client.get(reverse("login")).content.decode()
    client.post(reverse("theme"), {"theme": "system"})
    assert "data-theme" not in client.get(reverse("login")).content.decode()


def test_theme_takes_known_words_only(client: Client) -> None:
    assert client.post(reverse("theme"), {"theme": '"><script>'}).cookies["theme"].value == ""
    assert client.get(reverse("theme")).status_code == 405


@pytest.mark.parametrize("key", ["abcdefghij\000k", "短すぎないキーですよ", "a b c d e f g h"])
def test_a_session_that_cannot_be_is_nobodys(db: None, key: str) -> None:
    assert SessionStore(key).load() == {}

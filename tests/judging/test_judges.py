"""Judges: added with mistakes explained, keys written and never shown, tested by a worker and not by the page."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotate.models import Project, User
from judging import probing, trial
from judging.models import Judge
from judging.probing import Finding, Probed
from tests import build
from tests.judging.build_runs import run_of

pytestmark = pytest.mark.django_db

LIST = "/projects/garden/judges/"
NEW = "/projects/garden/judges/new/"
SETTINGS = {
    "name": "Fern",
    "base_url": "http://127.0.0.1:9/v1",
    "model": "fern-1",
    "key_source": "none",
    "temperature": "0",
    "top_p": "",
    "max_tokens": "512",
    "timeout_seconds": "60",
    "concurrency": "4",
    "requests_per_minute": "",
    "tokens_per_minute": "",
    "input_price": "0.15",
    "cached_input_price": "0.075",
    "output_price": "0.6",
    "hour_price": "0",
}


@pytest.fixture
def page(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def address(judge: Judge) -> str:
    return f"{LIST}{judge.pk}/"


def with_key(project: Project, key: str = "secret-key-1") -> Judge:
    judge = build.judge(project)
    judge.store_key(key)
    judge.save()
    return judge


def settings_of(judge: Judge, **changes: str) -> dict[str, str]:
    kept = {"name": judge.name, "base_url": judge.base_url, "model": judge.model, "key_source": judge.key_source}
    return {**SETTINGS, **kept, **changes}


def test_without_judges_the_page_says_what_to_do(page: Client) -> None:
    answer = page.get(LIST)

    assert "No judges yet" in answer.text
    assert NEW in answer.text


def test_a_judge_is_added(page: Client, project: Project) -> None:
    answer = page.post(NEW, SETTINGS)

    judge = Judge.objects.get(project=project)
    assert answer.headers["Location"] == address(judge)
    assert (judge.name, judge.model, str(judge.output_price)) == ("Fern", "fern-1", "0.6000")
    assert "Fern" in page.get(LIST).text


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"input_price": "-1"}, "A price cannot be negative: write 0 for a model that costs nothing."),
        ({"hour_price": "-0.01"}, "A price cannot be negative: write 0 for a model that costs nothing."),
        ({"input_price": "NaN"}, "Write a price as a number, 0 for a model that costs nothing."),
        ({"output_price": ""}, "Write a price as a number, 0 for a model that costs nothing."),
        ({"output_price": "1e9"}, "Write a price below 1,000,000 dollars."),
        ({"output_price": "0.00001"}, "Write a price with at most four decimal places."),
        ({"temperature": "inf"}, "Write a number from 0 to 2."),
        ({"requests_per_minute": "0"}, "Write a number from 1 to 1,000,000, or leave it empty for no limit."),
        ({"base_url": "ftp://example.org"}, "The base URL must start with http:// or https:// and name a host."),
        ({"base_url": ""}, "Write the address of the endpoint, up to /v1."),
        ({"base_url": "https://me:pass@example.org/v1"}, "Leave user name and password out of the base URL"),
        ({"key_source": "stored"}, "Enter the key, or choose another kind of key above."),
        ({"key": "abc"}, "Choose “A key of its own” above to store this key, or leave it empty."),
        ({"key_source": "stored", "key": "two words"}, "A key has no spaces and no special letters"),
        ({"key_source": "environment"}, "use that base URL"),
    ],
)
def test_mistakes_are_explained_and_nothing_is_stored(page: Client, changes: dict[str, str], sentence: str) -> None:
    answer = page.post(NEW, {**SETTINGS, **changes})

    assert answer.status_code == 200
    assert sentence in answer.text
    assert not Judge.objects.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "3"),
        ("temperature", ""),
        ("top_p", "0"),
        ("top_p", "1.1"),
        ("requests_per_minute", "-1"),
        ("tokens_per_minute", "0"),
        ("tokens_per_minute", "2.5"),
        ("concurrency", "0"),
        ("concurrency", "1000"),
        ("timeout_seconds", "0"),
        ("max_tokens", "-5"),
    ],
)
def test_numbers_out_of_range_are_refused_beside_their_field(page: Client, name: str, value: str) -> None:
    answer = page.post(NEW, {**SETTINGS, name: value})

    assert answer.status_code == 200
    assert answer.context["form"].errors[name][0].startswith("Write a number from")
    assert not Judge.objects.exists()


def test_what_may_be_left_empty_is_no_limit_and_is_not_sent(page: Client, project: Project) -> None:
    page.post(NEW, SETTINGS)

    judge = Judge.objects.get(project=project)
    assert (judge.top_p, judge.requests_per_minute, judge.tokens_per_minute) == (None, None, None)
    assert judge.parameters == {"temperature": 0.0, "max_tokens": 512}

    limited = {"top_p": "0.9", "requests_per_minute": "60", "tokens_per_minute": "90000", "hour_price": "2.49"}
    page.post(address(judge), settings_of(judge, **limited, action="save"))

    judge.refresh_from_db()
    assert (judge.top_p, judge.requests_per_minute, judge.tokens_per_minute) == (0.9, 60, 90_000)
    assert str(judge.hour_price) == "2.4900"
    assert judge.parameters == {"temperature": 0.0, "max_tokens": 512, "top_p": 0.9}


def test_a_host_that_cannot_be_found_is_left_to_the_test(page: Client, project: Project) -> None:
    page.post(NEW, {**SETTINGS, "base_url": "http://no-such-host.invalid/v1"})

    assert Judge.objects.get(project=project).base_url == "http://no-such-host.invalid/v1"


def test_the_settings_stand_in_groups(page: Client) -> None:
    answer = page.get(NEW)

    groups = list(answer.context["form"].groups())
    assert [group.title for group in groups] == ["Endpoint", "Sampling", "Limits", "Prices"]
    shown = [field.name for group in groups for field in group.fields]
    assert sorted(shown) == sorted(answer.context["form"].fields)
    assert answer.text.count("field-group-title") == len(groups)


def test_a_name_is_given_once_in_a_project(page: Client, project: Project) -> None:
    build.judge(project, name="Fern")
    build.judge(build.project("meadow"), name="Moss")

    assert "Another judge of this project has this name" in page.post(NEW, SETTINGS).text
    assert page.post(NEW, {**SETTINGS, "name": "Moss"}).status_code == 302


def test_a_key_is_stored_encrypted_and_shown_nowhere(page: Client) -> None:
    page.post(NEW, {**SETTINGS, "key_source": "stored", "key": "secret-key-1"})

    judge = Judge.objects.get()
    assert judge.api_key() == "secret-key-1"
    assert "secret-key-1" not in judge.encrypted_key
    for url in (LIST, address(judge)):
        text = page.get(url).text
        assert "secret-key-1" not in text
        assert judge.encrypted_key not in text


def test_a_key_with_a_mistake_elsewhere_is_not_sent_back(page: Client) -> None:
    answer = page.post(NEW, {**SETTINGS, "key_source": "stored", "key": "secret-key-1", "input_price": "-1"})

    assert "secret-key-1" not in answer.text


def test_an_empty_key_keeps_the_stored_one(page: Client, project: Project) -> None:
    judge = with_key(project)

    page.post(address(judge), settings_of(judge, temperature="0.5", action="save"))

    judge.refresh_from_db()
    assert judge.temperature == 0.5
    assert judge.api_key() == "secret-key-1"


def test_a_stored_key_is_not_sent_to_another_address(page: Client, project: Project) -> None:
    judge = with_key(project)
    elsewhere = settings_of(judge, base_url="http://127.0.0.1:10/v1", action="save")

    answer = page.post(address(judge), elsewhere)

    assert "The base URL has changed: enter the key again" in answer.text
    judge.refresh_from_db()
    assert judge.base_url == "http://127.0.0.1:9/v1"
    page.post(address(judge), {**elsewhere, "key": "secret-key-2"})
    judge.refresh_from_db()
    assert (judge.base_url, judge.api_key()) == ("http://127.0.0.1:10/v1", "secret-key-2")


def test_another_kind_of_key_forgets_the_stored_one(page: Client, project: Project) -> None:
    judge = with_key(project)

    page.post(address(judge), settings_of(judge, key_source="none", action="save"))

    judge.refresh_from_db()
    assert judge.encrypted_key == ""


def test_the_model_of_a_judge_with_runs_is_fixed(page: Client, project: Project) -> None:
    build.item(project)
    run = run_of(build.round(project))

    answer = page.post(address(run.judge), settings_of(run.judge, model="other", action="save"))

    assert "Runs of this judge were made with test-model: add another judge" in answer.text
    run.judge.refresh_from_db()
    assert run.judge.model == "test-model"


def test_a_test_is_left_to_a_worker(
    page: Client, project: Project, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    judge = build.judge(project)
    rung: list[int] = []
    monkeypatch.setattr("judging.tasks.test_judge.apply_async", lambda args, **_: rung.extend(args))
    monkeypatch.setattr(probing, "_probe", None)

    with django_capture_on_commit_callbacks(execute=True):
        page.post(address(judge), {"action": "test"})

    assert rung == [judge.pk]
    text = page.get(address(judge)).text
    assert "on their way to the model" in text
    assert 'hx-trigger="every 2s, refresh"' in text


def test_what_the_worker_found_is_shown(page: Client, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = build.judge(project, test_asked_at=timezone.now())
    found = [Finding(True, "It <b>answered</b>."), Finding(False, "It reports no tokens.")]
    monkeypatch.setattr(trial, "probe", lambda judge: Probed(found, {"schema": True, "alternatives": 5}))

    trial.carry_out(judge.pk)

    judge.refresh_from_db()
    assert judge.abilities == {"schema": True, "alternatives": 5}
    part = page.get(address(judge), headers={"HX-Request": "true"}).text
    assert "It &lt;b&gt;answered&lt;/b&gt;." in part
    assert "It reports no tokens." in part
    assert "<h1>" not in part
    assert "hx-trigger" not in part
    assert "answered" in page.get(LIST).text


def test_findings_about_other_settings_are_dropped(page: Client, project: Project) -> None:
    now = timezone.now()
    judge = build.judge(project, test_asked_at=now, tested_at=now, findings=[{"ok": True, "text": "Old finding"}])
    Judge.objects.update(abilities={"schema": True})

    page.post(address(judge), settings_of(judge, max_tokens="100", action="save"))

    assert "Old finding" not in page.get(address(judge)).text
    judge.refresh_from_db()
    assert judge.abilities == {}


def test_a_test_asked_for_again_meanwhile_keeps_no_old_findings(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = build.judge(project, test_asked_at=timezone.now())

    def slow(tested: Judge) -> Probed:
        Judge.objects.filter(pk=judge.pk).update(test_asked_at=timezone.now())
        return Probed([Finding(True, "Too late.")], {"schema": True})

    monkeypatch.setattr(trial, "probe", slow)
    trial.carry_out(judge.pk)

    judge.refresh_from_db()
    assert (judge.findings, judge.abilities) == ([], {})
    assert judge.is_being_tested


def test_a_test_that_nobody_takes_is_said_to_wait_for_a_worker(page: Client, project: Project) -> None:
    judge = build.judge(project, test_asked_at=timezone.now() - trial.PATIENCE * 2)

    text = page.get(address(judge)).text

    assert "No worker has come back from the test" in text
    assert "hx-trigger" not in text


def test_a_judge_is_archived_and_used_again(page: Client, project: Project) -> None:
    judge = build.judge(project)

    page.post(address(judge), {"action": "archive"})
    assert "archived" in page.get(LIST).text
    judge.refresh_from_db()
    assert judge.archived

    page.post(address(judge), {"action": "unarchive"})
    judge.refresh_from_db()
    assert not judge.archived


def test_a_weak_judge_says_so(page: Client, project: Project) -> None:
    judge = build.judge(project, is_weak=True)

    assert "is-weak" in page.get(LIST).text
    assert "close to guessing" in page.get(address(judge)).text


def test_judges_of_other_projects_are_not_found(page: Client, charlie: User) -> None:
    theirs = build.judge(build.project("meadow"))

    assert page.get(address(theirs)).status_code == 404
    page.force_login(charlie)
    assert page.get(LIST).status_code == 404


def test_annotators_may_not_see_judges(client: Client, project: Project, ann: User) -> None:
    client.force_login(ann)

    for url in (LIST, NEW, address(build.judge(project))):
        assert client.get(url).status_code == 403

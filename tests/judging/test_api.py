from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.test import Client

from annotate.models import Project, Round, User
from judging import recount
from judging.models import Call, Judge, Run, Verdict
from tests import build

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_broker() -> Any:
    """Runs ring for a worker; there is none here."""
    with mock.patch("judging.tasks.work_run.apply_async") as ring:
        yield ring


@pytest.fixture
def as_bob(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


@pytest.fixture
def judge(project: Project) -> Judge:
    judge = build.judge(project, name="Oracle")
    judge.store_key("sk-very-secret")
    judge.save()
    return judge


@pytest.fixture
def round(project: Project) -> Round:
    build.checklist(build.item(project, "tea", systems=("Aster",)), "Is it short?", "Is it true?")
    return build.round(project, Round.Kind.CHECK_THEN_SCORE)


def post(client: Client, path: str, data: Any = None) -> Any:
    return client.post(f"/api/projects/garden/{path}", data, content_type="application/json")


def get(client: Client, path: str) -> Any:
    return client.get(f"/api/projects/garden/{path}").json()


def planned(client: Client, judge: Judge, round: Round, fields: dict[str, Any] | None = None) -> Any:
    return post(client, "runs/", {"judge": judge.pk, "protocol": "tick", "round": round.pk} | (fields or {}))


def test_judges_are_read_without_their_key(as_bob: Client, judge: Judge) -> None:
    answer = as_bob.get("/api/projects/garden/judges/")
    (found,) = answer.json()["results"]
    assert (found["name"], found["model"]) == ("Oracle", "test-model")
    assert "key" not in answer.content.decode().lower()
    assert judge.encrypted_key not in answer.content.decode()
    assert post(as_bob, "judges/", {}).status_code == 405
    assert get(as_bob, f"judges/{judge.pk}/") == found


def test_a_run_is_planned_and_a_worker_is_rung_for(
    as_bob: Client, judge: Judge, round: Round, no_broker: mock.Mock, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = planned(as_bob, judge, round, {"repeats": 2})
    run = Run.objects.get()
    assert answer.status_code == 201
    assert (answer.json()["id"], answer.json()["state"]) == (run.pk, "running")
    assert answer.json()["progress"] == {"planned": 4, "leased": 0, "done": 0, "failed": 0, "total": 4}
    assert run.created_by == User.objects.get(username="bob")
    no_broker.assert_called_once()
    assert [row["id"] for row in get(as_bob, "runs/")["results"]] == [run.pk]
    assert float(get(as_bob, f"runs/{run.pk}/")["cost"]) == 0


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"protocol": "guess"}, "protocol"),
        ({"repeats": 0}, "repeats"),
        ({"judge": 0}, "judge"),
        ({"round": "x"}, "round"),
        ({"sample_size": 0}, "sample_size"),
        ({"spending_cap": -1}, "spending_cap"),
    ],
)
def test_a_bad_run_is_not_planned(as_bob: Client, judge: Judge, round: Round, fields: Any, wrong: str) -> None:
    answer = planned(as_bob, judge, round, fields)
    assert answer.status_code == 400
    assert wrong in answer.json()["fields"]
    assert not Run.objects.exists()


def test_a_run_of_items_takes_a_filter_checklists_and_a_limit(as_bob: Client, judge: Judge, project: Project) -> None:
    item = build.item(project, category="letters", language="en")
    build.checklist(item, "Is it old?", policy="ticking")
    build.checklist(item, "Is it new?", "Is it red?", "Is it kind?")
    build.item(project, category="letters", language="ja")
    chosen = {"category": "letters", "language": "en", "sample_size": 3, "checklists": "ticking", "spending_cap": "2.5"}

    answer = post(as_bob, "runs/", {"judge": judge.pk, "protocol": "tick", **chosen})

    assert answer.status_code == 201
    said = answer.json()
    assert {name: said[name] for name in chosen} == {**chosen, "spending_cap": "2.5000"}
    assert (said["round"], said["analysis"], said["progress"]["total"]) == (None, True, 2)


def test_a_round_and_a_filter_exclude_each_other(as_bob: Client, judge: Judge, round: Round) -> None:
    answer = planned(as_bob, judge, round, {"sample_size": 1})
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "A filter of items goes with no round: choose one of them.",
    )


def test_an_estimate_stores_and_sends_nothing(as_bob: Client, judge: Judge, round: Round, no_broker: mock.Mock) -> None:
    Judge.objects.update(input_price=1, output_price=2)
    answer = post(as_bob, "runs/estimate/", {"judge": judge.pk, "protocol": "tick", "round": round.pk})
    assert answer.status_code == 200
    said = answer.json()
    assert (said["calls"], said["units"], said["left_out"]) == (2, 1, [])
    assert said["input_tokens"] > 100
    assert (said["output_tokens"], said["cost"], said["seconds"]) == (None, None, None)
    assert float(said["most_cost"]) > 0
    assert "Write about tea." in said["prompt"][-1]["content"]
    assert not Run.objects.exists()
    no_broker.assert_not_called()
    assert post(as_bob, "runs/estimate/", {"judge": judge.pk, "protocol": "guess"}).status_code == 400
    assert post(as_bob, "runs/estimate/", {"judge": judge.pk, "protocol": "geval"}).status_code == 409


def test_repeats_are_added_and_the_limit_is_set(as_bob: Client, judge: Judge, round: Round) -> None:
    path = f"runs/{planned(as_bob, judge, round).json()['id']}/"
    said = post(as_bob, f"{path}repeats/", {"more": 2}).json()
    assert (said["repeats"], said["progress"]["total"]) == (3, 6)
    refused = post(as_bob, f"{path}repeats/", {"more": 98})
    assert (refused.status_code, "from 1 to 97" in refused.json()["detail"]) == (409, True)
    assert post(as_bob, f"{path}repeats/", {}).status_code == 400

    assert post(as_bob, f"{path}limit/", {"spending_cap": "3"}).json()["spending_cap"] == "3.0000"
    assert post(as_bob, f"{path}limit/", {"spending_cap": "0"}).status_code == 409
    post(as_bob, f"{path}pause/")
    Run.objects.update(spending_cap=0)
    refused = post(as_bob, f"{path}resume/")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "The run has spent what it may: raise the limit first.",
    )
    assert post(as_bob, f"{path}limit/", {"spending_cap": None}).json()["spending_cap"] is None
    assert post(as_bob, f"{path}resume/").json()["state"] == "running"


def test_judges_and_rounds_of_another_project_do_not_exist_here(as_bob: Client, judge: Judge, round: Round) -> None:
    other = build.project("orchard")
    build.item(other)
    assert planned(as_bob, build.judge(other), round).status_code == 400
    assert planned(as_bob, judge, build.round(other)).status_code == 400
    assert not Run.objects.exists()


def test_a_run_that_cannot_be_planned_says_why(as_bob: Client, project: Project, judge: Judge) -> None:
    answer = planned(as_bob, judge, build.round(project, opened=False))
    assert answer.status_code == 409
    assert "open it first" in answer.json()["detail"]


def test_a_run_is_paused_resumed_and_cancelled(as_bob: Client, judge: Judge, round: Round) -> None:
    path = f"runs/{planned(as_bob, judge, round).json()['id']}/"
    assert post(as_bob, f"{path}pause/").json()["state"] == "paused"
    refused = post(as_bob, f"{path}pause/")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "Only a running run can be paused; this one is paused.",
    )
    assert post(as_bob, f"{path}resume/").json()["state"] == "running"
    assert post(as_bob, f"{path}resume/").status_code == 409
    assert post(as_bob, f"{path}cancel/").json()["state"] == "cancelled"
    assert post(as_bob, f"{path}cancel/").status_code == 409
    assert post(as_bob, f"{path}retry/").status_code == 409


def test_failed_calls_are_planned_again(as_bob: Client, judge: Judge, round: Round) -> None:
    run = Run.objects.get(pk=planned(as_bob, judge, round).json()["id"])
    run.calls.update(state=Call.State.FAILED, error="The judge did not answer.")
    assert get(as_bob, f"runs/{run.pk}/")["progress"]["failed"] == 2
    assert post(as_bob, f"runs/{run.pk}/retry/").json() == {"retried": 2}
    assert run.calls.filter(state=Call.State.PLANNED).count() == 2


def answered(run: Run, *states: str) -> None:
    for call, state in zip(run.calls.order_by("position"), states, strict=True):
        Call.objects.filter(pk=call.pk).update(state=Call.State.DONE, reply=f"I say {state}.")
        assert call.response is not None
        Verdict.objects.create(run=run, call=call, response=call.response, question=call.question, state=state)
    recount.rebuild_run(run)


def test_verdicts_carry_their_reply_and_nothing_unread_becomes_a_value(
    as_bob: Client, judge: Judge, round: Round
) -> None:
    run = Run.objects.get(pk=planned(as_bob, judge, round).json()["id"])
    answered(run, "yes", "unparsed")
    found = get(as_bob, f"runs/{run.pk}/verdicts/")["results"]
    assert [(row["question"], row["state"], row["score"], row["reply"]) for row in found] == [
        ("Is it short?", "yes", None, "I say yes."),
        ("Is it true?", "unparsed", None, "I say unparsed."),
    ]
    assert (found[0]["item"], found[0]["system"]) == ("tea", "Aster")


def test_agreement_of_people_questions_and_judges(
    as_bob: Client, judge: Judge, round: Round, ann: User, abe: User
) -> None:
    for annotator, score in ((ann, 4), (abe, 5)):
        build.submitted(round.tasks.get(), annotator, score)
    run = Run.objects.get(pk=planned(as_bob, judge, round).json()["id"])
    answered(run, "yes", "unparsed")
    panel = get(as_bob, f"rounds/{round.pk}/agreement/")
    scores, answers = panel["people"]
    assert (scores["facet"], scores["labels"], scores["simulated"]) == ("score", 2, 0)
    assert scores["percent"]["value"] == 0
    assert answers["percent"]["value"] == 1
    assert answers["alpha"]["value"] is None
    assert answers["alpha"]["reason"]
    assert {row["question"] for row in panel["questions"]} == {"Is it short?", "Is it true?"}
    assert panel["question_count"] == 2
    assert scores["gwet"]["name"] == "AC2 (ordinal)"
    assert scores["prevalence"] == {"people": {"1": 0, "2": 0, "3": 0, "4": 0.5, "5": 0.5}}
    assert answers["prevalence"] == {"people": {"yes": 1, "no": 0}}
    (row,) = panel["judges"]
    assert (row["run"], row["judge"], row["method"]) == (run.pk, "Oracle", "tick")
    assert row["agreement"]["percent"]["value"] == 1
    assert row["agreement"]["gaps"] == {"unreadable": 1}
    assert row["agreement"]["prevalence"] == {"people": {"yes": 1, "no": 0}, "judge": {"yes": 1, "no": 0}}


def test_the_questions_of_the_panel_are_the_worst_unless_all_are_asked_for(
    as_bob: Client, round: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.live.SHOWN_QUESTIONS", 1)

    assert len(get(as_bob, f"rounds/{round.pk}/agreement/")["questions"]) == 1
    assert len(get(as_bob, f"rounds/{round.pk}/agreement/?questions=all")["questions"]) == 2


def test_rows_of_another_project_are_not_found(as_bob: Client, charlie: User) -> None:
    other = build.project("orchard")
    build.item(other)
    round, judge = build.round(other), build.judge(other)
    run = Run.objects.create(project=other, judge=judge, method="direct", round=round, prompt_version="x")
    for path in (f"runs/{run.pk}/", f"runs/{run.pk}/verdicts/", f"judges/{judge.pk}/", f"rounds/{round.pk}/agreement/"):
        assert as_bob.get(f"/api/projects/garden/{path}").status_code == 404
    assert post(as_bob, f"runs/{run.pk}/cancel/").status_code == 404

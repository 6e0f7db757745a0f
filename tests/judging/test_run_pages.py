"""Runs on their pages: counted before they start, watched by polling, steered by buttons; every call can be read."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from annotate.models import Checklist, Item, Project, Response, Role, Round, User
from judging.models import Call, Judge, Run
from tests import build
from tests.judging.build_runs import call, run_of, verdict

pytestmark = pytest.mark.django_db

RUNS = "/projects/garden/runs/"
NEW = "/projects/garden/runs/new/"
GENERATE = "/projects/garden/checklists/generate/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


@pytest.fixture
def item(project: Project) -> Item:
    return build.item(project, "moss", language="ja", instruction="苔について一文で書いてください。")


@pytest.fixture
def checklist(item: Item) -> Checklist:
    return build.checklist(item, "Is it short?", "一文ですか。")


@pytest.fixture
def round(project: Project, checklist: Checklist) -> Round:
    return build.round(project, Round.Kind.CHECK_THEN_SCORE)


@pytest.fixture
def judge(project: Project) -> Judge:
    return build.judge(project, name="Fern")


def address(run: Run, tail: str = "") -> str:
    return f"{RUNS}{run.pk}/{tail}"


def choice(judge: Judge, round: Round | None, **fields: Any) -> dict[str, Any]:
    of = {"round": str(round.pk)} if round else {}
    return {"judges": [str(judge.pk)], "protocol": "tick", "repeats": "1", **of, **fields}


def start(page: Client, chosen: dict[str, Any]) -> Any:
    """Press both buttons, one after the other."""
    counted = page.post(NEW, {**chosen, "action": "preview"})
    return page.post(NEW, {**chosen, "action": "start", "agreed": counted.context["plan"].fingerprint})


# --- starting a run ---------------------------------------------------------------------------------------------------


def test_without_runs_the_page_says_what_to_do(page: Client) -> None:
    assert "No runs yet" in page.get(RUNS).text


def test_a_run_needs_a_judge_and_an_item(page: Client, project: Project) -> None:
    assert "No judge to run" in page.get(NEW).text
    build.judge(project)
    assert "Nothing to judge yet" in page.get(NEW).text
    build.item(project)
    assert "See what it would send" in page.get(NEW).text


def test_the_calls_are_counted_before_anything_is_sent(page: Client, judge: Judge, round: Round) -> None:
    answer = page.post(NEW, choice(judge, round, repeats="3", action="preview"))

    assert "This will send 12 calls to Fern" in answer.text
    assert "苔について一文で書いてください。" in answer.text
    assert not Run.objects.exists()


def test_a_counted_run_is_started(page: Client, judge: Judge, round: Round) -> None:
    answer = start(page, choice(judge, round))

    run = Run.objects.get()
    assert answer.headers["Location"] == address(run)
    assert (run.judge, run.round, run.method, run.calls.count()) == (judge, round, "tick", 4)
    assert run.created_by is not None
    assert run.created_by.username == "bob"


def test_a_choice_changed_after_the_count_is_counted_again(page: Client, judge: Judge, round: Round) -> None:
    agreed = page.post(NEW, choice(judge, round, action="preview")).context["plan"].fingerprint
    answer = page.post(NEW, choice(judge, round, repeats="2", action="start", agreed=agreed))

    assert "This will send 8 calls" in answer.text
    assert not Run.objects.exists()


def test_what_has_changed_since_the_count_is_counted_again(page: Client, judge: Judge, project: Project) -> None:
    build.item(project)
    chosen = choice(judge, None, protocol="direct")
    agreed = page.post(NEW, {**chosen, "action": "preview"}).context["plan"].fingerprint
    build.item(project)

    assert "This will send 4 calls" in page.post(NEW, {**chosen, "action": "start", "agreed": agreed}).text
    assert not Run.objects.exists()


def test_several_judges_get_a_run_each(page: Client, project: Project, judge: Judge, round: Round) -> None:
    moss = build.judge(project, name="Moss", input_price=2, output_price=8)
    chosen = choice(judge, round, judges=[str(judge.pk), str(moss.pk)])

    counted = page.post(NEW, {**chosen, "action": "preview"}).text
    answer = start(page, chosen)

    assert "This will send 4 calls to each of 2 judges" in counted
    assert "Start 2 runs" in counted
    assert answer.headers["Location"] == RUNS
    assert {run.judge for run in Run.objects.all()} == {judge, moss}
    assert {run.calls.count() for run in Run.objects.all()} == {4}


def test_without_a_round_chosen_items_are_judged(page: Client, project: Project, judge: Judge) -> None:
    for number in range(5):
        build.item(project, f"letter-{number}", category="letters", language="en")
    build.item(project, "poem", category="poems")

    start(page, choice(judge, None, protocol="direct", category="letters", language="en", sample_size="3"))

    run = Run.objects.get()
    assert (run.round, run.category, run.language, run.sample_size) == (None, "letters", "en", 3)
    assert run.calls.count() == 6
    assert not run.calls.filter(item__external_id="poem").exists()
    assert "at most 3 items, category letters, language en" in page.get(RUNS).text


def test_a_filter_goes_with_no_round(page: Client, judge: Judge, round: Round) -> None:
    answer = page.post(NEW, choice(judge, round, sample_size="3", action="preview"))

    assert "A filter of items goes with no round: choose “No round”" in answer.text
    assert '<details class="fold" open>' in answer.text


def test_checklists_repeats_and_limit_are_taken(page: Client, project: Project, judge: Judge, round: Round) -> None:
    item = Item.objects.get()
    build.checklist(item, "Is it green?", "Is it old?", "Is it soft?", policy="ticking")

    start(page, choice(judge, round, checklist_policy="ticking", repeats="2", spending_cap="1.5"))

    run = Run.objects.get()
    assert (run.checklist_policy, run.repeats, run.spending_cap) == ("ticking", 2, Decimal("1.5"))
    assert run.calls.count() == 2 * 3 * 2
    assert "by the policy ticking" in page.get(address(run)).text


def test_the_newest_checklists_can_be_judged_in_place_of_the_pinned_ones(
    page: Client, judge: Judge, round: Round, item: Item
) -> None:
    newer = build.checklist(item, "Is it green?")

    start(page, choice(judge, round, checklist_policy="newest"))

    assert {call.checklist for call in Run.objects.get().calls.all()} == {newer}


def test_cost_is_estimated_from_prices_and_earlier_calls(page: Client, round: Round, judge: Judge) -> None:
    text = page.post(NEW, choice(judge, round, action="preview")).text
    assert "no price is set" in text
    Judge.objects.filter(pk=judge.pk).update(input_price=1000, output_price=1000, max_tokens=100)

    text = page.post(NEW, choice(judge, round, action="preview")).text
    assert "Fern has not judged by this protocol yet; at most 100 tokens a reply." in text
    assert "a token for four letters" in text

    run = run_of(round, judge=judge)
    call(
        run,
        Response.objects.earliest("pk"),
        attempts=1,
        input_tokens=50,
        output_tokens=20,
        latency_ms=9000,
        prompt=[{"content": "a" * 100}],
    )
    plan = page.post(NEW, choice(judge, round, action="preview")).context["plan"]
    assert plan.estimates[0].output_tokens == 4 * 20
    assert plan.estimates[0].cost < plan.most_cost
    assert plan.estimates[0].seconds == 9.0  # four calls, four at the same time


def test_responses_without_a_checklist_are_said_to_be_left_out(page: Client, project: Project, judge: Judge) -> None:
    build.checklist(build.item(project, "oak"))
    build.item(project, "elm")
    scored = build.round(project)

    text = page.post(NEW, choice(judge, scored, action="preview")).text

    assert "This will send 4 calls" in text
    assert "2 responses are left out: their items have no approved checklist." in text


def test_a_round_without_any_checklist_has_nothing_to_tick(page: Client, project: Project, judge: Judge) -> None:
    build.item(project, "elm")

    answer = page.post(NEW, choice(judge, build.round(project), action="preview"))

    assert "No item of this round has an approved checklist: approve some, or choose" in answer.text


@pytest.mark.parametrize(
    ("field", "value"),
    [("repeats", "0"), ("repeats", "101"), ("protocol", "guess"), ("judges", "0"), ("spending_cap", "-1")],
)
def test_a_choice_that_cannot_be_is_refused(page: Client, judge: Judge, round: Round, field: str, value: str) -> None:
    answer = page.post(NEW, {**choice(judge, round, action="preview"), field: value})

    assert field in answer.context["form"].errors
    assert not Run.objects.exists()


def test_archived_judges_and_rounds_of_others_cannot_be_chosen(page: Client, judge: Judge, round: Round) -> None:
    elsewhere = build.project("meadow")
    build.item(elsewhere)
    theirs = build.round(elsewhere)
    judge.archived = True
    judge.save()

    refused = [
        page.post(NEW, choice(judge, round, action="preview")),
        page.post(NEW, choice(build.judge(round.project), theirs, action="preview")),
    ]

    assert ["judges" in refused[0].context["form"].errors, "round" in refused[1].context["form"].errors] == [True] * 2
    assert not Run.objects.exists()


def test_the_round_in_the_address_is_chosen_beforehand(page: Client, judge: Judge, round: Round) -> None:
    other = build.round(round.project)

    text = page.get(f"{NEW}?round={round.pk}").text

    assert f'<option value="{round.pk}" selected>' in text
    assert f'<option value="{other.pk}" selected>' not in text


# --- watching and steering --------------------------------------------------------------------------------------------


def test_the_list_shows_progress_failures_and_cost(page: Client, round: Round) -> None:
    run = run_of(round)
    Judge.objects.filter(pk=run.judge_id).update(input_price=2, output_price=10)
    response = Response.objects.earliest("pk")
    call(run, response, input_tokens=1_000_000, output_tokens=100_000)
    call(run, response, state="failed", error="No answer.")
    call(run, response, state="planned")

    text = page.get(RUNS).text

    assert "1 / 3" in text
    assert "$3.00" in text
    assert "Running" in text


def test_the_list_costs_the_same_for_many_runs(page: Client, round: Round, django_assert_max_num_queries: Any) -> None:
    for _ in range(8):
        call(run_of(round), Response.objects.earliest("pk"))

    with django_assert_max_num_queries(7):
        page.get(RUNS)


def test_failures_are_grouped_and_can_be_retried(page: Client, round: Round) -> None:
    run = run_of(round)
    response = Response.objects.earliest("pk")
    for reason in ("It <timed> out.", "It <timed> out.", "Wrong key."):
        call(run, response, state="failed", error=reason)

    text = page.get(address(run)).text
    assert "2 ×</span> It &lt;timed&gt; out." in text
    assert "Retry the 3 that failed" in text

    answer = page.post(address(run), {"action": "retry"}, follow=True)
    assert "3 failed calls are asked again." in answer.text
    assert run.progress()["planned"] == 3


@pytest.mark.parametrize(
    ("before", "action", "after"),
    [
        ("running", "pause", "paused"),
        ("paused", "resume", "running"),
        ("running", "cancel", "cancelled"),
        ("cancelled", "resume", "cancelled"),
        ("running", "explode", "running"),
    ],
)
def test_buttons_move_the_run(page: Client, round: Round, before: str, action: str, after: str) -> None:
    run = run_of(round, state=before)
    call(run, Response.objects.earliest("pk"), state="planned")

    answer = page.post(address(run), {"action": action}, follow=True)

    run.refresh_from_db()
    assert run.state == after
    assert ("Nothing was done" in answer.text) == (before == after)


def test_a_paused_run_says_why(page: Client, round: Round) -> None:
    run = run_of(round, state="paused", pause_reason="The key was refused. Resume the run when this is put right.")

    assert "The key was refused." in page.get(address(run)).text


def test_repeats_are_added_on_the_page(page: Client, judge: Judge, round: Round) -> None:
    start(page, choice(judge, round))
    run = Run.objects.get()

    assert "Add repeats" in page.get(address(run)).text
    answer = page.post(address(run), {"action": "repeat", "more": "2"}, follow=True)
    assert "8 calls are added." in answer.text
    assert run.calls.count() == 12

    refused = page.post(address(run), {"action": "repeat", "more": "98"}, follow=True)
    assert "A run has at most 100 repeats, and this one has 3: add from 1 to 97." in refused.text
    refused = page.post(address(run), {"action": "repeat", "more": "many"}, follow=True)
    assert "Times more to ask everything: Enter a whole number." in refused.text
    assert run.calls.count() == 12


def test_a_run_that_spent_its_limit_goes_on_with_a_higher_one(page: Client, round: Round) -> None:
    run = run_of(round, state="paused", spending_cap=Decimal(1), pause_reason="The run may spend 1 USD.")
    Judge.objects.update(input_price=1)
    call(run, Response.objects.earliest("pk"), input_tokens=1_000_000)
    call(run, Response.objects.earliest("pk"), state="planned")

    text = page.get(address(run)).text
    assert "The run may spend 1 USD." in text
    assert text.count("Set the limit and resume") == 1
    assert 'name="spending_cap" value="1"' in text
    assert "raise the limit first" in page.post(address(run), {"action": "resume"}, follow=True).text
    refused = page.post(address(run), {"action": "limit", "spending_cap": "0.5"}, follow=True)
    assert "The run has spent $1.0000 already" in refused.text
    answer = page.post(address(run), {"action": "limit", "spending_cap": "2.5"}, follow=True)

    assert "The limit is set, and the run goes on." in answer.text
    run.refresh_from_db()
    assert (run.state, run.spending_cap) == ("running", Decimal("2.5"))
    assert "of $2.50 at most" in page.get(address(run)).text


def test_a_run_that_waits_for_a_worker_says_so(page: Client, round: Round) -> None:
    run = run_of(round)
    call(run, Response.objects.earliest("pk"), state="planned")
    fresh = page.get(address(run, "progress/"), headers=HTMX)
    Run.objects.update(created_at=run.created_at - datetime.timedelta(hours=1))

    assert "No worker was seen" not in fresh.text
    answer = page.get(address(run, "progress/"), headers={**HTMX, "If-None-Match": fresh.headers["ETag"]})
    assert "No worker was seen in the last 90 seconds: start one." in answer.text


def test_the_unreadable_are_counted_among_the_judged(page: Client, round: Round, checklist: Checklist) -> None:
    run = run_of(round)
    first, second = checklist.questions.all()
    response = Response.objects.earliest("pk")
    verdict(run, response, "yes", question=first)
    verdict(run, response, "unparsed", question=second)

    assert "2 judged (1 of them unreadable)" in page.get(address(run)).text


@pytest.mark.parametrize(
    ("method", "asked"),
    [("tick_batch", "all questions"), ("check_then_score", "the response"), ("pairwise_checklist", "all questions")],
)
def test_a_call_about_no_one_question_says_what_it_asks(
    page: Client, project: Project, judge: Judge, checklist: Checklist, method: str, asked: str
) -> None:
    start(page, choice(judge, None, protocol=method))

    text = page.get(address(Run.objects.get())).text

    assert f'<td class="text">{asked}</td>' in text
    assert ("Briar / Aster" in text) == (method == "pairwise_checklist")


def test_calls_that_were_answered_before_are_counted(page: Client, round: Round) -> None:
    run = run_of(round)
    call(run, Response.objects.earliest("pk"), from_cache=True)

    assert "1 call, answered before with the same prompt" in page.get(address(run)).text


def test_the_progress_is_polled_while_the_run_is_running(
    page: Client, round: Round, django_assert_max_num_queries: Any
) -> None:
    run = run_of(round)
    call(run, Response.objects.earliest("pk"), state="planned")
    url = address(run, "progress/")

    whole = page.get(address(run)).text
    assert f'hx-get="{url}"' in whole
    first = page.get(url, headers=HTMX)
    etag = first.headers["ETag"]
    assert "0 of 1 calls" in first.text
    shown = etag.replace('"', "&quot;")
    assert f'data-etag="{shown}"' in first.text
    assert f'data-etag="{shown}"' in whole
    with django_assert_max_num_queries(5):  # session, user, membership, run, and the count of calls
        assert page.get(url, headers={**HTMX, "If-None-Match": etag}).status_code == 304

    run.calls.update(state="done")
    changed = page.get(url, headers={**HTMX, "If-None-Match": etag})
    assert changed.status_code == 200
    assert "1 of 1 calls" in changed.text


def test_once_the_run_stands_the_whole_page_is_loaded_again(page: Client, round: Round) -> None:
    run = run_of(round, state="paused")

    assert page.get(address(run, "progress/"), headers=HTMX).headers["HX-Refresh"] == "true"
    assert "hx-trigger" not in page.get(address(run)).text


# --- calls ------------------------------------------------------------------------------------------------------------


def test_calls_are_listed_with_their_verdicts_and_filtered(page: Client, round: Round, checklist: Checklist) -> None:
    run = run_of(round)
    first, second = checklist.questions.all()
    aster, briar = Response.objects.order_by("pk")
    verdict(run, aster, "yes", question=first)
    verdict(run, aster, "unparsed", question=second)
    call(run, briar, question=first, state="failed", error="No answer.")

    everything = page.get(address(run)).text
    assert 'lang="ja">一文ですか。' in everything
    assert "Briar" in everything
    unreadable = page.get(address(run, "?show=unreadable")).context["page"]
    assert [listed.position for listed in unreadable] == [2]
    assert [listed.position for listed in page.get(address(run, "?show=failed")).context["page"]] == [3]
    assert len(page.get(address(run, "?show=nonsense")).context["page"]) == 3


def test_calls_are_paged(page: Client, round: Round, django_assert_max_num_queries: Any) -> None:
    run = run_of(round)
    response = Response.objects.earliest("pk")
    for _ in range(51):
        verdict(run, response, "score", score=3, repeat=run.calls.count() + 1)

    with django_assert_max_num_queries(13):
        answer = page.get(address(run))

    assert "1 of 2" in answer.text
    assert [listed.position for listed in page.get(address(run, "?page=2")).context["page"]] == [51]


def test_a_call_shows_all_that_was_kept_of_it(page: Client, round: Round, checklist: Checklist) -> None:
    run = run_of(round)
    made = verdict(run, Response.objects.earliest("pk"), "no", question=checklist.questions.all()[0]).call
    Call.objects.filter(pk=made.pk).update(
        prompt=[{"role": "user", "content": "Is it <short>?"}],
        reply="<script>alert(1)</script> NO",
        parameters={"temperature": 0.0},
        input_tokens=1234,
        output_tokens=56,
        latency_ms=2345,
        attempts=2,
        finish_reason="stop",
    )

    text = page.get(address(run, "calls/1/")).text

    for part in ("Is it &lt;short&gt;?", "&lt;script&gt;alert(1)&lt;/script&gt; NO", "temperature = 0.0", "1,234 in"):
        assert part in text
    for part in ("56 out", "2.3 s", "stop", "Is it short?"):
        assert part in text
    assert "<script>alert" not in text


def test_calls_lead_to_their_neighbours(page: Client, round: Round) -> None:
    run = run_of(round)
    for _ in range(3):
        call(run, Response.objects.earliest("pk"))

    text = page.get(address(run, "calls/2/")).text

    assert address(run, "calls/1/") in text
    assert address(run, "calls/3/") in text
    assert address(run, "calls/0/") not in page.get(address(run, "calls/1/")).text
    assert page.get(address(run, "calls/4/")).status_code == 404


# --- writing checklists -----------------------------------------------------------------------------------------------


def test_checklists_are_written_for_items_that_have_none(client: Client, alice: User, checklist: Checklist) -> None:
    client.force_login(alice)
    project = checklist.subject.project
    bare = build.item(project, "elm")
    judge = build.judge(project)

    assert "1 item without a checklist" in client.get(GENERATE).text
    answer = client.post(GENERATE, {"judge": judge.pk, "policy": "ticking"})

    run = Run.objects.get()
    assert answer.headers["Location"] == address(run)
    assert [planned.item for planned in run.calls.all()] == [bare]
    assert run.kind == "generation"


def test_a_named_item_gets_another_checklist(client: Client, alice: User, checklist: Checklist) -> None:
    client.force_login(alice)
    judge = build.judge(checklist.subject.project)

    client.post(f"{GENERATE}?item={checklist.item_id}", {"judge": judge.pk, "policy": "ticking"})

    assert [planned.item for planned in Run.objects.get().calls.all()] == [checklist.item]


def test_items_of_other_projects_are_never_written_for(client: Client, alice: User, item: Item) -> None:
    client.force_login(alice)
    build.judge(item.project)
    theirs = build.item(build.project("meadow"))

    answer = client.get(f"{GENERATE}?item={theirs.pk}&item=abc")

    assert theirs.external_id not in answer.text
    assert "Every item has a checklist" in answer.text


def test_the_page_for_checklists_says_what_is_lacking(client: Client, alice: User, project: Project) -> None:
    client.force_login(alice)

    assert "No items yet" in client.get(GENERATE).text
    item = build.item(project)
    assert "No model to write" in client.get(GENERATE).text
    build.judge(project)
    build.checklist(item)
    assert "Every item has a checklist" in client.get(GENERATE).text


def test_a_generation_run_links_what_it_wrote(page: Client, project: Project, item: Item, judge: Judge) -> None:
    run = Run.objects.create(project=project, judge=judge, kind="generation", method="ticking", prompt_version="v")
    written = build.checklist(item, approved=False, policy="ticking")
    Call.objects.create(run=run, position=1, item=item, state="done", written=written)
    Call.objects.create(run=run, position=2, item=item, state="failed", error="No checklist could be read.")

    text = page.get(address(run)).text

    assert f"/projects/garden/checklists/{written.pk}/" in text
    assert "No checklist could be read." in text
    assert f"/projects/garden/checklists/{written.pk}/" in page.get(address(run, "calls/1/")).text


# --- access -----------------------------------------------------------------------------------------------------------


def test_runs_are_for_researchers_of_the_project(client: Client, round: Round, ann: User, charlie: User) -> None:
    run = run_of(round)
    call(run, Response.objects.earliest("pk"))
    urls = [RUNS, NEW, address(run), address(run, "progress/"), address(run, "calls/1/"), GENERATE]

    client.force_login(ann)
    assert {client.get(url).status_code for url in urls} == {403}
    client.force_login(charlie)
    assert {client.get(url).status_code for url in urls} == {404}


def test_writing_checklists_is_for_curators(page: Client) -> None:
    assert page.get(GENERATE).status_code == 403


def test_runs_of_another_project_are_not_found(page: Client, round: Round) -> None:
    elsewhere = build.project("meadow")
    build.item(elsewhere)
    theirs = run_of(build.round(elsewhere))
    build.member(elsewhere, Role.RESEARCHER, "mary")

    assert page.get(address(theirs)).status_code == 404
    assert page.post(address(theirs), {"action": "cancel"}).status_code == 404

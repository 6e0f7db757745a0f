"""Runs: planned as rows, carried out against a scripted endpoint, steered, resumed, and never inventing a verdict."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from annotate.models import Checklist, Project, Round, User
from judging import circuit, claims, runs, work
from judging.models import Call, Judge, Run
from judging.protocols import Setup
from tests import build, scripted_endpoint
from tests.judging.working import FakeTime, states, work_to_end
from tests.scripted_endpoint import Play, Request, ScriptedEndpoint, error


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint("It does what is asked.\nVerdict: YES") as served:
        yield served


@pytest.fixture
def judge(project: Project, endpoint: ScriptedEndpoint) -> Judge:
    return build.judge(project, endpoint.base_url, concurrency=2, timeout_seconds=5)


def checked_round(project: Project, items: int = 2) -> Round:
    for _ in range(items):
        build.checklist(build.item(project))
    return build.round(project, Round.Kind.CHECK_THEN_SCORE)


# --- the whole way ----------------------------------------------------------------------------------------------------


def test_tick_run_gives_one_verdict_per_response_and_question(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint, bob: User
) -> None:
    judge.concurrency = 1  # so that the first request is that of the first call
    judge.save()
    round = checked_round(project)
    run = work_to_end(runs.plan_judging(project, judge, "tick", round, user=bob))
    assert run.state == Run.State.FINISHED
    assert run.finished_at is not None
    assert states(run) == {"yes": 8}  # 2 items x 2 responses x 2 questions
    assert runs.summary(run) == "8 judged"
    call = run.calls.first()
    assert call is not None
    assert call.reply == "It does what is asked.\nVerdict: YES"
    assert call.prompt == endpoint.requests[0].messages
    assert call.prompt[-1]["content"].count(call.item.instruction) == 1
    assert call.parameters == {"temperature": 0.0, "max_tokens": 512}
    assert (call.input_tokens, call.cached_tokens, call.output_tokens) == (100, 60, 10)
    assert call.latency_ms is not None
    assert call.attempts == 1


def test_direct_run_scores_every_response_on_the_rounds_scale(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    build.item(project)
    round = build.round(project, scale_low=0, scale_high=9, scale_anchors={"9": "flawless"})
    endpoint.play("Reasons: fine.\nScore: 9")
    run = work_to_end(runs.plan_judging(project, judge, "direct", round))
    assert {(verdict.state, verdict.score, verdict.question) for verdict in run.verdicts.all()} == {
        ("score", 9.0, None)
    }
    assert run.verdicts.count() == 2
    assert "9: flawless" in endpoint.requests[0].prompt
    assert "from 0 to 9" in endpoint.requests[0].prompt


def test_repeats_are_verdicts_of_their_own(project: Project, judge: Judge, endpoint: ScriptedEndpoint) -> None:
    build.item(project, systems=("Aster",))
    endpoint.play("Score: 1", "Score: 2", "Score: 3")
    run = work_to_end(runs.plan_judging(project, judge, "direct", build.round(project), repeats=3))
    assert sorted(run.verdicts.values_list("repeat", flat=True)) == [1, 2, 3]
    assert set(run.verdicts.values_list("score", flat=True)) == {1, 2, 3}


def test_questions_of_a_response_are_neighbours_and_share_their_prefix(project: Project, judge: Judge) -> None:
    run = runs.plan_judging(project, judge, "tick", checked_round(project))
    calls = list(run.calls.order_by("position"))
    assert [call.position for call in calls] == list(range(1, 9))
    keys = [(call.item_id, call.response_id, call.question_id) for call in calls]
    assert keys == sorted(keys, key=lambda key: (key[0], key[1] or 0, key[2] or 0))


def test_an_unreadable_reply_is_kept_and_becomes_no_value(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    endpoint.play("I would rather not say.")
    run = work_to_end(runs.plan_judging(project, judge, "tick", checked_round(project, items=1)))
    assert states(run) == {"unparsed": 4}
    assert set(run.calls.values_list("reply", flat=True)) == {"I would rather not say."}
    assert runs.summary(run) == "4 judged (4 of them unreadable)"


def test_a_cut_off_reply_becomes_no_value(project: Project, judge: Judge, endpoint: ScriptedEndpoint) -> None:
    endpoint.play(Play("The text is short.\nVerdict: NO", finish_reason="length"))
    run = work_to_end(runs.plan_judging(project, judge, "tick", checked_round(project, items=1)))
    assert states(run) == {"unparsed": 4}


# --- planning ---------------------------------------------------------------------------------------------------------


def test_a_round_without_pinned_checklists_uses_the_newest_approved_ones(project: Project, judge: Judge) -> None:
    with_list, without = build.item(project), build.item(project)
    build.checklist(with_list, "Is it old?")
    newest = build.checklist(with_list, "Is it new?")
    run = runs.plan_judging(project, judge, "tick", build.round(project))
    assert {call.checklist for call in run.calls.all()} == {newest}
    assert not run.calls.filter(item=without).exists()


def test_the_checklist_that_a_task_pins_is_judged_even_when_a_newer_one_exists(project: Project, judge: Judge) -> None:
    item = build.item(project)
    pinned = build.checklist(item, "Is it old?")
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE)
    build.checklist(item, "Is it new?")
    run = runs.plan_judging(project, judge, "tick", round)
    assert {call.checklist for call in run.calls.all()} == {pinned}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"protocol": "oracle"}, "There is no protocol 'oracle'"),
        ({"repeats": 0}, "from 1 to 100"),
        ({"repeats": 101}, "from 1 to 100"),
        ({"protocol": "tick"}, "No item of this round has an approved checklist"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused_in_words(
    project: Project, judge: Judge, change: dict[str, Any], sentence: str
) -> None:
    build.item(project)
    wanted: dict[str, Any] = {"protocol": "direct", "round": build.round(project), "repeats": 1} | change
    with pytest.raises(runs.PlanError, match=sentence):
        runs.plan_judging(project, judge, **wanted)
    assert not Run.objects.exists()


def test_a_round_without_tasks_and_a_judge_of_another_project_are_refused(project: Project, judge: Judge) -> None:
    build.item(project)
    with pytest.raises(runs.PlanError, match="open it first"):
        runs.plan_judging(project, judge, "direct", build.round(project, opened=False))
    stranger = build.judge(build.project())
    with pytest.raises(runs.PlanError, match="belongs to another project"):
        runs.plan_judging(project, stranger, "direct", build.round(project))
    judge.archived = True
    with pytest.raises(runs.PlanError, match="archived"):
        runs.plan_judging(project, judge, "direct", build.round(project))
    other = build.project()
    build.item(other)
    judge.archived = False
    with pytest.raises(runs.PlanError, match="round belongs to another project"):
        runs.plan_judging(project, judge, "direct", build.round(other))


def test_generation_without_items_or_with_foreign_ones_is_refused(project: Project, judge: Judge) -> None:
    with pytest.raises(runs.PlanError, match="No items"):
        runs.plan_generation(project, judge, "ticking", [])
    with pytest.raises(runs.PlanError, match="no policy"):
        runs.plan_generation(project, judge, "astrology", [build.item(project)])
    with pytest.raises(runs.PlanError, match="another project"):
        runs.plan_generation(project, judge, "ticking", [build.item(build.project())])


# --- checklists -------------------------------------------------------------------------------------------------------

CHECKLIST = "Analysis: short and kind.\n[[Is it short?]]\n[[Is it kind?]]"


def test_generation_writes_a_draft_that_knows_its_call(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint, alice: User
) -> None:
    endpoint.play(CHECKLIST)
    item = build.item(project)
    run = work_to_end(runs.plan_generation(project, judge, "ticking", [item], user=alice))
    written = Checklist.objects.get()
    assert [question.text for question in written.questions.all()] == ["Is it short?", "Is it kind?"]
    assert (written.state, written.policy, written.created_by) == ("draft", "ticking", alice)
    assert written.generated_by == run.calls.get()
    assert runs.summary(run) == "1 written"
    assert endpoint.requests[0].body["temperature"] == 0.7
    assert endpoint.requests[0].body["top_p"] == 0.95


def test_an_unreadable_checklist_is_asked_for_again_with_another_seed_and_then_recorded_as_failed(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint, settings: Any
) -> None:
    settings.CALL_MAX_ATTEMPTS = 3
    endpoint.play("Here is a poem instead.")
    run = work_to_end(runs.plan_generation(project, judge, "ticking", [build.item(project)]))
    call = run.calls.get()
    assert (call.state, call.attempts) == ("failed", 3)
    assert call.reply == "Here is a poem instead."
    assert call.input_tokens == 300  # all three attempts were paid
    assert [request.body["seed"] for request in endpoint.requests] == [42, 43, 44]
    assert not Checklist.objects.exists()
    assert runs.failures(run) == [("No checklist could be read from the reply.", 1)]
    endpoint.play(CHECKLIST)
    assert runs.retry_failed(run) == 1
    assert work_to_end(run).progress()["done"] == 1
    assert endpoint.requests[-1].body["seed"] == 45


def test_a_second_checklist_for_an_item_is_asked_for_anew(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    endpoint.play(CHECKLIST)
    item = build.item(project)
    for _ in range(2):
        work_to_end(runs.plan_generation(project, judge, "ticking", [item]))
    assert len(endpoint.requests) == 2
    assert endpoint.requests[0].body["seed"] != endpoint.requests[1].body["seed"]


# --- faults -----------------------------------------------------------------------------------------------------------


def scored_run(project: Project, judge: Judge, responses: int = 1) -> Run:
    for _ in range(responses):
        build.item(project, systems=("Aster",))
    return runs.plan_judging(project, judge, "direct", build.round(project))


@pytest.mark.parametrize(
    "fault",
    [
        scripted_endpoint.OUT_OF_ORDER,
        scripted_endpoint.BAD_GATEWAY,
        scripted_endpoint.RESET,
        scripted_endpoint.EMPTY_BODY,
        scripted_endpoint.INVALID_JSON,
        scripted_endpoint.NO_CHOICES,
        scripted_endpoint.EMPTY_REPLY,
        scripted_endpoint.TOO_MANY,
    ],
)
def test_a_passing_fault_is_waited_out(project: Project, judge: Judge, endpoint: ScriptedEndpoint, fault: Play) -> None:
    endpoint.play(fault, fault, "Score: 4")
    run = scored_run(project, judge)
    time = FakeTime()
    work_to_end(run, time)
    assert states(run) == {"score": 1}
    call = run.calls.get()
    first, second = time.slept
    if fault == scripted_endpoint.TOO_MANY:  # that is no fault of the call
        assert (call.attempts, call.refusals, call.error) == (1, 2, "")
        assert 0.9 <= first <= 2.1
    else:
        assert (call.attempts, call.refusals, call.error) == (3, 0, "")
        assert 0.4 <= first <= 1.1
    assert 0.9 <= second <= 2.1


def test_the_wait_that_the_endpoint_asks_for_is_kept(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    endpoint.play(error(429, "Slow down.", Retry_After="7"), "Score: 4")
    time = FakeTime()
    work_to_end(scored_run(project, judge), time)
    assert 7 <= sum(time.slept) <= 8


def test_a_call_that_keeps_failing_is_given_up_with_its_reason_and_can_be_retried(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint, settings: Any
) -> None:
    run = scored_run(project, judge, responses=2)
    broken = run.calls.order_by("position")[0].item.instruction
    endpoint.play(lambda request: error(500, "Out of memory.") if broken in request.prompt else "Score: 4")
    work_to_end(run)
    assert run.state == Run.State.FINISHED
    assert runs.summary(run) == "1 judged, 1 failed"
    assert runs.failures(run) == [("The endpoint had a fault of its own (500). It says: “Out of memory.”", 1)]
    assert states(run) == {"score": 1, "error": 1}
    assert run.verdicts.get(state="error").score is None
    assert sum(broken in prompt for prompt in endpoint.prompts().elements()) == settings.CALL_MAX_ATTEMPTS

    endpoint.play("Score: 2")
    before = len(endpoint.requests)
    assert runs.retry_failed(run) == 1
    assert run.state == Run.State.RUNNING
    work_to_end(run)
    assert states(run) == {"score": 2}
    assert len(endpoint.requests) == before + 1  # the answered call is not asked again


def test_a_fault_that_no_repetition_heals_fails_at_once(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    endpoint.play(error(400, "This model's maximum context length is 4096 tokens.", code="context_length_exceeded"))
    run = work_to_end(scored_run(project, judge))
    assert len(endpoint.requests) == 1
    assert "longer than the model can take in" in runs.failures(run)[0][0]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (scripted_endpoint.WRONG_KEY, "refused the key"),
        (scripted_endpoint.UNKNOWN_MODEL, "does not know the model"),
        (error(429, "You exceeded your quota.", code="insufficient_quota"), "no credit left"),
    ],
)
def test_a_run_pauses_itself_when_no_call_can_work(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint, fault: Play, words: str
) -> None:
    endpoint.play(fault)
    run = work_to_end(scored_run(project, judge, responses=20))
    assert run.state == Run.State.PAUSED
    assert words in run.pause_reason
    assert "secret" not in run.pause_reason
    assert len(endpoint.requests) <= circuit.DOWN_IN_A_ROW + judge.concurrency
    assert run.progress()["planned"] == 20  # nothing is lost, nothing failed, nothing invented
    assert not run.verdicts.exists()

    endpoint.play("Score: 4")
    assert runs.resume(run)
    assert states(work_to_end(run)) == {"score": 20}


def test_an_unreachable_endpoint_pauses_the_run(project: Project) -> None:
    with ScriptedEndpoint() as gone:
        address = gone.base_url
    run = work_to_end(scored_run(project, build.judge(project, address)))
    assert run.state == Run.State.PAUSED
    assert "cannot be reached" in run.pause_reason


def test_a_server_that_still_starts_is_waited_for(project: Project, judge: Judge, endpoint: ScriptedEndpoint) -> None:
    endpoint.play(*[error(503, "Loading model")] * 60, "Score: 4")
    run = work_to_end(scored_run(project, judge, responses=3))
    assert states(run) == {"score": 3}
    assert run.failing_since is None
    assert {call.attempts for call in run.calls.all()} == {1}  # waiting for the server cost no attempt


def test_a_server_that_never_gets_ready_pauses_the_run_after_a_minute(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    endpoint.play(error(503, "Loading model"))
    time = FakeTime()
    started = time.now()
    run = work_to_end(scored_run(project, judge), time)
    assert run.state == Run.State.PAUSED
    assert f"Nothing was answered for {60 + judge.timeout_seconds} seconds" in run.pause_reason
    assert time.now() - started >= circuit.PATIENCE


def test_a_missing_key_pauses_the_run_before_any_call(
    project: Project, endpoint: ScriptedEndpoint, settings: Any
) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = endpoint.base_url, ""
    judge = build.judge(project, endpoint.base_url, key_source=Judge.KeySource.ENVIRONMENT)
    run = work_to_end(scored_run(project, judge))
    assert run.state == Run.State.PAUSED
    assert "OPENAI_API_KEY is not set" in run.pause_reason
    assert not endpoint.requests


def test_a_long_series_of_faults_pauses_the_run(project: Project, judge: Judge, endpoint: ScriptedEndpoint) -> None:
    endpoint.play(scripted_endpoint.OUT_OF_ORDER)
    run = work_to_end(scored_run(project, judge, responses=30))
    assert run.state == Run.State.PAUSED
    assert "in a row failed" in run.pause_reason


def test_every_call_ends_as_a_value_or_with_a_reason_at_an_endpoint_full_of_faults(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    faults = [scripted_endpoint.OUT_OF_ORDER, scripted_endpoint.RESET, scripted_endpoint.EMPTY_REPLY]
    faults += [scripted_endpoint.INVALID_JSON, scripted_endpoint.TOO_MANY, Play("No idea."), Play("Score: 77")]
    run = scored_run(project, judge, responses=40)
    turn = iter(range(10**6))

    def play(request: Request) -> Play | str:
        number = next(turn)
        return faults[number // 3 % len(faults)] if number % 3 == 0 else "Score: 3"

    endpoint.play(play)
    work_to_end(run)
    progress = run.progress()
    assert progress["done"] + progress["failed"] == progress["total"] == 40
    assert run.verdicts.count() == 40
    assert set(run.verdicts.filter(state="score").values_list("score", flat=True)) == {3.0}
    assert states(run)["unparsed"] == run.verdicts.filter(call__reply__in=["No idea.", "Score: 77"]).count()


def test_a_fault_of_the_program_fails_the_call_and_not_the_run(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judging.protocols.direct import Direct

    run = scored_run(project, judge, responses=2)
    broken = run.calls.order_by("position")[0].pk
    read = Direct.read

    def read_or_break(self: Direct, call: Call, setup: Setup) -> Any:
        if call.pk == broken:
            raise ZeroDivisionError
        return read(self, call, setup)

    monkeypatch.setattr(Direct, "read", read_or_break)
    endpoint.play("Score: 4")
    work_to_end(run)
    assert states(run) == {"score": 1, "error": 1}
    assert runs.failures(run) == [("The program failed on this call (ZeroDivisionError): see the log.", 1)]


def test_a_call_whose_unit_has_its_verdict_already_fails_alone(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    run = scored_run(project, judge, responses=2)
    first = run.calls.earliest("position")
    Call.objects.create(run=run, position=99, item=first.item, response=first.response)
    endpoint.play("Score: 4")
    work_to_end(run)
    assert states(run) == {"score": 2}
    assert run.progress()["failed"] == 1
    assert "IntegrityError" in runs.failures(run)[0][0]


# --- steering ---------------------------------------------------------------------------------------------------------


def test_pause_resume_and_cancel_go_only_where_they_can(project: Project, judge: Judge) -> None:
    run = scored_run(project, judge)
    assert not runs.resume(run)
    assert runs.pause(run, "for lunch")
    assert (run.state, run.pause_reason) == ("paused", "for lunch")
    assert not runs.pause(run)
    work.work(run.pk, FakeTime().clock)
    assert run.progress()["planned"] == 1
    assert runs.resume(run)
    assert run.pause_reason == ""
    assert runs.cancel(run)
    assert not runs.cancel(run)
    assert not runs.resume(run)
    assert runs.retry_failed(run) == 0


def test_a_run_paused_in_the_middle_stores_what_is_under_way_and_asks_no_more(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    run = scored_run(project, judge, responses=12)
    store = claims.settle

    def store_and_pause(*given: Any) -> int:
        runs.pause(Run.objects.get(pk=run.pk))
        return store(*given)

    endpoint.play("Score: 4")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "settle", store_and_pause)
        work.work(run.pk, FakeTime().clock)
    progress = run.progress()
    assert progress["leased"] == 0
    assert 1 <= progress["done"] == len(endpoint.requests) <= judge.concurrency * 2
    assert runs.resume(run)
    assert states(work_to_end(run)) == {"score": 12}
    assert max(endpoint.prompts().values()) == 1


def test_a_changed_prompt_stops_a_run_that_was_planned_with_another(project: Project, judge: Judge) -> None:
    run = scored_run(project, judge)
    Run.objects.filter(pk=run.pk).update(prompt_version="of-yesterday")
    work_to_end(run)
    assert run.state == Run.State.PAUSED
    assert "prompt was changed" in run.pause_reason or "prompt was changed" in Run.objects.get(pk=run.pk).pause_reason


# --- leases and the cache ---------------------------------------------------------------------------------------------


def test_two_workers_never_claim_the_same_call(project: Project, judge: Judge) -> None:
    run = scored_run(project, judge, responses=5)
    now = timezone.now()
    first, second = claims.claim(run, 3, now), claims.claim(run, 3, now)
    assert len(first) == 3
    assert len(second) == 2
    assert not {call.pk for call in first} & {call.pk for call in second}
    assert claims.claim(run, 3, now) == []


def test_a_call_whose_worker_died_is_taken_over_and_the_late_answer_is_dropped(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    run = scored_run(project, judge)
    now = timezone.now()
    [dead] = claims.claim(run, 1, now)
    later = claims.lease_end(now) + datetime.timedelta(seconds=1)
    assert claims.claim(run, 1, later - datetime.timedelta(seconds=2)) == []
    endpoint.play("Score: 4")
    work_to_end(run, FakeTime(later))
    assert run.verdicts.get().score == 4
    dead.reply = "Score: 1"
    assert claims.settle([claims.done(dead, [])], later) == 0
    assert claims.renew(run, dead.lease_token, later) == 0
    assert run.verdicts.get().score == 4
    assert run.calls.get().reply == "Score: 4"


def test_a_worker_that_lives_holds_its_calls_and_no_others(project: Project, judge: Judge) -> None:
    run = scored_run(project, judge, responses=2)
    now = timezone.now()
    [call] = claims.claim(run, 1, now)
    [other] = claims.claim(run, 1, now)
    near_end = claims.lease_end(now) - datetime.timedelta(seconds=2)
    assert claims.renew(run, call.lease_token, near_end) == 1
    taken_over = claims.claim(run, 2, near_end + datetime.timedelta(seconds=3))
    assert [again.pk for again in taken_over] == [other.pk]


def test_the_leases_of_a_worker_are_renewed_while_it_waits_for_answers(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scored_run(project, judge, responses=12)
    time = FakeTime()
    renewed: list[int] = []
    renew = claims.renew
    monkeypatch.setattr(claims, "renew", lambda *given: renewed.append(renew(*given)))

    def play(request: Request) -> str:
        time.moment += datetime.timedelta(seconds=settings.CALL_LEASE_SECONDS / work.RENEWALS / 2)
        return "Score: 4"

    endpoint.play(play)
    work_to_end(run, time)
    assert states(run) == {"score": 12}
    assert max(renewed) >= 1
    assert max(endpoint.prompts().values()) == 1


def test_what_was_answered_once_is_not_paid_again(project: Project, judge: Judge, endpoint: ScriptedEndpoint) -> None:
    round = checked_round(project)
    first = work_to_end(runs.plan_judging(project, judge, "tick", round))
    paid = len(endpoint.requests)
    second = work_to_end(runs.plan_judging(project, judge, "tick", round))
    assert len(endpoint.requests) == paid
    assert states(second) == states(first)
    assert set(second.calls.values_list("from_cache", flat=True)) == {True}
    assert set(second.usage()) == {0}
    judge.temperature = 0.5
    judge.save()
    work_to_end(runs.plan_judging(project, judge, "tick", round))
    assert len(endpoint.requests) > paid  # other parameters make another call


def test_work_gives_way_after_its_slot_and_rings_again(
    project: Project,
    judge: Judge,
    endpoint: ScriptedEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    rung: list[int] = []
    monkeypatch.setattr("judging.tasks.work_run.apply_async", lambda args, **options: rung.append(args[0]))
    run = scored_run(project, judge, responses=30)
    time = FakeTime()

    def play(request: Request) -> str:
        time.moment += datetime.timedelta(seconds=work.SLOT_SECONDS / 4)  # each call takes a quarter of the slot
        return "Score: 4"

    endpoint.play(play)
    with django_capture_on_commit_callbacks(execute=True):
        work.work(run.pk, time.clock)
    progress = run.progress()
    assert progress["leased"] == 0
    assert 4 <= progress["done"] < 15
    assert rung == [run.pk]


def test_the_sweeper_rings_for_idle_runs_and_closes_empty_ones(
    project: Project, judge: Judge, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    rung: list[int] = []
    monkeypatch.setattr("judging.tasks.work_run.apply_async", lambda args, **options: rung.append(args[0]))
    idle, busy, paused, empty = (scored_run(project, judge) for _ in range(4))
    claims.claim(busy, 1, timezone.now())
    runs.pause(paused)
    empty.calls.update(state=Call.State.FAILED, error="No luck.")
    with django_capture_on_commit_callbacks(execute=True):
        work.sweep()
    assert rung == [idle.pk]
    empty.refresh_from_db()
    assert empty.state == Run.State.FINISHED

"""What a run judges, what it leaves out and why, what it would take; and how it is planned further later on."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from annotate.models import Checklist, Dimension, Item, Project, Response, Round
from judging import recount, runs, tokens, units
from judging.estimate import SAMPLED, plan_of
from judging.models import Call, Heartbeat, Judge, Run
from judging.protocols import PROTOCOLS
from tests import build, scripted_endpoint
from tests.judging.build_runs import call, run_of
from tests.judging.working import states, work_to_end
from tests.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.django_db

SYSTEMS = ("Aster", "Wisteria")  # of different texts, so that no call is answered by another one


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint("Verdict: YES") as served:
        yield served


@pytest.fixture
def judge(project: Project, endpoint: ScriptedEndpoint) -> Judge:
    return build.judge(project, endpoint.base_url, name="Fern", concurrency=2, timeout_seconds=5)


def dimension(project: Project, *questions: str) -> Dimension:
    made = Dimension.objects.create(project=project, name=f"Quality {Dimension.objects.count()}", definition="Good.")
    if questions:
        Checklist.write(made, questions).approve(None)
    return made


def refusal(project: Project, judge: Judge, protocol: str, round: Round | None = None, **options: Any) -> str:
    with pytest.raises(runs.PlanError) as error:
        runs.plan_judging(project, judge, protocol, round, **options)
    assert not Run.objects.exists()
    return str(error.value)


# --- what cannot be judged, in words ----------------------------------------------------------------------------------


def test_a_protocol_with_a_checklist_where_no_item_has_one(project: Project, judge: Judge) -> None:
    build.item(project)
    assert refusal(project, judge, "tick") == (
        "No item that is chosen has an approved checklist: approve some, or choose a protocol without one."
    )
    assert refusal(project, judge, "tick", checklist_policy="ticking") == (
        "No item that is chosen has an approved checklist by the policy ticking: "
        "approve some, or choose a protocol without one."
    )
    assert "No item of this round has an approved checklist" in refusal(project, judge, "tick", build.round(project))


def test_a_pair_protocol_on_single_responses(project: Project, judge: Judge) -> None:
    build.item(project)
    assert refusal(project, judge, "pairwise", build.round(project)) == (
        "The units of this round are single responses, not pairs: judge items in place of the round."
    )


def test_a_protocol_of_single_responses_on_pairs(project: Project, judge: Judge) -> None:
    round = pair_round(project)
    assert refusal(project, judge, "direct", round) == (
        "The units of this round are pairs: choose a protocol that compares two responses."
    )


def test_a_pair_protocol_where_no_item_has_two_responses(project: Project, judge: Judge) -> None:
    build.item(project, systems=("Aster",))
    assert refusal(project, judge, "pairwise") == (
        "No chosen item has two responses to compare: widen the filter, or import more responses."
    )


def test_a_checklist_of_zero_questions(project: Project, judge: Judge) -> None:
    empty = build.checklist(build.item(project))
    empty.questions.all().delete()
    assert refusal(project, judge, "tick") == (
        "No checklist of an item that is chosen has a question: add some, or choose a protocol without a checklist."
    )
    assert refusal(project, judge, "check_then_score").startswith("No checklist of an item that is chosen has a")


def test_dimensions_that_are_not_there(project: Project, judge: Judge) -> None:
    build.item(project)
    assert refusal(project, judge, "geval") == "The project does not have a dimension to judge by: add one first."
    dimension(project)
    assert refusal(project, judge, "checkeval") == (
        "The project does not have a dimension with an approved checklist to judge by: add one first."
    )


def test_no_item_at_all(project: Project, judge: Judge) -> None:
    assert refusal(project, judge, "direct", category="odes") == (
        "No item matches the filter, or none has a response: widen it, or import items."
    )


def test_no_judge_at_all(project: Project) -> None:
    with pytest.raises(runs.PlanError, match="No judge is chosen: choose at least one"):
        runs.draft_panel(project, [], "direct")


def test_of_a_panel_all_runs_are_started_or_none(project: Project, judge: Judge) -> None:
    build.item(project)
    drafts = runs.draft_panel(project, [judge, build.judge(project)], "direct")
    drafts[1].category = "odes"
    with pytest.raises(runs.PlanError):
        runs.start_panel(drafts)
    assert not Run.objects.exists()


# --- what is left out -------------------------------------------------------------------------------------------------


def test_what_cannot_be_judged_is_left_out_with_its_reason_and_the_rest_goes_on(project: Project, judge: Judge) -> None:
    build.checklist(build.item(project))
    build.item(project)
    build.checklist(build.item(project, systems=("Aster",))).questions.all().delete()
    build.item(project, systems=())
    (draft,) = runs.draft_panel(project, [judge], "tick")

    plan = plan_of([draft])

    assert (plan.calls, plan.units) == (4, 2)
    assert list(plan.left_out) == [
        "1 item is left out: it has no response.",
        "2 responses are left out: their items have no approved checklist.",
        "1 response is left out: the checklist of its item has no questions.",
    ]
    assert runs.start(draft).calls.count() == 4


def test_items_without_two_responses_and_dimensions_without_questions_are_left_out(
    project: Project, judge: Judge
) -> None:
    build.item(project)
    build.item(project, systems=("Aster",))
    dimension(project, "Is it short?")
    dimension(project)

    pairs = plan_of(runs.draft_panel(project, [judge], "pairwise"))
    qualities = plan_of(runs.draft_panel(project, [judge], "checkeval"))

    assert list(pairs.left_out) == ["1 item is left out: it does not have two responses to compare."]
    assert list(qualities.left_out) == ["1 dimension is left out: it has no approved checklist with questions."]
    assert (pairs.calls, qualities.units) == (2, 3)


def test_the_rest_of_a_run_goes_on_past_a_response_that_is_too_long(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    long = build.item(project, "long", systems=("Aster",))
    build.item(project, "short", systems=SYSTEMS)
    too_long = scripted_endpoint.error(400, "This model's maximum context length is 4096 tokens.")
    endpoint.play(lambda request: too_long if long.instruction in request.prompt else "Score: 4")

    run = work_to_end(runs.plan_judging(project, judge, "direct"))

    assert states(run) == {"error": 1, "score": 2}
    assert runs.summary(run) == "2 judged, 1 failed"
    assert runs.failures(run) == [
        ("The texts are longer than the model can take in: use a model with a longer context.", 1)
    ]


# --- what it would take -----------------------------------------------------------------------------------------------


def test_letters_are_counted_as_tokens() -> None:
    assert tokens.likely([{"role": "user", "content": "abcd" * 10}]) == 10
    assert tokens.likely([{"role": "user", "content": "苔について。"}]) == 6
    assert tokens.likely([{"role": "user", "content": "한국어"}, {"role": "user", "content": "four"}]) == 4
    assert tokens.likely([]) == 0


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_estimate_of_every_protocol_counts_just_the_calls_that_are_planned(
    project: Project, judge: Judge, name: str
) -> None:
    for _ in range(3):
        build.checklist(build.item(project))
    dimension(project, "Is it short?")
    judge.abilities = {"alternatives": 5}
    (draft,) = runs.draft_panel(project, [judge], name, repeats=2)

    plan = plan_of([draft])

    assert plan.prompt
    assert plan.calls == runs.start(draft).calls.count()


def test_the_estimate_is_near_the_truth_where_the_judge_has_judged_before(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    Judge.objects.filter(pk=judge.pk).update(input_price=10, cached_input_price=5, output_price=30)
    judge.refresh_from_db()
    for _ in range(4):
        build.item(project, systems=SYSTEMS)
    endpoint.play("Score: 4")  # and 100 tokens in, 60 of them cached, 10 out
    done = work_to_end(runs.plan_judging(project, judge, "direct", sample_size=2))
    assert done.cost() == Decimal("0.004")  # 4 calls

    (estimate,) = plan_of(runs.draft_panel(project, [judge], "direct")).estimates

    assert estimate.cached == 0.5  # the four calls of before
    assert estimate.input_tokens == pytest.approx(400, abs=4)
    assert estimate.output_tokens == 40
    assert estimate.cost is not None
    assert float(estimate.cost) == pytest.approx(0.004, rel=0.01)
    assert estimate.most_cost > estimate.cost
    assert "About 50% of the calls were answered before" in " ".join(estimate.assumptions)


def test_a_run_costs_at_most_its_limit(project: Project, judge: Judge) -> None:
    Judge.objects.filter(pk=judge.pk).update(input_price=1000)
    judge.refresh_from_db()
    build.item(project)

    assert plan_of(runs.draft_panel(project, [judge], "direct", spending_cap=Decimal("0.01"))).most_cost == Decimal(
        "0.01"
    )
    assert plan_of(runs.draft_panel(project, [judge], "direct")).most_cost > 1


def test_a_judge_paid_by_the_hour_is_estimated_by_its_pace(project: Project, judge: Judge) -> None:
    Judge.objects.filter(pk=judge.pk).update(hour_price=36, requests_per_minute=60)
    judge.refresh_from_db()
    build.item(project, systems=SYSTEMS)

    (unknown,) = plan_of(runs.draft_panel(project, [judge], "direct")).estimates
    assert (unknown.cost, unknown.seconds) == (None, None)
    assert "unknown until it has run" in " ".join(unknown.assumptions)
    assert unknown.most_cost == 2 * 36 * Decimal(5) / 3600 / 2  # each call until its time-out

    earlier = run_of(build.round(project), "direct", judge=judge, state="finished", finished_at=timezone.now())
    call(earlier, Response.objects.earliest("pk"), attempts=1, latency_ms=1000, output_tokens=5)
    (known,) = plan_of(runs.draft_panel(project, [judge], "direct")).estimates
    assert known.cost == Decimal(36) / 3600  # two calls of a second, two at the same time
    assert known.seconds == 2.0  # and one a second


def test_of_a_large_plan_a_seeded_sample_is_filled(project: Project, judge: Judge) -> None:
    for _ in range(SAMPLED):
        build.item(project)
    drafts = runs.draft_panel(project, [judge], "direct")

    plan = plan_of(drafts)

    assert plan.calls == 2 * SAMPLED
    assert f"the prompts of {SAMPLED} calls" in plan.estimates[0].assumptions[0]
    assert plan_of(drafts).estimates[0].input_tokens == plan.estimates[0].input_tokens


# --- checklists -------------------------------------------------------------------------------------------------------


def test_the_choice_of_checklists(project: Project, judge: Judge) -> None:
    item = build.item(project)
    pinned = build.checklist(item)
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE)
    ticking = build.checklist(item, "Is it old?", policy="ticking")
    newest = build.checklist(item, "Is it new?")

    def judged(**options: str) -> set[Any]:
        (draft,) = runs.draft_panel(project, [judge], "tick", round, **options)
        return {unit.checklist for unit in units.units_of(draft)[0]}

    assert judged() == {pinned}
    assert judged(checklist_policy=Run.NEWEST_CHECKLIST) == {newest}
    assert judged(checklist_policy="ticking") == {ticking}


# --- repeats that are added -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROTOCOLS)
def test_repeats_that_are_added_are_those_that_would_have_been_planned(
    project: Project, judge: Judge, name: str
) -> None:
    build.checklist(build.item(project))
    dimension(project, "Is it short?", "Is it soft?")
    judge.abilities = {"alternatives": 5}
    later = runs.plan_judging(project, judge, name)
    number = runs.add_repeats(later, 2)
    at_once = runs.plan_judging(project, judge, name, repeats=3)

    def asked(run: Run) -> list[tuple[Any, ...]]:
        return sorted(run.calls.values_list(*runs.SAME_IN_REPEATS, "repeat"), key=str)

    assert asked(later) == asked(at_once)
    assert later.repeats == 3
    assert number == at_once.calls.count() * 2 // 3
    turns = PROTOCOLS[name].turns
    assert {position % turns for position in later.calls.values_list("position", flat=True)} == {1 % turns}


def test_a_finished_run_goes_on_with_its_new_repeats(
    project: Project, judge: Judge, endpoint: ScriptedEndpoint
) -> None:
    build.checklist(build.item(project, systems=SYSTEMS))
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE)
    run = work_to_end(runs.plan_judging(project, judge, "tick", round))
    build.checklist(Item.objects.get(), "Is it newer?")  # not what this run asks

    assert runs.add_repeats(run, 2) == 8
    assert (run.state, run.finished_at, run.repeats) == ("running", None, 3)
    assert recount.audit(round) == []

    endpoint.play("Verdict: NO")
    work_to_end(run)
    assert run.state == "finished"
    assert states(run) == {"yes": 4, "no": 8}
    assert len(endpoint.requests) == 12  # each repeat is asked for itself
    assert recount.audit(round) == []


def test_repeats_are_added_after_second_turns(project: Project, judge: Judge, endpoint: ScriptedEndpoint) -> None:
    build.checklist(build.item(project, systems=SYSTEMS))
    endpoint.play("I cannot tell.")
    run = work_to_end(runs.plan_judging(project, judge, "pairwise_checklist"))
    assert list(run.calls.values_list("position", flat=True)) == [1, 2, 3, 4]

    assert runs.add_repeats(run, 1) == 2
    assert list(run.calls.filter(repeat=2).values_list("position", flat=True)) == [5, 7]
    work_to_end(run)
    assert run.calls.count() == 8


@pytest.mark.parametrize(
    ("fields", "more", "sentence"),
    [
        ({"state": "cancelled"}, 1, "The run was cancelled: start a new one."),
        ({}, 0, "A run has at most 100 repeats, and this one has 1: add from 1 to 99."),
        ({}, 100, "A run has at most 100 repeats, and this one has 1: add from 1 to 99."),
        ({"repeats": 100}, 1, "A run has at most 100 repeats, and this one has 100: start a new one."),
        ({"prompt_version": "gone"}, 1, "The prompt of this run is not there any more: start a new run."),
    ],
)
def test_repeats_that_cannot_be_are_refused(project: Project, fields: Any, more: int, sentence: str) -> None:
    build.item(project)
    run = run_of(build.round(project), "direct")
    Run.objects.filter(pk=run.pk).update(**fields)
    with pytest.raises(runs.PlanError) as error:
        runs.add_repeats(run, more)
    assert str(error.value) == sentence


# --- the limit of spending --------------------------------------------------------------------------------------------


def test_a_limit_below_what_is_spent_is_refused(project: Project) -> None:
    build.item(project)
    run = run_of(build.round(project), "direct", state="paused", spending_cap=Decimal(2))
    Judge.objects.update(input_price=2)
    call(run, Response.objects.earliest("pk"), input_tokens=1_000_000)
    run = Run.objects.get()

    with pytest.raises(runs.PlanError, match="The run has spent what it may: raise the limit first"):
        runs.resume(run)
    with pytest.raises(runs.PlanError, match=r"has spent \$2.0000 already"):
        runs.limit_spending(run, Decimal("1.5"))
    runs.limit_spending(run, Decimal(3))
    assert runs.resume(run)
    assert Run.objects.get().spending_cap == 3
    runs.limit_spending(run, None)
    assert Run.objects.get().spending_cap is None


# --- what holds a run up ----------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(project: Project) -> Run:
    """A run of an hour ago with one call under way for another minute."""
    build.item(project)
    run = run_of(build.round(project), "direct")
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(created_at=now - datetime.timedelta(hours=1))
    call(
        run,
        Response.objects.earliest("pk"),
        state="leased",
        leased_until=now + datetime.timedelta(minutes=1),
        lease_token="t",
    )
    return Run.objects.get()


def held_up(run: Run) -> str:
    return runs.hold_up(run, run.progress(), timezone.now())


def test_a_run_without_any_worker_says_until_when_its_calls_wait(waiting: Run) -> None:
    until = timezone.localtime(Call.objects.get().leased_until)
    assert held_up(waiting) == (
        "No worker was seen in the last 90 seconds: start one. "
        f"Calls that were under way are asked again from {until:%H:%M:%S} on."
    )


def test_a_run_whose_own_worker_died_says_so(waiting: Run) -> None:
    Heartbeat.beat("another worker")
    assert held_up(waiting).startswith("Nothing was answered for a while: the worker of this run may have died. Calls")


def test_a_run_that_moves_or_stands_is_not_held_up(waiting: Run) -> None:
    call(waiting, Response.objects.earliest("pk"), finished_at=timezone.now())
    assert held_up(waiting) == ""
    Call.objects.filter(state="done").delete()
    assert held_up(waiting)
    waiting.state = Run.State.PAUSED
    assert held_up(waiting) == ""


def pair_round(project: Project) -> Round:
    """A round whose one unit is a pair."""
    item = build.item(project, systems=("Aster",))
    round = build.round(project)
    other = Response.objects.create(item=item, system="Briar", text="Another text.")
    round.tasks.update(other=other, swapped=False)
    return round

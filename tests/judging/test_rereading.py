"""Stored replies, read again: verdicts follow today's readers, prompts and replies stay, and nobody is asked."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotate.models import Project, Response, Round
from judging import recount, runs
from judging.models import Call, Run, Verdict
from judging.protocols import PROTOCOLS
from judging.protocols.base import Outcome, Setup
from judging.protocols.tick import Tick
from judging.rereading import reread
from tests import build
from tests.judging.build_runs import run_of, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def round(project: Project) -> Round:
    build.checklist(build.item(project, "tea", systems=("Aster",)), "Is it short?", "Is it true?", "Is it kind?")
    return build.round(project, Round.Kind.CHECK_THEN_SCORE)


@pytest.fixture
def run(round: Round) -> Run:
    """Three replies: an old reader could not read the first and took the second for a no; the third it read well."""
    run = run_of(round, state="paused")
    response = Response.objects.get()
    first, second, third = response.item.checklists.get().questions.all()
    told(verdict(run, response, "unparsed", question=first), "Short.\nVerdict: YES")
    told(verdict(run, response, "no", question=second), "True.\nVerdict: YES")
    told(verdict(run, response, "no", question=third), "Unkind.\nVerdict: NO")
    return run


def told(made: Verdict, reply: str, **fields: Any) -> None:
    Call.objects.filter(pk=made.call_id).update(reply=reply, finish_reason="stop", **fields)


def said(run: Run) -> list[str]:
    return list(run.verdicts.order_by("call__position").values_list("state", flat=True))


def reparse(run: Run, *options: str) -> str:
    out = StringIO()
    call_command("reparse", str(run.pk), *options, stdout=out)
    return out.getvalue()


def test_what_changed_is_reported_and_stored(run: Run, round: Round) -> None:
    untouched = run.verdicts.get(call__position=3).pk
    replies = list(run.calls.values_list("pk", "reply", "prompt", "attempts"))

    text = reparse(run)

    assert "3 replies were read again." in text
    assert "unparsed -> yes: 1" in text
    assert "no -> yes: 1" in text
    assert said(run) == ["yes", "yes", "no"]
    assert run.verdicts.filter(pk=untouched).exists()
    assert list(run.calls.values_list("pk", "reply", "prompt", "attempts")) == replies
    assert recount.audit(round) == []


def test_read_twice_nothing_changes_any_more(run: Run) -> None:
    reparse(run)
    assert "Nothing changed." in reparse(run)


def test_a_dry_run_stores_nothing(run: Run) -> None:
    text = reparse(run, "--dry-run")

    assert "unparsed -> yes: 1" in text
    assert "Nothing was stored" in text
    assert said(run) == ["unparsed", "no", "no"]


def test_a_reply_that_cannot_be_read_any_more_becomes_no_value(run: Run, round: Round) -> None:
    Call.objects.filter(run=run, position=3).update(reply="I would rather not say.")

    assert "no -> unparsed: 1" in reparse(run)
    assert said(run)[2] == "unparsed"
    assert recount.audit(round) == []


def test_a_failed_call_whose_reply_can_be_read_is_done(run: Run) -> None:
    Call.objects.filter(run=run, position=1).update(state="failed", error="It could not be read.")
    run.verdicts.filter(call__position=1).update(state="error")

    assert "error -> yes: 1" in reparse(run)
    assert run.calls.get(position=1).state == "done"
    assert run.calls.get(position=1).error == ""


def test_calls_without_a_reply_are_left_alone(run: Run) -> None:
    Call.objects.filter(run=run, position=1).update(state="failed", error="No answer.", reply="")

    assert "2 replies were read again." in reparse(run)
    assert said(run)[0] == "unparsed"


@pytest.mark.parametrize("state", ["finished", "cancelled"])
def test_runs_that_are_over_can_be_read_again(run: Run, state: str) -> None:
    Run.objects.filter(pk=run.pk).update(state=state, finished_at=run.created_at)
    reparse(run)
    assert said(run) == ["yes", "yes", "no"]


def test_a_running_run_and_an_unknown_one_are_refused_in_words(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state="running")
    with pytest.raises(CommandError, match="pause it first, or wait until it is finished") as refused:
        reparse(run)
    assert refused.value.returncode == 2
    with pytest.raises(CommandError, match="There is no run 0") as refused:
        call_command("reparse", "0")
    assert refused.value.returncode == 2


class Stumbling(Tick):
    """Reads until it comes to the third call, as a process does that is killed there."""

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        if call.position == 3:
            raise KeyboardInterrupt
        return super().read(call, setup)


def test_when_it_is_broken_off_verdicts_and_cells_are_as_before(
    run: Run, round: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROTOCOLS, "tick", Stumbling())
    with pytest.raises(KeyboardInterrupt):
        reread(run)
    assert said(run) == ["unparsed", "no", "no"]
    assert recount.audit(round) == []


def test_what_counts_is_the_state_in_the_database(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state="running")  # somebody has resumed it meanwhile
    with pytest.raises(runs.PlanError, match="pause it first"):
        reread(run)
    assert said(run) == ["unparsed", "no", "no"]


def test_checklist_writing_is_not_read_again(project: Project) -> None:
    run = Run.objects.create(
        project=project,
        judge=build.judge(project),
        kind="generation",
        method="ticking",
        prompt_version="v",
        state="paused",
    )
    with pytest.raises(runs.PlanError, match="writes checklists"):
        reread(run)

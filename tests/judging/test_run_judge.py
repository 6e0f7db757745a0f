"""`manage.py run_judge`: the plan is shown and agreed to, the work is done here, can be stopped, and goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from annotate.models import Project, Round
from judging.models import Judge, Run
from tests import build, scripted_endpoint
from tests.scripted_endpoint import Request, ScriptedEndpoint

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEMS = ("Aster", "Wisteria")  # of different texts, so that no call is answered by another one


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint("Verdict: YES") as served:
        yield served


@pytest.fixture
def judge(project: Project, endpoint: ScriptedEndpoint) -> Judge:
    return build.judge(project, endpoint.base_url, name="Fern", concurrency=2, timeout_seconds=5)


@pytest.fixture
def round(project: Project, judge: Judge) -> Round:
    build.checklist(build.item(project, "tea", systems=SYSTEMS))
    return build.round(project, Round.Kind.CHECK_THEN_SCORE, name="Pilot")


def run_judge(*options: str) -> str:
    out = StringIO()
    call_command("run_judge", "garden", *options, stdout=out, stderr=out)
    return out.getvalue()


def tick(*options: str) -> str:
    return run_judge("--judge", "Fern", "--protocol", "tick", *options)


def refused(*options: str, code: int = 2) -> str:
    with pytest.raises(CommandError) as error:
        run_judge(*options)
    assert error.value.returncode == code
    return str(error.value)


def test_a_round_is_judged_to_the_end(round: Round, endpoint: ScriptedEndpoint) -> None:
    text = tick("--round", "Pilot", "--repeats", "2", "--yes")

    run = Run.objects.get()
    assert (run.state, run.round, run.repeats) == ("finished", round, 2)
    assert run.verdicts.filter(state="yes").count() == 8
    assert len(endpoint.requests) == 8
    assert "8 calls about 2 units." in text
    assert "Fern: about" in text
    assert "8 of 8 calls, 0 failed" in text
    assert "8 judged" in text


def test_a_dry_run_shows_the_first_prompt_and_sends_nothing(round: Round, endpoint: ScriptedEndpoint) -> None:
    text = tick("--round", "Pilot", "--dry-run")

    assert "Write about tea." in text
    assert "Nothing was sent: leave out --dry-run to start." in text
    assert not Run.objects.exists()
    assert not endpoint.requests


def test_items_are_judged_by_a_filter_with_a_limit(project: Project, judge: Judge, endpoint: ScriptedEndpoint) -> None:
    endpoint.play("Score: 3")
    for category in ("letters", "letters", "poems"):
        build.item(project, category=category, language="en")

    run_judge(
        *("--judge", "Fern", "--protocol", "direct", "--category", "letters", "--language", "en"),
        *("--sample", "1", "--cap", "2.50", "--yes"),
    )

    run = Run.objects.get()
    assert run.verdicts.count() == 2
    assert run.spending_cap is not None
    assert float(run.spending_cap) == 2.5


def test_several_judges_work_one_after_the_other(project: Project, round: Round, endpoint: ScriptedEndpoint) -> None:
    build.judge(project, endpoint.base_url, name="Moss", model="another-model")

    tick("--judge", "Moss", "--round", "Pilot", "--yes")

    assert sorted(Run.objects.values_list("judge__name", "state")) == [("Fern", "finished"), ("Moss", "finished")]
    assert len(endpoint.requests) == 8


@pytest.mark.parametrize(("answer", "sent"), [("y", 4), ("n", 0), ("", 0)])
def test_nothing_is_sent_before_it_is_agreed_to(
    round: Round, endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch, answer: str, sent: int
) -> None:
    asked: list[str] = []

    def answered(question: str) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr("builtins.input", answered)
    if sent:
        tick("--round", "Pilot")
    else:
        assert refused("--judge", "Fern", "--protocol", "tick", "--round", "Pilot", code=1) == "Nothing was sent."
    assert asked == ["Send 4 calls? [y/N] "]
    assert len(endpoint.requests) == sent


def test_without_a_terminal_it_wants_to_be_told(round: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    assert "add --yes" in refused("--judge", "Fern", "--protocol", "tick", "--round", "Pilot")


def test_failed_calls_are_named_and_make_the_exit_code_1(round: Round, endpoint: ScriptedEndpoint) -> None:
    endpoint.play(scripted_endpoint.error(400, "This model's maximum context length is 4096 tokens."))
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command(
            "run_judge", "garden", "--judge", "Fern", "--protocol", "tick", "--round", "Pilot", "--yes", stdout=out
        )
    assert error.value.returncode == 1
    assert "4 × The texts are longer than the model can take in" in out.getvalue()


def test_ctrl_c_pauses_the_run_and_resume_goes_on(round: Round, endpoint: ScriptedEndpoint) -> None:
    for _ in range(3):
        build.checklist(build.item(round.project, systems=SYSTEMS))

    def stopping(request: Request) -> str:
        """Answers no more until the run is paused."""
        if len(endpoint.requests) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        if len(endpoint.requests) >= 2:
            assert any(Run.objects.filter(state="paused").exists() for _ in range(100_000))
            connection.close()
        return "Verdict: NO"

    endpoint.play(stopping)
    out = StringIO()
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(CommandError) as error:
        call_command(
            "run_judge", "garden", "--judge", "Fern", "--protocol", "tick", "--yes", stdout=out, stderr=StringIO()
        )

    run = Run.objects.get()
    assert error.value.returncode == 1
    assert run.state == "paused"
    assert 0 < run.verdicts.count() < 16
    assert run.progress()["leased"] == 0
    assert f"manage.py run_judge garden --resume {run.pk}" in out.getvalue()
    assert signal.getsignal(signal.SIGINT) is handler

    asked = len(endpoint.requests)
    assert asked == run.verdicts.count()
    endpoint.play("Verdict: NO")
    run_judge("--resume", str(run.pk))
    run.refresh_from_db()
    assert (run.state, run.verdicts.count(), len(endpoint.requests)) == ("finished", 16, 16)


def test_a_run_that_spent_its_limit_goes_on_with_a_higher_one(round: Round, judge: Judge) -> None:
    Judge.objects.filter(pk=judge.pk).update(input_price=1000, output_price=1000)
    with pytest.raises(CommandError) as error:
        tick("--round", "Pilot", "--cap", "0.01", "--yes")
    run = Run.objects.get()
    assert (error.value.returncode, run.state) == (1, "paused")
    assert "Raise the limit" in run.pause_reason

    run_judge("--resume", str(run.pk), "--cap", "100")

    run.refresh_from_db()
    assert (run.state, run.verdicts.count()) == ("finished", 4)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--judge", "Oak", "--protocol", "tick"], "There is no judge 'Oak' in garden: choose from Fern."),
        (["--judge", "Fern", "--protocol", "tick", "--round", "Two"], "no round 'Two' in garden: choose from Pilot."),
        (["--judge", "Fern", "--protocol", "guess"], "There is no protocol 'guess'"),
        (["--judge", "Fern"], "Name a judge and a protocol"),
        (["--judge", "Fern", "--protocol", "tick", "--round", "Pilot", "--sample", "2"], "goes with no round"),
        (["--judge", "Fern", "--protocol", "tick", "--sample", "0"], "at least 1"),
        (["--judge", "Fern", "--protocol", "tick", "--category", "odes"], "No item matches the filter"),
        (["--judge", "Fern", "--protocol", "tick", "--checklists", "odd"], "by the policy odd"),
        (["--judge", "Fern", "--protocol", "tick", "--repeats", "0"], "from 1 to 100"),
        (["--resume", "999999"], "There is no run 999999 in garden"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(round: Round, options: list[str], sentence: str) -> None:
    said = refused(*options, "--yes")
    assert sentence in said
    assert "\n" not in said
    assert not Run.objects.exists()


def test_an_unknown_project_and_an_odd_amount_are_refused(round: Round) -> None:
    with pytest.raises(CommandError, match="There is no project 'meadow'"):
        call_command("run_judge", "meadow")
    with pytest.raises(CommandError, match="not an amount in US dollars"):
        tick("--cap", "-3")


def test_a_finished_run_cannot_be_resumed(round: Round) -> None:
    tick("--round", "Pilot", "--yes")
    assert "only a paused run can go on" in refused("--resume", str(Run.objects.get().pk))

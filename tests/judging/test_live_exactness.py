"""Invariant 7: the cells equal a recount of the raw labels after anything that people and judges do, in any order."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from annotate import assignment, labelling
from annotate.contents import Content
from annotate.models import Annotation, Assignment, Project, Role, Round, Task, User
from judging import claims, moves, recount, runs
from judging.faults import CallFailed
from judging.methods import method_of
from judging.models import Call, Run, Verdict
from judging.protocols import PROTOCOLS, Outcome
from tests import build

ROOT = Path(__file__).resolve().parent.parent.parent
PEOPLE = ("ann", "abe", "amy")

# What a judge says: read, unreadable, failed once (tried again later), or given up.
REPLIES = st.sampled_from(["yes", "no", "na", "unparsed", "later", "given up"])

ANSWERS = ("yes", "no", "na", "unparsed")
PLANNED = ("tick", "tick_batch", "direct", "check_then_score", "checklist_then_score")
COMPARED = ("pairwise", "preference", "pairwise_checklist")

# What a person says about any task: a score, and words for as many questions as there are. All of it is drawn before a
# task is looked for, because who gets which depends on row numbers, which no database gives twice.
Words = tuple[int, str, str]
ANSWERED = st.sampled_from(["yes", "no", "na", "unsure"])
SAID = st.tuples(st.integers(1, 5), ANSWERED, ANSWERED)


class Labelling(RuleBasedStateMachine):
    """People and judges at work in rounds with a checklist and without, of responses and of pairs."""

    @initialize()
    def set_up(self) -> None:
        self.undo = transaction.atomic()
        self.undo.__enter__()
        self.wrong = mock.patch.object(moves.log, "error", side_effect=AssertionError("a move found wrong cells"))
        self.wrong.start()
        self.now = timezone.now()
        self.token = 0
        project = build.project()
        for questions in (2, 1):
            item = build.item(project, systems=("Aster", "Briar")[:questions])
            build.checklist(item, *(f"Question {number}?" for number in range(questions)))
        self.judge = build.judge(project)
        self.project = project
        self.rounds = [
            build.round(project, "check_then_score", overlap=2, allow_na=True),
            build.round(project, overlap=3),
            build.round(project, "pairwise_checklist", overlap=3, allow_unsure=True),
        ]
        self.people = [build.member(project, Role.ANNOTATOR, f"{name} of {project.slug}") for name in PEOPLE]
        robot = f"robot of {project.slug}"
        self.people.append(build.member(project, Role.ANNOTATOR, robot, is_simulated=True, is_active=False))

    def teardown(self) -> None:
        if hasattr(self, "undo"):
            self.wrong.stop()
            transaction.set_rollback(True)
            self.undo.__exit__(None, None, None)

    # -- people ------------------------------------------------------------------------------------------

    @rule(which=st.integers(0, 2), who=st.integers(0, 3))
    def take(self, which: int, who: int) -> None:
        assignment.next_task(self.round(which), self.people[who])

    @rule(pick=st.integers(0, 99), said=SAID, submit=st.sampled_from([True, True, False]))
    def save(self, pick: int, said: Words, submit: bool) -> None:
        drafts = list(Annotation.objects.filter(state="draft").order_by("pk"))
        if drafts:
            draft = drafts[pick % len(drafts)]
            content = content_of(said, draft.task)
            labelling.save(
                draft.task,
                draft.annotator,
                content,
                token=self.next_token(),
                version=draft.version,
                submit=submit,
                ask=False,
            )

    @rule(which=st.integers(0, 2), who=st.integers(0, 3), said=SAID)
    def take_and_submit(self, which: int, who: int, said: Words) -> None:
        task = assignment.next_task(self.round(which), self.people[who])
        if task is not None:
            stored = Annotation.objects.get(task=task, annotator=self.people[who])
            content = content_of(said, task)
            labelling.save(
                task, stored.annotator, content, token=self.next_token(), version=stored.version, submit=True, ask=False
            )

    @rule(pick=st.integers(0, 99), said=SAID)
    def correct(self, pick: int, said: Words) -> None:
        counted = Annotation.objects.counted().filter(task__round__state="open").order_by("pk")
        if counted:
            label = counted[pick % len(counted)]
            content = content_of(said, label.task)
            labelling.correct(label.task, label.annotator, content, token=self.next_token(), version=label.version)

    @rule(pick=st.integers(0, 99))
    def withdraw(self, pick: int) -> None:
        submitted = Annotation.objects.filter(state="submitted").order_by("pk")
        if submitted:
            labelling.withdraw(submitted[pick % len(submitted)], "by chance")

    @rule(pick=st.integers(0, 99))
    def skip(self, pick: int) -> None:
        leased = Assignment.objects.filter(state="leased").order_by("pk")
        if leased:
            seat = leased[pick % len(leased)]
            assert seat.annotator is not None
            assignment.skip(seat.task, seat.annotator, "by chance")

    @rule()
    def let_leases_run_out(self) -> None:
        Assignment.objects.filter(state="leased").update(leased_until=self.now - datetime.timedelta(days=1))

    @rule(which=st.integers(0, 2))
    def close_or_reopen(self, which: int) -> None:
        round = self.round(which)
        if round.state == Round.State.OPEN:
            round.close()
        else:
            round.reopen()

    # -- judges ------------------------------------------------------------------------------------------

    @precondition(lambda self: Run.objects.count() < 3)
    @rule(which=st.integers(0, 1), protocol=st.sampled_from(PLANNED), repeats=st.integers(1, 3))
    def plan(self, which: int, protocol: str, repeats: int) -> None:
        runs.plan_judging(self.project, self.judge, protocol, self.round(which), repeats=repeats)

    @precondition(lambda self: Run.objects.count() < 3)
    @rule(protocol=st.sampled_from(COMPARED), repeats=st.integers(1, 2))
    def plan_pairs(self, protocol: str, repeats: int) -> None:
        runs.plan_judging(self.project, self.judge, protocol, self.round(2), repeats=repeats)

    @precondition(lambda self: Run.objects.exists())
    @rule(pick=st.integers(0, 99), replies=st.lists(st.tuples(REPLIES, st.integers(1, 6)), min_size=1, max_size=6))
    def judge_some(self, pick: int, replies: list[tuple[str, int]]) -> None:
        run = Run.objects.order_by("pk")[pick % Run.objects.count()]
        taken = claims.claim(run, len(replies), self.now)
        for call, (reply, score) in zip(taken, replies, strict=False):
            call.run = run
            self.settle(call, reply, score)

    def settle(self, call: Call, reply: str, score: int) -> None:
        if reply in ("later", "given up"):
            failure = CallFailed("The endpoint answered 500.", retryable=reply == "later")
            claims.settle([claims.failed(call, failure, method_of(call.run).errors(call), self.now)], self.now)
            Call.objects.filter(pk=call.pk).update(not_before=None)
        else:
            claims.settle([claims.done(call, list(said_in(call, reply, score)))], self.now)

    @precondition(lambda self: Run.objects.exists())
    @rule(pick=st.integers(0, 99))
    def retry(self, pick: int) -> None:
        runs.retry_failed(Run.objects.order_by("pk")[pick % Run.objects.count()])

    @precondition(lambda self: Run.objects.exists())
    @rule(pick=st.integers(0, 99))
    def cancel(self, pick: int) -> None:
        runs.cancel(Run.objects.order_by("pk")[pick % Run.objects.count()])

    # -- the rule ----------------------------------------------------------------------------------------

    @invariant()
    def cells_equal_a_recount(self) -> None:
        for round in self.rounds:
            assert recount.audit(round) == []

    def round(self, which: int) -> Round:
        return Round.objects.get(pk=self.rounds[which].pk)

    def next_token(self) -> str:
        self.token += 1
        return str(self.token)


def said_in(call: Call, reply: str, score: int) -> Iterator[Outcome]:
    """The reply as answer to the first thing that the call asks, and others to the rest; or a score or preference."""
    asked = PROTOCOLS[call.run.method].blank(call, Verdict.State.UNPARSED)
    for number, outcome in enumerate(asked, start=ANSWERS.index(reply)):
        if outcome.question is not None:
            yield replace(outcome, state=ANSWERS[number % len(ANSWERS)])
        elif reply == "unparsed":
            yield outcome
        elif call.other_id is not None:
            yield Outcome("preference", choice=Verdict.Choice.values[score % 3])
        else:
            yield Outcome("score", score=score)


def content_of(said: Words, task: Task) -> Content:
    score, *words = said
    if task.checklist is None:
        return Content(score)
    questions = [question.pk for question in task.checklist.questions.all()]
    answers = dict(zip(questions, words, strict=False))
    if task.other_id is None:
        return Content(score, answers, "none")
    return Content(None, answers, preference=score, other_answers=dict(zip(questions, reversed(words), strict=False)))


@pytest.mark.django_db
def test_cells_equal_a_recount_after_anything_in_any_order() -> None:
    with mock.patch("judging.tasks.work_run.apply_async"):
        run_state_machine_as_test(
            Labelling,
            settings=settings(
                max_examples=15,
                stateful_step_count=30,
                suppress_health_check=[HealthCheck.filter_too_much],
            ),
        )


@pytest.fixture
def crowd(project: Project) -> list[User]:
    return [build.member(project, Role.ANNOTATOR, f"person{number}") for number in range(8)]


def database_url() -> str:
    """The test database, for another process."""
    parts = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{parts['NAME']}"
    return f"postgres://{quote(parts['USER'])}@{parts['HOST'] or 'localhost'}:{parts['PORT'] or 5432}/{parts['NAME']}"


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.django_db(transaction=True)
def test_four_processes_that_submit_at_once_leave_exact_cells(
    project: Project, crowd: list[User], processes: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    for _ in range(3):
        build.checklist(build.item(project, systems=("Aster", "Briar")), "Is it short?", "Is it true?")
    round = build.round(project, "check_then_score", overlap=4)
    with mock.patch("judging.tasks.work_run.apply_async"):
        run = runs.plan_judging(project, build.judge(project), "tick", round)
    environment: dict[str, Any] = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DEBUG": "1",
        "CONCORD_VAR_DIR": str(tmp_path),
    }
    for number in range(4):
        names = [person.username for person in crowd[2 * number : 2 * number + 2]]
        command = [sys.executable, "-m", "tests.judging.many_hands", str(round.pk), str(number), *names]
        processes.append(
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    now = timezone.now()
    for call in claims.claim(run, 100, now):
        claims.settle([claims.done(call, [Outcome("yes" if call.pk % 3 else "no", call.question)])], now)
    for process in processes:
        assert process.stderr is not None
        complaints = process.stderr.read()
        assert (process.wait(), complaints) == (0, "")

    assert Annotation.objects.counted(round).count() > 12
    assert recount.audit(round) == []

"""Training sets have expected answers and no labels: nothing of them is counted, compared or judged."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotate.models import Project, Response, Round, User
from annotate.overview import next_step
from judging import beside, recount, runs
from judging.models import Judge, Ledger, Run
from tests import build
from tests.annotate.test_training import attempt, training_set, work
from tests.judging.build_runs import run_of, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def practice(project: Project, bob: User, ann: User) -> Round:
    """A training set that somebody answered to qualify for a round."""
    made = training_set(project, bob, 4, 2, name="Practice")
    attempt(work(project, name="Work", qualification=made), ann, 4)
    return made


@pytest.fixture
def page(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


@pytest.fixture
def judge(project: Project) -> Judge:
    return build.judge(project, name="Fern")


@pytest.mark.parametrize("options", [(), ("--repair",)])
def test_the_audit_is_clean_and_repairs_nothing(practice: Round, options: tuple[str, ...]) -> None:
    out = StringIO()
    call_command("audit_agreement", *options, stdout=out)

    assert out.getvalue() == "1 rounds: the live agreement equals the labels.\n"
    assert recount.audit(practice) == []
    recount.rebuild(practice)
    assert not Ledger.objects.filter(round=practice).exists()
    with pytest.raises(CommandError, match=f"no round {practice.pk} that was ever opened for labels"):
        call_command("audit_agreement", str(practice.pk))


def test_no_run_is_planned_on_one(practice: Round, project: Project, judge: Judge, page: Client) -> None:
    chosen: dict[str, Any] = {"protocol": "direct", "round": practice.pk}
    refusal = "A training set has expected answers, not labels: choose a round."
    with pytest.raises(runs.PlanError, match=refusal):
        runs.draft_panel(project, [judge], "direct", practice)
    for path in ("runs/", "runs/estimate/"):
        answer = page.post(
            f"/api/projects/garden/{path}", {**chosen, "judge": judge.pk}, content_type="application/json"
        )
        assert (answer.status_code, answer.json()["detail"]) == (409, refusal)

    new = reverse("run_create", args=["garden"])
    form = page.get(new).context["form"]
    assert [str(offered) for offered in form.fields["round"].queryset] == ["Work"]
    assert form.initial["round"].name == "Work"
    answer = page.post(new, {**chosen, "judges": [judge.pk], "action": "preview"})
    assert answer.context["form"].has_error("round", "invalid_choice")
    with pytest.raises(CommandError, match=refusal):
        call_command("run_judge", "garden", "--judge", "Fern", "--protocol", "direct", "--round", "Practice", "--yes")
    assert not Run.objects.exists()


def test_it_has_no_page_of_agreement_and_none_leads_there(practice: Round, page: Client) -> None:
    path = reverse("agreement", args=["garden", practice.pk])
    for address in (path, f"{path}?part=curve", reverse("round_judges", args=["garden", practice.pk]), f"/api{path}"):
        assert page.get(address, headers={"HX-Request": "true"}).status_code == 404, address

    for shown in (reverse("round", args=["garden", practice.pk]), reverse("project", args=["garden"])):
        text = page.get(shown).text
        assert "Practice" in text
        assert path not in text
        assert f"?round={practice.pk}" not in text


def test_it_does_not_stand_beside_a_run_on_its_responses(practice: Round, project: Project) -> None:
    same = build.round(project, category="training", name="The same responses")
    run = run_of(same)
    Run.objects.update(round=None)
    run.refresh_from_db()
    verdict(run, Response.objects.get(tasks__round=practice, tasks__position=1), "score", score=4)

    assert [round.name for round in beside.rounds_beside(run)] == ["The same responses"]


def test_the_next_step_is_a_round_for_labels(project: Project, bob: User, ann: User) -> None:
    member = project.memberships.get(user=bob)
    build.checklist(build.item(project))
    build.round(project, purpose=Round.Purpose.TRAINING)
    assert next_step(member).url == reverse("round_create", args=["garden"])

    writing = build.round(project, Round.Kind.CHECKLIST_WRITING)
    assert next_step(member).url == reverse("round_labels", args=["garden", writing.pk])

    scored = build.round(project)
    assert next_step(member).url == f"{reverse('run_create', args=['garden'])}?round={scored.pk}"

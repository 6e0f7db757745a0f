"""The packaged model at work: it writes checklists, answers them and scores. It is weak, so that what is tested is that
everything it said is kept and that nothing it did not say became a value."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from annotate.models import Checklist, Item, Project, Round
from judging import demo, local_model, pairs, reading, runs, work
from judging.agreement import changed_with_order
from judging.models import Call, Judge, Run
from judging.probing import probe
from judging.prompts import template
from judging.protocols import PROTOCOLS, Setup
from judging.protocols.preference import OPTIONS
from tests import build

pytestmark = [pytest.mark.real_llm, pytest.mark.django_db, pytest.mark.timeout(600)]

MOST_SLOTS = 100

INSTRUCTIONS = {
    "en-fruit": "Name three fruits that grow in a cold climate, and say in one sentence how to store each.",
    "en-mail": "Write a short e-mail that moves Tuesday's meeting to Thursday at ten, with a polite apology.",
    "en-moss": "Explain in two sentences why moss grows on the shady side of a roof.",
    "ja-tea": "緑茶のいれ方を三つの手順で、丁寧な言葉で説明してください。",
}
RESPONSES = {
    "en-fruit": "Apples keep for weeks in a cool cellar. Pears ripen in a bowl. Plums go into the refrigerator.",
    "en-mail": "Hi all, the meeting is on Thursday now. Bye",
    "en-moss": "Moss needs moisture. The shady side of a roof dries slowly, so that moss thrives there.",
    "ja-tea": "お湯を少し冷まします。茶葉を急須に入れます。一分待ってから注いでください。",
}


@pytest.fixture
def items(project: Project) -> list[Item]:
    made = []
    for name, instruction in INSTRUCTIONS.items():
        item = build.item(project, name, systems=(), instruction=instruction, language=name[:2])
        item.responses.create(system="Aster", text=RESPONSES[name])
        made.append(item)
    return made


def say(rate: str) -> None:
    """Show how readable the weak model was (with `pytest -s`)."""
    print(rate)  # noqa: T201


def work_to_end(run: Run) -> Run:
    for _ in range(MOST_SLOTS):
        work.work(run.pk)
        run.refresh_from_db()
        if run.state != Run.State.RUNNING:
            return run
    raise AssertionError(f"the run does not end: {run.progress()}")


def assert_everything_is_kept(call: Call) -> None:
    assert call.reply.strip()
    assert call.finish_reason in {"stop", "length"}
    assert call.prompt[-1]["content"].count(call.item.instruction) == 1
    assert call.parameters["max_tokens"] == 200
    assert call.input_tokens > 100
    assert call.output_tokens > 0
    assert call.latency_ms is not None
    assert call.latency_ms > 0


def test_the_probe_finds_out_what_the_packaged_model_can_do(judge: Judge) -> None:
    probed = probe(judge)
    assert [finding.ok for finding in probed.findings] == [True, True, True, True], probed.findings
    assert probed.abilities == demo.ABILITIES


def test_it_writes_checklists_in_its_own_words(project: Project, judge: Judge, items: list[Item]) -> None:
    run = work_to_end(runs.plan_generation(project, judge, "ticking", items[2:]))
    assert run.state == Run.State.FINISHED
    written = Checklist.objects.filter(policy="ticking")
    assert written.exists(), runs.failures(run)
    for checklist in written:
        call = checklist.generated_by
        assert_everything_is_kept(call)
        assert checklist.state == Checklist.State.DRAFT
        texts = [question.text for question in checklist.questions.all()]
        assert 1 <= len(texts) <= 20
        assert texts == reading.bracketed(call.reply)  # nothing that the model did not write
    for call in run.calls.filter(state=Call.State.FAILED):
        assert call.written is None
        assert call.error
    say(f"\nchecklists: {written.count()} of {len(items[2:])} items; {runs.summary(run)}")


def test_it_answers_checklists_question_by_question(project: Project, judge: Judge, items: list[Item]) -> None:
    for item in items[2:]:
        build.checklist(item, "Does the response follow the instruction?", "Is the response polite?", "Is it a poem?")
    run = work_to_end(runs.plan_judging(project, judge, "tick", build.round(project, Round.Kind.CHECK_THEN_SCORE)))
    assert run.state == Run.State.FINISHED
    assert run.verdicts.count() == run.calls.count() == 6
    answers = {True: "yes", False: "no", None: "unparsed"}
    for verdict in run.verdicts.select_related("call__item"):
        call = verdict.call
        assert_everything_is_kept(call)
        assert verdict.state == answers[reading.yes_or_no(call.reply, cut_off=call.finish_reason == "length")]
        assert verdict.score is None
        if verdict.state != "unparsed":
            assert ("yes" if verdict.state == "yes" else "no") in call.reply.casefold()
    readable = run.verdicts.exclude(state="unparsed").count()
    assert readable >= 3, [call.reply for call in run.calls.all()]
    # The questions of one response share their prompt up to the question, and the server evaluates that part once.
    assert run.usage().cached > run.usage().input / 2
    say(f"\ntick: {readable} of 6 replies readable; {run.usage()}")


@pytest.mark.parametrize("schema", [False, True], ids=["words", "json"])
def test_it_answers_a_whole_checklist_at_once(project: Project, judge: Judge, items: list[Item], schema: bool) -> None:
    judge.abilities = {"schema": schema}
    judge.save()
    texts = ["Does the response follow the instruction?", "Is the response polite?", "Is it a poem?"]
    for item in items[:2]:
        build.checklist(item, *texts)
    run = work_to_end(runs.plan_judging(project, judge, "tick_batch"))
    assert run.state == Run.State.FINISHED
    assert run.calls.count() == 2
    assert run.verdicts.count() == 6
    for call in run.calls.select_related("item"):
        assert_everything_is_kept(call)
        assert ("response_format" in call.parameters) is schema
        if schema:  # the server keeps the model to it
            answers = json.loads(call.reply)["answers"]
            assert list(answers) == ["1", "2", "3"]
            expected: list[str | None] = [answers[number].lower() for number in answers]
        else:
            expected = reading.numbered(call.reply, texts, cut_off=call.finish_reason == "length")
        states = call.verdicts.order_by("question__position").values_list("state", flat=True)
        assert list(states) == [answer or "unparsed" for answer in expected]
        say(f"\ntick_batch: {call.reply!r} is {list(states)}")
    assert run.verdicts.exclude(state="unparsed").count() >= 3, [call.reply for call in run.calls.all()]


def test_it_scores_on_the_rounds_scale(project: Project, judge: Judge, items: list[Item]) -> None:
    round = build.round(project, scale_anchors={"1": "useless", "5": "excellent"})
    run = work_to_end(runs.plan_judging(project, judge, "direct", round))
    assert run.state == Run.State.FINISHED
    assert run.verdicts.count() == 4
    for verdict in run.verdicts.select_related("call__item"):
        assert_everything_is_kept(verdict.call)
        assert verdict.state in {"score", "unparsed"}
        if verdict.state == "score":
            assert verdict.score in {1, 2, 3, 4, 5}
            assert str(int(verdict.score)) in verdict.call.reply
        else:
            [outcome] = PROTOCOLS["direct"].read(verdict.call, Setup(template("direct"), round))
            assert outcome.score is None
    assert run.verdicts.filter(state="score").exists(), [call.reply for call in run.calls.all()]
    say(f"\ndirect: {run.verdicts.filter(state='score').count()} of 4 replies readable")


def test_it_compares_pairs_in_both_orders(project: Project, judge: Judge, items: list[Item]) -> None:
    for item in items[:2]:
        item.responses.create(system="Briar", text="No.")
    run = work_to_end(runs.plan_judging(project, judge, "preference"))
    assert run.state == Run.State.FINISHED
    assert run.verdicts.count() == run.calls.count() == 4
    for verdict in run.verdicts.select_related("call__item", "response", "other"):
        call = verdict.call
        assert_everything_is_kept(call)
        assert verdict.other is not None
        shown = [verdict.response.text, verdict.other.text][:: 1 if call.order == "ab" else -1]
        assert call.prompt[-1]["content"].index(shown[0]) < call.prompt[-1]["content"].index(shown[1])
        assert verdict.state in {"preference", "unparsed"}
        assert verdict.choice == (reading.choice(call.reply, OPTIONS, cut_off=call.finish_reason == "length") or "")
    found = pairs.judged_in(run)
    assert len(found) == 2
    assert sum(len(pair.votes) for pair in found) == run.verdicts.filter(state="preference").count() >= 1, [
        call.reply for call in run.calls.all()
    ]
    chosen = Counter(showing.choice or showing.gap for pair in found for showing in pair.showings)
    say(f"\npreference: {chosen}, with the order {changed_with_order(pair.orders for pair in found)}")


def test_a_text_longer_than_its_context_fails_in_words(project: Project, judge: Judge) -> None:
    item = build.item(project, systems=())
    item.responses.create(system="Aster", text="many words " * 4000)
    item.responses.create(system="Clover", text="few words")
    run = work_to_end(runs.plan_judging(project, judge, "direct", build.round(project)))
    assert run.state == Run.State.FINISHED
    [(reason, number)] = runs.failures(run)
    assert "longer than the model can take in" in reason
    assert number == 1
    assert run.progress()["done"] == 1  # the rest of the run goes on


def test_a_taken_port_is_a_clear_message(model_url: str) -> None:
    port = model_url.split(":")[2].split("/")[0]
    with pytest.raises(local_model.ModelUnavailable, match=f"Port {port} cannot be used"):
        local_model.serve(int(port), lambda url: None, lambda: None)


def test_an_absent_package_is_a_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "PACKAGE", "no_such_model_package")
    assert not local_model.available()
    with pytest.raises(local_model.ModelUnavailable, match="not installed"):
        local_model.serve(1, lambda url: None, lambda: None)

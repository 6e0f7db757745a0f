"""The audit: it finds what differs from the labels, says it in words, and puts it right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotate import assignment, labelling
from annotate.contents import Content
from annotate.models import Annotation, Project, Response, Role, Round, User
from judging import cells, claims, live, recount, runs
from judging.labels import PREFERENCE, QUESTIONS, SCORE, Facet
from judging.models import Cell, Ledger, Series, Verdict
from judging.protocols import PROTOCOLS, Outcome
from tests import build
from tests.judging.build_runs import run_of, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def round(project: Project, ann: User, abe: User) -> Round:
    """Two responses with one checklist; the first is labelled by two people and by a judge."""
    item = build.item(project)
    first, second = build.checklist(item).questions.all()
    round = build.round(project, "check_then_score", overlap=2)
    task = round.tasks.get(position=1)
    build.submitted(task, ann, 4, {first.pk: "yes", second.pk: "no"})
    build.submitted(task, abe, 2, {first.pk: "yes", second.pk: "yes"})
    assert task.response is not None
    verdict(run_of(round), task.response, "yes", question=first)
    return round


def audit(*arguments: str) -> str:
    out = StringIO()
    call_command("audit_agreement", *arguments, stdout=out)
    return out.getvalue()


def test_a_size_of_disagreement_that_is_wrong_is_told_and_repaired(round: Round) -> None:
    task = round.tasks.get(position=1)
    assert task.disagreement == 0.5  # a half of the scale, and of the questions
    round.tasks.update(disagreement=0.25)
    with pytest.raises(CommandError, match="1 rounds differ"):
        audit()
    assert "2 tasks have another size of disagreement" in audit("--repair")
    assert list(round.tasks.order_by("position").values_list("disagreement", flat=True)) == [0.5, 0.0]
    assert "equals the labels" in audit()


def test_cells_say_what_the_labels_say(round: Round) -> None:
    stored, observed = cells.stored(round)

    facts = {
        (key.facet.kind, key.run is not None, *place): units
        for key, some in stored.items()
        for place, units in some.items()
    }
    assert facts["score", False, "2:1,4:1", "", 0] == 1
    assert facts["score", False, "", "", 0] == 1
    assert facts["questions", False, "yes:2", "", 0] == 1
    assert facts["questions", False, "yes:1,no:1", "", 0] == 1
    assert facts["questions", False, "", "", 0] == 2
    assert facts["questions", True, "yes:2", "yes", 0] == 1
    assert sorted(observed.values()) == [0.0, 1.0]


def test_equal_cells_pass(round: Round) -> None:
    assert audit() == "1 rounds: the live agreement equals the labels.\n"
    assert audit(str(round.pk), "--repair") == "1 rounds: the live agreement equals the labels.\n"


def test_a_difference_is_named_and_repaired(round: Round) -> None:
    Cell.objects.filter(series__kind="score", pattern="2:1,4:1").update(pattern="2:1,5:1")
    out = StringIO()
    with pytest.raises(CommandError, match="1 rounds differ") as refused:
        call_command("audit_agreement", stdout=out)

    assert refused.value.returncode == 1
    assert f"Round {round.pk}, score: 0 units with 2:1,4:1 where the labels have 1.\n" in out.getvalue()
    assert f"Round {round.pk}, score: 1 units with 2:1,5:1 where the labels have 0.\n" in out.getvalue()
    before = live.version(round)
    assert f"Round {round.pk} was counted anew.\n" in audit("--repair")
    assert live.version(round) != before
    assert recount.audit(round) == []


def test_every_kind_of_difference_is_found_and_repaired(round: Round) -> None:
    damages: list[Callable[[], object]] = [
        lambda: Annotation.objects.filter(score=4).update(score=5),
        lambda: Annotation.objects.filter(score=2).update(surplus=True),
        lambda: Cell.objects.filter(judge="yes").update(units=3),
        lambda: Cell.objects.filter(series__kind="question").delete(),
        lambda: Series.objects.filter(run__isnull=False).delete(),
        lambda: Series.objects.filter(kind="question").update(observed=0.5),
        lambda: Series.objects.create(round=round, kind="preference"),
        lambda: User.objects.filter(username="ann").update(is_simulated=True, is_active=False),
        lambda: Ledger.objects.all().delete(),
        lambda: Ledger.objects.update(questions=7),
    ]
    for number, damage in enumerate(damages):
        damage()
        assert recount.audit(round), number
        recount.rebuild(round)
        assert recount.audit(round) == [], number


def test_only_the_rounds_that_are_named_are_looked_at(round: Round) -> None:
    other = build.round(round.project)
    Cell.objects.filter(series__round=round, units__gt=0).update(units=7)

    assert audit(str(other.pk)) == "1 rounds: the live agreement equals the labels.\n"
    with pytest.raises(CommandError):
        audit(str(round.pk), str(other.pk))


def test_a_round_that_was_never_opened_has_nothing_to_audit(project: Project) -> None:
    draft = build.round(project, opened=False)

    assert recount.audit(draft) == []
    with pytest.raises(CommandError, match=f"no round {draft.pk} that was ever opened") as refused:
        audit(str(draft.pk))
    assert refused.value.returncode == 2


def test_the_audit_locks_only_where_labels_keep_coming(round: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    revisions = iter(range(100))
    monkeypatch.setattr(recount, "_revision", lambda _: next(revisions))
    before = Ledger.objects.get(round=round).revision

    assert recount.audit(round) == []
    assert Ledger.objects.get(round=round).revision == before + 1


def test_a_move_that_finds_wrong_cells_counts_the_round_anew(
    round: Round, ann: User, caplog: pytest.LogCaptureFixture
) -> None:
    Cell.objects.filter(series__kind="score").update(units=0)

    build.submitted(round.tasks.get(position=2), ann, 5)

    assert "is computed anew" in caplog.text
    assert recount.audit(round) == []


def test_a_round_from_before_there_were_cells_gets_them_with_the_next_label(round: Round, ann: User) -> None:
    Ledger.objects.all().delete()
    Series.objects.all().delete()

    build.submitted(round.tasks.get(position=2), ann, 5)

    assert recount.audit(round) == []


def test_preferences_of_pairs_move_cells_of_their_own(project: Project, ann: User, abe: User) -> None:
    build.item(project)
    round = build.round(project, "preference", overlap=3)
    task = round.tasks.get()
    robot = build.member(project, Role.ANNOTATOR, "robot", is_simulated=True, is_active=False)
    for person, preference in ((ann, 2), (abe, 2), (robot, 5)):
        assert assignment.reclaim(task, person)
        labelling.save(task, person, Content(preference=preference), token="t", version=0, submit=True)

    stored, _ = cells.stored(round)
    assert stored == {cells.Key(PREFERENCE): {cells.Place("2:2,5:1", "", 1): 1}}
    assert recount.audit(round) == []
    labelling.withdraw(Annotation.objects.get(annotator=robot))
    assert recount.audit(round) == []
    [part] = live.panel(round).people
    assert (part.title, part.labels, part.simulated, part.alpha.n_units) == ("Preferences", 2, 0, 1)
    assert live.histogram(round, PREFERENCE).patterns == {(0, 2, 0, 0, 0): 1}


@pytest.mark.parametrize(
    ("protocol", "facets"),
    [
        ("tick_batch", [QUESTIONS]),
        ("checklist_then_score", [QUESTIONS, SCORE]),
        ("check_then_score", [SCORE]),
    ],
)
def test_a_call_that_asks_several_things_moves_them_all_from_pending(
    round: Round, protocol: str, facets: list[Facet]
) -> None:
    run = runs.plan_judging(round.project, build.judge(round.project), protocol, round)
    units = {SCORE: 2, QUESTIONS: 4}

    def judged() -> dict[Facet, Counter[str]]:
        assert recount.audit(round) == []
        found: dict[Facet, Counter[str]] = {facet: Counter() for facet in facets}
        for key, some in cells.stored(round)[0].items():
            for place, number in some.items() if key.run == run.pk else ():
                found[key.facet][place.judge] += number
        return found

    assert judged() == {facet: {"pending": units[facet]} for facet in facets}
    now = timezone.now()
    first, second = claims.claim(run, 2, now)
    for call, states in ((first, ["yes", "unparsed"]), (second, ["na", "no"])):
        call.run = run
        asked = PROTOCOLS[protocol].blank(call, Verdict.State.UNPARSED)
        questions = [outcome.question for outcome in asked if outcome.question]
        outcomes = [Outcome(state, question) for state, question in zip(states, questions, strict=False)]
        scored = [Outcome("score", score=4)] if SCORE in facets else []
        claims.settle([claims.done(call, [*outcomes, *scored])], now)
        assert recount.audit(round) == []
    expected = {SCORE: {"4": 2}, QUESTIONS: {"yes": 1, "unreadable": 1, "na": 1, "no": 1}}
    assert judged() == {facet: expected[facet] for facet in facets}


def test_units_of_a_run_that_nobody_labelled_are_counted_too(round: Round) -> None:
    run = run_of(round, "direct")
    for response in Response.objects.all():
        verdict(run, response, "score", score=3)

    stored, _ = cells.stored(round)
    assert stored[cells.Key(SCORE, run.pk)] == {cells.Place("2:1,4:1", "3"): 1, cells.Place("", "3"): 1}

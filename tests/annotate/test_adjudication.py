"""Where people disagree, in which order that is listed, and what becomes of a decision."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate import adjudication, labelling
from annotate.contents import Content, InvalidLabel
from annotate.models import Adjudication, Annotation, Project, Role, Round, Task, User
from annotate.said import counted_about
from tests import build


@pytest.fixture
def at(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


@pytest.fixture
def people(project: Project) -> list[User]:
    return [build.member(project, Role.ANNOTATOR, f"Person-{letter}") for letter in "XYZ"]


@pytest.fixture
def scored(project: Project, people: list[User]) -> Round:
    """Four tasks in order: agreed, 2 apart, 4 apart, and labelled once."""
    for number in range(4):
        build.item(project, f"item-{number}", systems=("Zinnia-7B",))
    round = build.round(project, order=Round.Order.FIXED)
    for task, scores in zip(round.tasks.all(), ((3, 3, 3), (1, 3), (5, 1, 4), (2,)), strict=True):
        for person, score in zip(people, scores, strict=False):
            build.submitted(task, person, score)
    return round


def where(round: Round, position: int | None = None) -> str:
    if position is None:
        return reverse("adjudication", args=["garden", round.pk])
    return reverse("adjudicate", args=["garden", round.pk, position])


def listed(round: Round, show: adjudication.Show = "undecided") -> list[tuple[int, float, int]]:
    found = adjudication.disagreements(round, show, 1).tasks
    return [(task.position, task.disagreement, task.labels) for task in found]  # type: ignore[attr-defined]


class TestSize:
    def test_scores_by_the_range_of_the_scale(self, scored: Round) -> None:
        assert listed(scored) == [(3, 1.0, 3), (2, 0.5, 2)]
        assert [task.disagreement for task in scored.tasks.all()] == [0.0, 0.5, 1.0, 0.0]

    def test_answers_by_the_share_of_questions_and_the_largest_measure_wins(
        self, project: Project, people: list[User]
    ) -> None:
        first, second, third, fourth = build.checklist(
            build.item(project, systems=("Aster",)), "One?", "Two?", "Three?", "Four?"
        ).questions.all()
        round = build.round(project, Round.Kind.CHECK_THEN_SCORE, allow_unsure=True)
        task = round.tasks.get()
        same = {second.pk: "yes", fourth.pk: "no"}
        build.submitted(task, people[0], 3, {first.pk: "yes", third.pk: "yes", **same})
        build.submitted(task, people[1], 4, {first.pk: "no", third.pk: "unsure", **same})
        assert listed(round) == [(1, 0.25, 2)]  # a question of four, as much as 1 of the 4 steps of the scale
        build.submitted(task, people[2], 3, {first.pk: "no", third.pk: "no", **same})
        assert listed(round) == [(1, 0.5, 3)]

    def test_pairs_by_the_range_of_preferences_and_by_answers_about_each_response(
        self, project: Project, people: list[User]
    ) -> None:
        build.item(project, systems=("Aster", "Briar"))
        plain = build.round(project, Round.Kind.PREFERENCE)
        for person, preference in zip(people, (2, 4, 4), strict=True):
            build.said(plain.tasks.get(), person, Content(preference=preference))
        assert listed(plain) == [(1, 0.5, 3)]
        question = build.checklist(plain.tasks.get().item, "One?").questions.get()
        checked = build.round(project, Round.Kind.PAIRWISE_CHECKLIST)
        for person, other in zip(people, ("yes", "no"), strict=False):
            content = Content(answers={question.pk: "yes"}, other_answers={question.pk: other}, preference=3)
            build.said(checked.tasks.get(), person, content)
        assert listed(checked) == [(1, 0.5, 2)]

    def test_only_counted_labels_enter_it(self, scored: Round, people: list[User]) -> None:
        labelling.withdraw(Annotation.objects.get(task__position=3, annotator=people[1]))
        assert listed(scored) == [(2, 0.5, 2), (3, 0.25, 2)]

    def test_written_checklists_have_no_size(self, at: Client, project: Project) -> None:
        build.item(project)
        round = build.round(project, Round.Kind.CHECKLIST_WRITING)
        assert round.tasks.get().disagreement == 0
        assert "Nothing to compare" in at.get(where(round)).content.decode()

    def test_a_page_costs_four_queries_however_many_tasks_there_are(
        self, project: Project, people: list[User], django_assert_num_queries: Any
    ) -> None:
        for _ in range(adjudication.PAGE + 2):
            build.item(project, systems=("Aster",))
        round = build.round(project)
        for task in round.tasks.all():
            for person, score in zip(people, (1, 5), strict=False):
                build.submitted(task, person, score)
        with django_assert_num_queries(4):
            page = adjudication.disagreements(round, "undecided", 1)
        assert [task.position for task in page.tasks] == list(range(1, adjudication.PAGE + 1))
        assert (page.undecided, page.decided) == (adjudication.PAGE + 2, 0)
        assert [task.position for task in adjudication.disagreements(round, "undecided", 2).tasks] == [26, 27]


class TestDecisions:
    def test_a_decision_is_a_row_of_its_own(self, at: Client, scored: Round, bob: User) -> None:
        before = list(Annotation.objects.values())
        reply = at.post(where(scored, 3), {"score": 4, "comment": "the middle"})
        assert reply["Location"] == where(scored, 2)
        decision = Adjudication.objects.get()
        content = Content.from_json(decision.content)
        assert (decision.adjudicator, content.score, content.comment) == (bob, 4, "the middle")
        assert list(Annotation.objects.values()) == before
        assert (listed(scored), listed(scored, "decided")) == ([(2, 0.5, 2)], [(3, 1.0, 3)])

    def test_a_later_decision_counts_and_the_earlier_one_stays(self, at: Client, scored: Round) -> None:
        for score in (4, 4, 2):  # the second is the same form sent twice
            at.post(where(scored, 3), {"score": score})
        assert [decision.content["score"] for decision in Adjudication.objects.all()] == [2, 4]
        page = at.get(where(scored, 3)).content.decode()
        assert page.index("counts") < page.index("Decide anew")

    @pytest.mark.parametrize(
        ("fields", "sentence"),
        [
            ({}, "Still to answer: the score"),
            ({"score": 6}, "whole number from 1 to 5"),
            ({"score": 3, "answer-1": "yes"}, "not on this checklist"),
            ({"score": 3, "comment": "a\x00b"}, "control characters"),
        ],
    )
    def test_what_no_annotator_may_say_is_refused_and_stays_in_the_form(
        self, at: Client, scored: Round, fields: dict[str, Any], sentence: str
    ) -> None:
        reply = at.post(where(scored, 3), {"comment": "long thought", **fields})
        assert reply.status_code == 400
        assert sentence in reply.content.decode()
        assert "long thought" in reply.content.decode() or "comment" in fields
        assert not Adjudication.objects.exists()

    def test_every_part_of_the_round_is_asked(self, at: Client, project: Project) -> None:
        question = build.checklist(build.item(project, systems=("Aster", "Briar")), "One?").questions.get()
        round = build.round(project, Round.Kind.PAIRWISE_CHECKLIST)
        round.tasks.update(swapped=True)
        form = {f"answer-{question.pk}-left": "yes", f"answer-{question.pk}-right": "no", "preference": 2}
        assert at.post(where(round, 1), form).status_code == 302
        content = Content.from_json(Adjudication.objects.get().content)
        assert (content.preference, content.other_answers, content.answers) == (
            4,
            {question.pk: "yes"},
            {question.pk: "no"},
        )
        with pytest.raises(InvalidLabel, match="which response is better"):
            adjudication.decide(Task.objects.get(), round.project.members.get(), Content())

    def test_next_and_previous_pass_over_what_is_decided(self, at: Client, scored: Round, people: list[User]) -> None:
        build.submitted(scored.tasks.get(position=4), people[1], 3)  # now 0.25
        at.post(where(scored, 2), {"score": 2})
        assert at.get(where(scored, 3) + "?go=next")["Location"] == where(scored, 4)
        assert at.get(where(scored, 4) + "?go=previous")["Location"] == where(scored, 3)
        end = at.get(where(scored, 4) + "?go=next", follow=True)
        assert end.redirect_chain[-1][0] == where(scored)
        assert "no other undecided unit" in end.content.decode()

    @pytest.mark.skipif(not connection.features.has_select_for_update, reason="the database has one writer")
    def test_a_decision_keeps_nobody_waiting_who_refers_to_the_task(self, scored: Round, bob: User) -> None:
        with CaptureQueriesContext(connection) as asked:
            adjudication.decide(scored.tasks.get(position=3), bob, Content(3))
        locks = [each["sql"].rpartition(" FOR ")[2] for each in asked if " FOR " in each["sql"]]
        assert locks == ["NO KEY UPDATE"]

    def test_what_was_decided_stays_listed_when_people_agree_later(self, scored: Round, bob: User) -> None:
        task = scored.tasks.get(position=2)
        adjudication.decide(task, bob, Content(3))
        for annotation in Annotation.objects.filter(task=task):
            labelling.correct(task, annotation.annotator, Content(2), token="c", version=annotation.version)
        assert listed(scored, "decided") == [(2, 0.0, 2)]


class TestPages:
    def test_nobody_and_no_system_is_named(self, at: Client, scored: Round, people: list[User]) -> None:
        pages = [at.get(where(scored)), *(at.get(where(scored, position)) for position in (1, 2, 3, 4))]
        for page in pages:
            everything = page.content.decode() + str(page.headers)
            assert page.status_code == 200
            assert "Zinnia-7B" not in everything
            assert not any(person.username in everything for person in people)

    def test_people_have_another_number_on_every_task(self, project: Project, people: list[User]) -> None:
        for _ in range(12):
            build.item(project, systems=("Aster",))
        round = build.round(project)
        orders = []
        for task in round.tasks.all():
            for score, person in enumerate(people, start=1):
                build.submitted(task, person, score)
            orders.append(tuple(content.score for content in counted_about(task)))
        assert len(set(orders)) > 3  # of six
        assert orders == [tuple(c.score for c in counted_about(task)) for task in round.tasks.all()]

    def test_all_answers_stand_side_by_side(self, at: Client, project: Project, people: list[User]) -> None:
        item = build.item(project, systems=("Aster",))
        question = build.checklist(item, "Is it one?").questions.get()
        round = build.round(project, Round.Kind.CHECKLIST_ANSWERING)
        key = str(question.pk)
        said = Content(
            answers={question.pk: "no"}, comment="too <short>", quotes={key: "the end"}, flags={key: "vague"}
        )
        build.said(round.tasks.get(), people[0], said)
        build.said(round.tasks.get(), people[1], Content(answers={question.pk: "yes"}))
        page = at.get(where(round, 1)).content.decode()
        for text in ("Annotator 1", "Annotator 2", "too &lt;short&gt;", "the end", "vague", "(differs)"):
            assert text in page
        assert "Annotator 3" not in page

    def test_a_page_that_is_not_there_shows_the_last_one(self, at: Client, scored: Round) -> None:
        for number in ("9", "x", "-1"):
            page = at.get(where(scored), {"page": number}).content.decode()
            assert where(scored, 3) in page

    def test_drafts_and_training_sets_have_no_adjudication(self, at: Client, project: Project) -> None:
        build.item(project)
        draft = build.round(project, opened=False)
        training = build.round(project, purpose=Round.Purpose.TRAINING)
        for round in (draft, training):
            assert at.get(where(round)).status_code == 404
            assert at.get(where(round, 1)).status_code == 404

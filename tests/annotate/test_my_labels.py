"""What annotators see of their own labels, and what a round tells them afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotate import assignment, labelling
from annotate.contents import Content
from annotate.models import Annotation, Assignment, Project, Role, Round, Task, User
from tests import build

Reveal = Round.Reveal


@pytest.fixture
def at(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


def made(project: Project, reveal: str = Reveal.NEVER, **fields: Any) -> Round:
    build.item(project, systems=("Zinnia-7B",), instruction="Name one tree.")
    return build.round(project, reveal=reveal, **fields)


def mine(round: Round) -> str:
    return reverse("my_labels", args=["garden", round.pk])


def revealed(task: Task) -> str:
    return reverse("revealed", args=["garden", task.pk])


class TestMyLabels:
    def test_they_lead_back_to_the_task_while_the_round_is_open(self, at: Client, project: Project, ann: User) -> None:
        round = made(project)
        assert "Nothing submitted yet" in at.get(mine(round)).content.decode()
        task = round.tasks.get()
        build.submitted(task, ann, 4)
        back = reverse("task", args=["garden", task.pk])
        page = at.get(mine(round)).content.decode()
        assert back in page
        assert "score 4" in page
        assert 'value="correct"' in at.get(back).content.decode()
        round.close()
        page = at.get(mine(round)).content.decode()
        assert back not in page
        assert "score 4" in page

    def test_the_newest_comes_first_and_only_ones_own(self, at: Client, project: Project, ann: User, abe: User) -> None:
        for name in ("first", "second"):
            build.item(project, systems=("Aster",), instruction=f"The {name} one")
        round = build.round(project, order=Round.Order.FIXED)
        first, second = round.tasks.all()
        build.submitted(second, ann, 1)
        build.submitted(first, ann, 2)
        build.submitted(second, abe, 5)
        page = at.get(mine(round)).content.decode()
        assert page.index("The first one") < page.index("The second one")
        assert "score 5" not in page

    def test_what_is_not_counted_says_so(self, at: Client, project: Project, ann: User) -> None:
        round = made(project)
        task = round.tasks.get()
        stored = build.submitted(task, ann, 4)
        Annotation.objects.filter(pk=stored.pk).update(surplus=True)
        page = at.get(mine(round)).content.decode()
        assert "kept, but not counted" in page
        assert reverse("task", args=["garden", task.pk]) not in page
        Annotation.objects.filter(pk=stored.pk).update(surplus=False)
        labelling.withdraw(stored, "reasons of a researcher")
        page = at.get(mine(round)).content.decode()
        assert "Withdrawn by a researcher" in page
        assert "reasons of a researcher" not in page

    def test_gold_units_stand_among_the_rest(self, at: Client, project: Project, ann: User) -> None:
        round = made(project)
        build.submitted(round.tasks.get(), ann, 4)
        gold = build.round(project, purpose=Round.Purpose.TRAINING)
        seat = Assignment.objects.create(
            task=gold.tasks.get(), seat=1, state="submitted", annotator=ann, shown_in=round
        )
        Annotation.objects.create(
            task=seat.task, annotator=ann, score=2, state="submitted", submitted_at=round.opened_at, assignment=seat
        )
        page = at.get(mine(round)).content.decode()
        assert page.count("Name one tree.") == 2
        assert page.count("Look and correct") == 2


class TestReveal:
    @pytest.mark.parametrize(
        ("rule", "closed", "status"),
        [
            (Reveal.NEVER, False, 403),
            (Reveal.NEVER, True, 403),
            (Reveal.CLOSED, False, 403),
            (Reveal.CLOSED, True, 200),
            (Reveal.SUBMITTED, False, 200),
            (Reveal.SUBMITTED, True, 200),
        ],
    )
    def test_the_rule_of_the_round_decides(
        self, at: Client, project: Project, ann: User, rule: str, closed: bool, status: int
    ) -> None:
        round = made(project, rule)
        task = round.tasks.get()
        build.submitted(task, ann, 4)
        build.submitted(task, build.member(project, Role.ANNOTATOR, "Other-Person"), 1)
        if closed:
            round.close()
        reply = at.get(revealed(task))
        page = reply.content.decode()
        assert reply.status_code == status
        assert ("Zinnia-7B" in page) == ("Annotator 1" in page) == (status == 200)
        assert (revealed(task) in at.get(mine(round)).content.decode()) == (status == 200)
        assert ("revealed" in Annotation.objects.get(annotator=ann).exposure) == (status == 200)
        if status == 403:
            assert "This round" in page
            assert mine(round) in page
        assert "Other-Person" not in page

    def test_only_ones_own_submitted_task_is_revealed(self, at: Client, project: Project, ann: User, abe: User) -> None:
        round = made(project, Reveal.SUBMITTED)
        task = round.tasks.get()
        build.submitted(task, abe, 1)
        assert at.get(revealed(task)).status_code == 404
        draft = Annotation.objects.create(task=task, annotator=ann)
        assert at.get(revealed(task)).status_code == 403
        draft.delete()
        labelling.withdraw(build.submitted(task, ann, 3))
        assert at.get(revealed(task)).status_code == 403

    def test_a_correction_after_looking_shows_in_the_data(
        self, at: Client, project: Project, ann: User, abe: User
    ) -> None:
        task = made(project, Reveal.SUBMITTED).tasks.get()
        stored = build.submitted(task, ann, 4)
        at.get(revealed(task))
        page = at.get(revealed(task)).content.decode()  # the second look shows nothing new
        assert "Nobody else has submitted this task so far" in page
        assert "marked as made after looking" in page
        build.submitted(task, abe, 1)
        at.get(revealed(task))
        labelling.correct(task, ann, Content(1), token="c", version=stored.version)
        at.get(revealed(task))
        stored.refresh_from_db()
        looks = stored.exposure["revealed"]
        assert [(look["what"], look["labels"], look["version"]) for look in looks] == [
            (["systems", "labels"], 0, 1),
            (["systems", "labels"], 1, 1),
            (["systems", "labels"], 1, 2),
        ]
        assert all(look["at"] for look in looks)

    def test_a_look_stands_in_what_the_same_person_says_about_the_text_in_another_round(
        self, at: Client, project: Project, ann: User, abe: User
    ) -> None:
        first = made(project, Reveal.SUBMITTED, name="Open book")
        second, third = build.round(project, name="Second"), build.round(project, name="Third")
        other = build.item(project, systems=("Aster",))
        unlike = build.submitted(build.round(project, category=other.category).tasks.get(item=other), ann, 3)
        task = first.tasks.get()
        build.submitted(task, ann, 4)
        said = build.submitted(second.tasks.get(), ann, 2)
        foreign = build.submitted(second.tasks.get(), abe, 2)
        at.get(revealed(task))
        (look,) = Annotation.objects.get(task=task, annotator=ann).exposure["revealed"]
        assert (look["round"], look["task"], look["labels"]) == (first.pk, 1, 0)
        said.refresh_from_db()
        assert said.exposure["revealed"] == [look]  # of version 1, and a correction has a higher one
        for untold in (foreign, unlike):
            untold.refresh_from_db()
            assert "revealed" not in untold.exposure
        ann.refresh_from_db()
        later = build.submitted(third.tasks.get(), ann, 1)
        assert later.exposure["revealed"] == [{**look, "version": 0}]
        assert "revealed" not in build.submitted(third.tasks.get(), abe, 1).exposure

    def test_a_look_at_a_response_counts_for_the_pairs_with_it(
        self, at: Client, project: Project, ann: User, abe: User
    ) -> None:
        build.item(project, systems=("Zinnia-7B", "Yarrow-70B"))
        scores, pairs = build.round(project, reveal=Reveal.SUBMITTED), build.round(project, Round.Kind.PREFERENCE)
        draft = assignment.next_task(pairs, ann)
        assert draft is not None
        task = scores.tasks.all()[0]
        build.submitted(task, ann, 4)
        at.get(revealed(task))
        (look,) = Annotation.objects.get(task=draft, annotator=ann).exposure["revealed"]
        assert (look["round"], look["version"]) == (scores.pk, 0)
        said = labelling.save(draft, ann, Content(preference=1), token="t", version=0, submit=True)
        assert said.exposure["revealed"] == [look]

    def test_a_round_with_gold_units_tells_nothing_that_would_tell_them_apart(
        self, at: Client, project: Project, ann: User, abe: User
    ) -> None:
        gold = made(project, purpose=Round.Purpose.TRAINING)
        round = build.round(project, opened=False, name="Mixed", gold=gold, reveal=Reveal.SUBMITTED)
        with pytest.raises(ValidationError, match="would tell gold units from tasks"):
            round.clean()
        round.open()  # as one that was made before
        unit = gold.tasks.get()
        Annotation.objects.create(task=unit, annotator=abe)
        labelling.write_key(unit, abe, Content(score=3), token="k", version=0)
        assignment.give(unit, ann, round, shown_in=round)
        placed = Task.objects.get(pk=unit.pk)
        placed.round = round
        build.said(placed, ann, Content(score=3))
        task = round.tasks.get()
        build.submitted(task, ann, 4)
        build.submitted(task, abe, 1)
        replies = [at.get(revealed(each)) for each in (task, unit)]
        assert [reply.status_code for reply in replies] == [403, 403]
        assert all("Zinnia-7B" not in reply.content.decode() for reply in replies)
        page = at.get(mine(round)).content.decode()
        assert "What others said" not in page

    def test_a_pair_is_shown_as_it_stood_on_the_screen(
        self, at: Client, project: Project, ann: User, abe: User
    ) -> None:
        build.item(project, systems=("Zinnia-7B", "Yarrow-70B"))
        round = build.round(project, Round.Kind.PREFERENCE, reveal=Reveal.SUBMITTED)
        round.tasks.update(swapped=True)
        task = round.tasks.get()
        build.said(task, ann, Content(preference=1))
        build.said(task, abe, Content(preference=5))
        page = at.get(revealed(task)).content.decode()
        assert page.index("Yarrow-70B") < page.index("Zinnia-7B")
        assert page.index("B is much better") < page.index("A is much better")

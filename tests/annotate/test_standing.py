"""What annotators read about where they stand in a round: on its card, on the page that has no task, beside labels."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate import assignment, supervision
from annotate.models import Comparison, Experiment, Participation, Project, Round, User
from annotate.standing import standing_of
from tests import build
from tests.annotate.test_training import attempt, training_set, work

STOPPED = [("paused", "You are paused in this round"), ("removed", "You no longer take part in this round")]


@pytest.fixture
def at(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


def page(client: Client, name: str, *args: object) -> str:
    return " ".join(client.get(reverse(name, args=["garden", *args]), follow=True).content.decode().split())


@pytest.mark.parametrize(("state", "says"), STOPPED)
def test_who_was_stopped_reads_so_everywhere(at: Client, project: Project, ann: User, state: str, says: str) -> None:
    for _ in range(2):
        build.item(project)
    round = build.round(project)
    done = build.submitted(round.tasks.all()[0], ann, 3)
    Participation.objects.filter(annotator=ann).update(state=state)
    card, mine = page(at, "project"), page(at, "my_labels", round.pk)
    to_next = reverse("annotate", args=["garden", round.pk])
    for shown in (card, mine, page(at, "annotate", round.pk)):
        assert says in shown
        assert f'href="{to_next}"' not in shown
        assert "You have done" not in shown
        assert "Others have" not in shown
    assert "1 of 4" in card
    assert (reverse("task", args=["garden", done.task_id]) in mine) == (state == "paused")
    assert ("Until the round is closed you can look" in mine) == (state == "paused")
    assert "Nothing waits for you" in at.get("/").content.decode()


def test_who_is_paused_is_led_to_what_they_hold(at: Client, project: Project, ann: User, bob: User) -> None:
    build.item(project)
    round = build.round(project)
    assert assignment.next_task(round, ann) is not None
    supervision.pause(round, ann, bob)
    card = page(at, "project")
    assert "You are paused in this round" in card
    assert "One task waits for you." in card
    assert f'href="{reverse("annotate", args=["garden", round.pk])}"' in card


def test_a_removed_person_is_offered_no_correction_beside_what_others_said(
    at: Client, project: Project, ann: User, bob: User
) -> None:
    build.item(project)
    round = build.round(project, reveal=Round.Reveal.SUBMITTED)
    label = build.submitted(round.tasks.all()[0], ann, 3)
    assert "Look and correct" in page(at, "revealed", label.task_id)
    supervision.remove(round, ann, "kept", bob)
    assert "Look and correct" not in page(at, "revealed", label.task_id)


def test_what_others_hold_is_said_on_the_card(at: Client, project: Project, ann: User, abe: User) -> None:
    build.item(project, systems=("Aster",))
    round = build.round(project, overlap=1)
    assert assignment.next_task(round, abe) is not None
    assert "Everything is taken at the moment" in page(at, "project")
    assert "One may be free for you at" in page(at, "annotate", round.pk)


# -- practice --------------------------------------------------------------------------------------------------------


def test_the_card_tells_of_practice_attempts_and_pass_mark(at: Client, project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 5, 5, name="The set")
    round = work(project, qualification=practice, pass_mark=60, attempts=2, name="The work")
    card = page(at, "project")
    assert "It begins with 2 practice tasks. You have 2 attempts.</p> <p>The pass mark is 60 %." in card
    assert "0 of 4" not in card
    assert "Start<" in card
    assert "Practice waits for you." in at.get("/").content.decode()
    assert practice.participations.get().practised_for is None  # looking begins nothing
    screen = page(at, "annotate", round.pk)
    assert "<h1>The work</h1>" in screen
    assert "The set" not in screen
    attempt(round, ann, 1)
    card = page(at, "project")
    assert "You have one attempt.</p> <p>The last attempt: 0 of 2 answers as expected: 0 %." in card
    assert "Continue<" in card


def test_who_has_used_all_attempts_is_sent_nowhere(at: Client, project: Project, bob: User, ann: User) -> None:
    round = work(project, qualification=training_set(project, bob, 5, 5), attempts=1)
    attempt(round, ann, 1)
    assert f'href="{reverse("annotate", args=["garden", round.pk])}"' in page(at, "project")  # to the feedback
    Comparison.objects.update(seen_at=timezone.now())
    card = page(at, "project")
    assert "Practice not passed" in card
    assert "It begins with" not in card
    assert "You have used all attempts. Ask the researcher of the project" in card
    assert f'href="{reverse("annotate", args=["garden", round.pk])}"' not in card
    assert "Nothing waits for you" in at.get("/").content.decode()
    assert "You have used all attempts" in page(at, "annotate", round.pk)


def test_practice_that_cannot_begin_says_why(at: Client, project: Project, bob: User, ann: User) -> None:
    practice = training_set(project, bob, 5)
    round = work(project, qualification=practice)
    Participation.objects.update_or_create(round=practice, annotator=ann, defaults={"state": "paused"})
    assert "You are paused in this round" in page(at, "project")
    Participation.objects.filter(annotator=ann).update(state="active")
    practice.tasks.update(key=None)
    assert "The practice is not ready yet" in page(at, "project")
    assert "The practice is not ready yet" in page(at, "annotate", round.pk)
    assert not standing_of(round, ann).goes_on


# -- experiments -----------------------------------------------------------------------------------------------------


@pytest.fixture
def experiment(project: Project) -> Experiment:
    made = Experiment.objects.create(project=project, name="Spring study")
    for item in (build.item(project), build.item(project)):
        build.checklist(item)
    build.round(project, name="Bare arm", experiment=made, arm="a")
    build.round(project, "checklist_answering", name="Arm with questions", experiment=made, arm="b", sample_size=1)
    return made


def test_before_the_draw_the_card_tells_nothing_of_any_arm(at: Client, experiment: Experiment) -> None:
    card = page(at, "project")
    assert card.count("Spring study") == 2  # the title of one card, and for whom hears the button
    assert "Start<" in card
    for secret in ("Bare arm", "Arm with questions", "Direct scoring", "Checklist answering", " of 4", " of 2", "wait"):
        assert secret not in card
    assert "Tasks wait for you." in at.get("/").content.decode()


@pytest.mark.parametrize(("arm", "kind", "total"), [("a", "Direct scoring", 4), ("b", "Checklist answering", 2)])
def test_after_the_draw_the_card_is_of_the_own_arm(
    at: Client, experiment: Experiment, ann: User, arm: str, kind: str, total: int
) -> None:
    own = experiment.arms.get(arm=arm)
    experiment.place(ann, own)
    card, screen = page(at, "project"), page(at, "annotate", own.pk)
    assert kind in card
    assert f"0 of {total}" in card
    assert f"Tasks: 0 of {total} submitted" in screen
    for shown in (card, screen, page(at, "my_labels", own.pk)):
        assert "Spring study" in shown
        assert "Bare arm" not in shown
        assert "Arm with questions" not in shown
    own.close()
    assert "Spring study" not in page(at, "project")


def test_who_chooses_an_arm_reads_their_names(at: Client, experiment: Experiment) -> None:
    Experiment.objects.update(draws_arms=False)
    card = page(at, "project")
    assert "Bare arm" in card
    assert "Arm with questions" in card

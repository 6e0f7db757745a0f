"""Setting up, opening and closing rounds."""

from __future__ import annotations

import re

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotate.forms.rounds import RoundForm
from annotate.kinds import SHAPES
from annotate.models import Experiment, Participation, Project, Round, User
from annotate.models.participation import workers_of
from tests import build


@pytest.fixture
def at(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def form(**fields: object) -> dict[str, object]:
    """What the browser sends for a round of scores on the project's scale."""
    settings = {
        "name": "Pilot",
        "kind": "direct_scoring",
        "purpose": "labels",
        "overlap": 2,
        "scale_low": 1,
        "scale_high": 5,
        "order": "random",
        "reveal": "never",
        "lease_minutes": 30,
        "seed": 1,
    }
    return {**settings, **fields}


def preview(client: Client, **fields: object) -> str:
    """What the preview shows for this form."""
    return client.post(reverse("round_preview", args=["garden"]), form(**fields)).content.decode()


def figures(page: str) -> list[str]:
    return re.findall(r'class="figure-value">([\d,]+)<', page)


def test_a_round_is_set_up_looked_at_and_opened(at: Client, project: Project, bob: User) -> None:
    build.item(project)
    reply = at.post(reverse("round_create", args=["garden"]), form(), follow=True)
    assert figures(reply.content.decode()) == ["2", "2", "4", "4"]  # tasks, annotators each, to submit, labels
    round = Round.objects.get(name="Pilot")
    assert (round.created_by, round.scores) == (bob, [1, 2, 3, 4, 5])
    at.post(reverse("round", args=["garden", round.pk]), form(action="open", name="Pilot two"))
    round.refresh_from_db()
    assert (round.state, round.name, round.tasks.count()) == ("open", "Pilot two", 2)
    assert all(task.assignments.count() == 2 for task in round.tasks.all())


def test_a_draft_says_what_it_leaves_out(at: Client, project: Project) -> None:
    build.checklist(build.item(project))
    build.item(project)
    round = build.round(project, "check_then_score", opened=False)
    page = at.get(reverse("round", args=["garden", round.pk])).content.decode()
    assert "2 are left out: their items have no approved checklist." in page
    assert figures(page) == ["2", "3", "6", "18"]  # a score and two answers by three people about two responses


def test_a_round_without_units_is_not_opened(at: Client, project: Project) -> None:
    build.item(project)
    round = build.round(project, "check_then_score", opened=False)
    sent = form(action="open", name=round.name, kind="check_then_score")
    reply = at.post(reverse("round", args=["garden", round.pk]), sent, follow=True)
    assert "approve checklists for its items first" in reply.content.decode()
    round.refresh_from_db()
    assert round.state == "draft"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"overlap": 0}, "overlap"),
        ({"overlap": 51}, "overlap"),
        ({"name": "Taken"}, "Another round of this project has this name"),
        ({"kind": "guessing"}, "kind"),
        ({"lease_minutes": 0}, "lease"),
        ({"scale_low": 5, "scale_high": 5}, "highest score must be above the lowest"),
        ({"scale_low": 1, "scale_high": 12}, "at most 11 scores"),
        ({"scale_low": "one"}, "scale_low"),
        ({"anchor_3": "x" * 201}, "anchor_3"),
        ({"comment_for": ["boredom"]}, "comment_for"),
        ({"experiment": 1000}, "experiment"),
    ],
)
def test_a_bad_setting_is_refused(at: Client, project: Project, fields: dict[str, object], sentence: str) -> None:
    build.round(project, name="Taken", opened=False)
    reply = at.post(reverse("round_create", args=["garden"]), form(**fields))
    assert reply.status_code == 200
    assert sentence in str(reply.context["form"].errors)
    assert Round.objects.count() == 1


def test_settings_are_fixed_once_a_round_is_open(at: Client, project: Project) -> None:
    build.item(project)
    round = build.round(project)
    at.post(reverse("round", args=["garden", round.pk]), form(action="save", name="Changed"))
    round.refresh_from_db()
    assert round.name != "Changed"


def test_every_setting_is_stored(at: Client, project: Project) -> None:
    build.checklist(build.item(project))
    sent = form(
        kind="check_then_score",
        scale_low=0,
        scale_high=2,
        anchor_0="poor",
        anchor_2="good",
        comment_for=["no", "lowest", "tie"],
        allow_na="on",
        allow_unsure="on",
        show_reference="on",
        reveal="closed",
        order="fixed",
        new_experiment="Two ways",
        experiment_seed=7,
        same_unit_again="on",
        arm="with checklist",
    )
    at.post(reverse("round_create", args=["garden"]), sent)
    round = Round.objects.get()
    assert round.anchored_scores == [(0, "poor"), (1, ""), (2, "good")]
    assert round.comment_for == ["no", "lowest"]  # two responses are never compared here
    assert (round.allow_na, round.allow_unsure, round.show_reference) == (True, True, True)
    assert (round.reveal, round.order, round.arm) == ("closed", "fixed", "with checklist")
    assert round.experiment is not None
    assert (round.experiment.name, round.experiment.seed) == ("Two ways", 7)
    assert (round.experiment.draws_arms, round.experiment.same_unit_again) == (False, True)


def test_what_does_not_apply_to_the_kind_is_ignored(at: Client, project: Project) -> None:
    sent = form(kind="preference", scale_low=9, scale_high="", allow_na="on", checklist_policy="tick", pass_mark="")
    at.post(reverse("round_create", args=["garden"]), sent)
    round = Round.objects.get()
    assert (round.scores, round.allow_na, round.checklist_policy, round.pass_mark) == ([1, 2, 3, 4, 5], False, "", 80)


def test_an_experiment_is_chosen_or_made_not_both(at: Client, project: Project) -> None:
    experiment = Experiment.objects.create(project=project, name="Two ways")
    here = reverse("round_create", args=["garden"])
    at.post(here, form(experiment=experiment.pk, arm="with"))
    assert Round.objects.get().experiment == experiment
    both = at.post(here, form(name="Other", experiment=experiment.pk, new_experiment="Three ways"))
    assert "not both" in both.content.decode()
    assert "There is an experiment of this name" in at.post(here, form(new_experiment="Two ways")).content.decode()
    assert Experiment.objects.count() == 1


@pytest.mark.parametrize("name", ["gold", "qualification"])
def test_training_sets_must_be_like_the_round(project: Project, name: str) -> None:
    build.item(project)
    fits = build.round(project, purpose="training", name="Practice")
    Round(project=project, name="New", kind="direct_scoring", **{name: fits}).clean()
    build.checklist(build.item(project))
    answers = build.round(project, "checklist_answering", purpose="training")
    cases: list[tuple[Round, dict[str, object], str]] = [
        (fits, {"kind": "preference"}, "of another kind"),
        (fits, {"scale_high": 7}, "another scale"),
        (fits, {"purpose": "training"}, "leave this empty"),
        (answers, {"kind": "checklist_answering", "allow_na": True}, "other answers"),
        (build.round(project), {}, "not a training set"),
        (build.round(build.project(), purpose="training", opened=False), {}, "not a training set"),
        (build.round(project, purpose="training", opened=False), {}, "not open"),
    ]
    for training, fields, sentence in cases:
        with pytest.raises(ValidationError, match=sentence):
            Round(**{"project": project, "name": "New", "kind": "direct_scoring", name: training, **fields}).clean()


def test_a_fault_of_a_training_set_stands_at_its_field(at: Client, project: Project) -> None:
    build.item(project)
    practice = build.round(project, purpose="training", name="Practice")
    page = preview(at, gold=practice.pk, gold_percent=10, scale_high=7)
    assert "“Practice” has another scale" in page
    page = preview(at, gold=practice.pk, gold_percent=10)
    assert "“Practice”" not in page


def test_opening_twice_makes_the_tasks_once(project: Project) -> None:
    build.item(project)
    round = build.round(project)
    with pytest.raises(ValidationError):
        round.open()
    assert round.tasks.count() == 2


@pytest.mark.parametrize("kind", Round.Kind.values)
def test_the_preview_shows_the_screen_and_stores_nothing(at: Client, project: Project, bob: User, kind: str) -> None:
    build.checklist(build.item(project, instruction="Write a poem about a heron."), "Does it rhyme?")
    page = preview(at, kind=kind, name="", guidelines="Be fair.", anchor_1="dreadful")
    assert "Write a poem about a heron." in page
    parts = SHAPES[Round.Kind(kind)].parts
    assert ("Does it rhyme?" in page) == ("questions" in parts)
    assert ("dreadful" in page) == ("score" in parts)
    assert not Round.objects.exists()
    assert not Participation.objects.exists()
    draft = build.round(project, opened=False)
    assert "heron" in preview(at, kind=kind, draft=draft.pk, name="Changed")
    draft.refresh_from_db()
    assert (draft.name, draft.kind) != ("Changed", kind) or kind == "direct_scoring"
    assert not Participation.objects.exists()


def test_the_preview_goes_on_to_other_units(at: Client, project: Project) -> None:
    for animal in ("heron", "otter"):
        build.item(project, systems=("Aster",), instruction=f"Write a poem about a {animal}.")
    assert "heron" in preview(at)
    assert "otter" in preview(at, unit=0, action="another")
    assert "heron" in preview(at, unit=1, action="another")


def test_the_preview_waits_for_a_scale_and_renews_its_rows(at: Client, project: Project) -> None:
    build.item(project)
    assert "Text to judge" not in preview(at, scale_low=5, scale_high=1)
    here = reverse("round_preview", args=["garden"])
    sent = form(scale_high=3, **{f"anchor_{score}": "" for score in range(1, 6)})
    page = at.post(here, sent, headers={"HX-Request": "true"}).content.decode()
    assert re.findall(r'name="(anchor_\d)"', page) == ["anchor_1", "anchor_2", "anchor_3"]
    rows = {f"anchor_{score}": "" for score in range(1, 4)}
    page = at.post(here, form(scale_high=3, **rows), headers={"HX-Request": "true"}).content.decode()
    assert "anchor_1" not in page  # the rows in the browser, with the cursor in them, stay


USUAL = {"1": "Fails it", "3": "In part", "5": "Serves it fully"}


def anchored(scores: list[int], **texts: str) -> dict[str, str]:
    """What the browser sends of these rows: the project's texts at their scores, or others."""
    return {f"anchor_{score}": texts.get(f"s{score}", USUAL.get(str(score), "")) for score in scores}


def rows_in(page: str) -> dict[str, str]:
    found = re.findall(r'name="(anchor_-?\d+)"( value="([^"]*)")?', page)
    return {name: text for name, _value, text in found if text}


def test_texts_that_nobody_edited_move_with_the_ends_of_the_scale(at: Client, project: Project) -> None:
    Project.objects.update(scale_anchors=USUAL)
    page = preview_with_rows(at, scale_high=9, **anchored([1, 2, 3, 4, 5]))
    assert rows_in(page) == {"anchor_1": "Fails it", "anchor_5": "In part", "anchor_9": "Serves it fully"}
    assert "left out" not in page
    page = preview_with_rows(at, scale_high=10, **anchored([1, 2, 3, 4, 5]))
    assert rows_in(page) == {"anchor_1": "Fails it", "anchor_10": "Serves it fully"}
    assert "Texts that would stand between two scores are left out." in page
    # The way there, digit by digit, loses nothing: neither a scale that is none yet, nor another one.
    page = preview_with_rows(at, scale_high="", **anchored([1, 2, 3, 4, 5]))
    assert rows_in(page) == {}  # the rows in the browser stay
    page = preview_with_rows(
        at, scale_high=5, **{f"anchor_{n}": "" for n in range(2, 10)}, anchor_1="Fails it", anchor_10="Serves it fully"
    )
    assert rows_in(page) == {"anchor_1": "Fails it", "anchor_3": "In part", "anchor_5": "Serves it fully"}


def test_texts_that_somebody_edited_stay_and_are_asked_about(at: Client, project: Project) -> None:
    Project.objects.update(scale_anchors=USUAL)
    page = preview_with_rows(at, scale_high=10, **anchored([1, 2, 3, 4, 5], s3="Half of it"))
    assert rows_in(page) == {"anchor_1": "Fails it", "anchor_3": "Half of it", "anchor_5": "Serves it fully"}
    assert "“Serves it fully” stands at 5, and the scale ends at 10 now: is that meant?" in page


def test_without_script_the_texts_move_when_the_round_is_saved(at: Client, project: Project) -> None:
    Project.objects.update(scale_anchors=USUAL)
    at.post(reverse("round_create", args=["garden"]), form(scale_low=0, scale_high=10, **anchored([1, 2, 3, 4, 5])))
    assert Round.objects.get().scale_anchors == {"0": "Fails it", "5": "In part", "10": "Serves it fully"}


def preview_with_rows(at: Client, **fields: object) -> str:
    sent = at.post(reverse("round_preview", args=["garden"]), form(**fields), headers={"HX-Request": "true"})
    assert sent.status_code == 200
    return sent.content.decode()


def test_an_experiment_wants_a_name_for_the_arm(at: Client, project: Project) -> None:
    for chosen in (
        {"new_experiment": "Two ways"},
        {"experiment": Experiment.objects.create(project=project, name="X").pk},
    ):
        wrong = RoundForm(form(**chosen), project=project)
        assert "Name the arm that this round is of" in wrong.errors["arm"][0]
        assert RoundForm(form(**chosen, arm="with checklist"), project=project).is_valid()
    assert RoundForm(form(), project=project).is_valid()


def test_fields_with_a_largest_number_say_it(at: Client, project: Project) -> None:
    text = at.get(reverse("round_create", args=["garden"])).content.decode()
    for name, most in {
        "gold_percent": 50,
        "pass_mark": 100,
        "attempts": 20,
        "overlap": 50,
        "lease_minutes": 10080,
    }.items():
        (field,) = re.findall(rf'<input[^>]*name="{name}"[^>]*>', text)
        assert f'max="{most}"' in field
        assert RoundForm(form(**{name: most + 1}), project=project).fields[name].widget.attrs["max"] == most


def test_the_preview_works_without_script(at: Client, project: Project) -> None:
    build.item(project)
    reply = at.post(reverse("round_create", args=["garden"]), form(action="preview", scale_high=3))
    assert "Text to judge" in reply.content.decode()
    assert not Round.objects.exists()


def test_a_training_set_is_set_up_with_the_same_form(at: Client, project: Project) -> None:
    build.item(project)
    at.post(reverse("round_create", args=["garden"]), form(purpose="training", overlap="", reveal="", gold_percent=""))
    round = Round.objects.get()
    assert (round.is_training, round.overlap, round.reveal) == (True, 3, "never")


def test_closing_and_reopening(at: Client, project: Project) -> None:
    build.item(project)
    round = build.round(project)
    here = reverse("round", args=["garden", round.pk])
    at.post(here, {"action": "close"})
    round.refresh_from_db()
    assert (round.state, round.closed_at is None) == ("closed", False)
    at.post(here, {"action": "reopen"})
    round.refresh_from_db()
    assert (round.state, round.closed_at) == ("open", None)


@pytest.mark.parametrize(
    ("kind", "offers", "reasons"),
    [
        ("check_then_score", {}, ["no", "lowest", "highest"]),
        ("checklist_answering", {"allow_na": True, "allow_unsure": True}, ["no", "na", "unsure"]),
        ("direct_scoring", {"allow_na": True}, ["lowest", "highest"]),
        ("pairwise_checklist", {"allow_unsure": True}, ["no", "unsure", "tie"]),
        ("checklist_writing", {}, []),
    ],
)
def test_a_comment_is_asked_for_by_what_the_kind_of_round_can_hold(
    kind: str, offers: dict[str, bool], reasons: list[str]
) -> None:
    assert Round(kind=kind, comment_for=Round.CommentFor.values, **offers).comment_reasons == reasons


def test_a_draft_is_discarded_after_a_question_and_its_name_is_free(at: Client, project: Project) -> None:
    draft = build.round(project, name="Pilot", opened=False)
    here, there = reverse("round", args=["garden", draft.pk]), reverse("round_discard", args=["garden", draft.pk])
    assert f'href="{there}"' in at.get(here).content.decode()
    assert "Discard the draft “Pilot”" in at.get(there).content.decode()
    assert Round.objects.filter(pk=draft.pk).exists()

    answer = at.post(there, follow=True)
    assert "The draft “Pilot” is discarded." in answer.content.decode()
    assert at.post(there).status_code == 404
    assert RoundForm(form(name="Pilot"), project=project).is_valid()


def test_only_a_draft_that_nobody_was_placed_in_is_discarded(at: Client, project: Project, ann: User) -> None:
    build.item(project)
    opened = build.round(project)
    experiment = project.experiments.create(name="Two ways")
    arm = build.round(project, experiment=experiment, opened=False)
    experiment.place(ann, arm)
    for round, sentence in ((opened, "Only a draft can be discarded"), (arm, "Something is on record")):
        assert sentence in at.post(reverse("round_discard", args=["garden", round.pk]), follow=True).content.decode(), (
            round
        )
        assert Round.objects.filter(pk=round.pk).exists()
    assert at.get(reverse("round_discard", args=["garden", opened.pk])).status_code == 302


def test_nobody_is_led_to_disagreements_where_people_write_checklists(at: Client, project: Project) -> None:
    build.item(project)
    for kind, leads in (("direct_scoring", True), ("checklist_writing", False)):
        round = build.round(project, kind)
        text = at.get(reverse("round", args=["garden", round.pk])).content.decode()
        assert (reverse("adjudication", args=["garden", round.pk]) in text) == leads


def test_one_of_anything_is_said_in_the_singular(at: Client, project: Project) -> None:
    build.item(project)
    text = at.get(reverse("round", args=["garden", build.round(project, overlap=1).pk])).content.decode()
    assert "0 of 2: 2 tasks, 1 annotator each" in text


def test_progress_by_annotator(project: Project, ann: User, abe: User) -> None:
    build.item(project)
    round = build.round(project)
    first, second = round.tasks.all()
    build.submitted(first, ann, 3)
    build.submitted(second, ann, 3)
    build.submitted(first, abe, 3)
    assert [(w.annotator, w.submitted, w.surplus, w.held, w.skipped) for w in workers_of(round)] == [
        (abe, 1, 0, 0, 0),
        (ann, 2, 0, 0, 0),
    ]

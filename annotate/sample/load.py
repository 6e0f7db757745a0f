"""Loads the sample project: items, checklists, people, two rounds and the labels of simulated annotators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Permission
from django.db import transaction

from annotate import assignment, labelling
from annotate.contents import Content
from annotate.models import (
    Annotation,
    Checklist,
    Experiment,
    Item,
    Membership,
    Project,
    Response,
    Role,
    Round,
    Task,
    User,
)
from annotate.sample import noise

SLUG = "sample"
ITEMS = Path(__file__).with_name("items.jsonl")
PEOPLE = (
    ("curator", Role.CURATOR, "Chika"),
    ("researcher", Role.RESEARCHER, "Rowan"),
    ("annotator1", Role.ANNOTATOR, "Ada"),
    ("annotator2", Role.ANNOTATOR, "Bao"),
    ("annotator3", Role.ANNOTATOR, "Cleo"),
)
# One line per paragraph: line breaks are kept where the guidelines are shown.
GUIDELINES = "\n".join(
    (
        "You read an instruction and one response to it. Judge the response only by what the instruction asks for.",
        "",
        "- **Read the whole response** before you answer.",
        "- A question gets *yes* only when the requirement is met in full. A small inaccuracy is a *no*; nothing in "
        "the response to answer it is a *no* as well.",
        "- The **score** says how well the response serves the person who wrote the instruction. The checklist informs "
        "it and does not bind you: a response can meet every requirement and still be poor, or miss one and still be "
        "useful.",
        "- Length alone is no merit. When two readings of the instruction are possible, take the one that suits the "
        "writer best.",
    )
)
ANCHORS = {
    "1": "Fails the instruction",
    "2": "Serves it poorly",
    "3": "Serves it in part",
    "4": "Serves it well",
    "5": "Serves it fully",
}
# How many simulated annotators have labelled a task, in turns of task position: the rest of the three seats are free.
SIMULATED_PER_TASK = {Round.Kind.DIRECT_SCORING: (3, 3, 2), Round.Kind.CHECK_THEN_SCORE: (2, 2, 1)}


@transaction.atomic
def load(password: str) -> Project | None:
    """Make the sample project, or return None when it is there already. People get `password`."""
    if Project.objects.filter(slug=SLUG).exists():
        return None
    project = Project.objects.create(
        slug=SLUG,
        name="Sample: everyday instructions",
        description="Instructions in English and Japanese with responses of three systems. Labels marked (simulated) "
        "come from a noise model, not from people.",
        guidelines=GUIDELINES,
        scale_anchors=ANCHORS,
    )
    people = {username: _person(project, username, role, name, password) for username, role, name in PEOPLE}
    curator = people["curator"]
    curator.user_permissions.add(Permission.objects.get(codename="add_project"))
    simulated = [_simulated(project, who) for who in noise.ANNOTATORS]
    for row in rows():
        _item(project, row, curator)
    # Its annotators label in both arms, so that everybody can try both.
    experiment = Experiment.objects.create(
        project=project, name="With and without a checklist", draws_arms=False, same_unit_again=True
    )
    for kind, name in (
        (Round.Kind.DIRECT_SCORING, "Scores without a checklist"),
        (Round.Kind.CHECK_THEN_SCORE, "Check, then score"),
    ):
        round = Round.objects.create(
            project=project,
            name=name,
            kind=kind,
            guidelines=GUIDELINES,
            scale_anchors=ANCHORS,
            overlap=3,
            experiment=experiment,
            arm="with checklist" if kind == Round.Kind.CHECK_THEN_SCORE else "without checklist",
            created_by=people["researcher"],
        )
        round.open()
        _label(round, simulated)
    return project


def rows() -> Iterator[dict[str, Any]]:
    """The sample's items in the native import format."""
    with ITEMS.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _person(project: Project, username: str, role: Role, name: str, password: str) -> User:
    person = User.objects.filter(username=username).first()
    if person is None:
        person = User.objects.create_user(username, password=password, first_name=name)
    Membership.objects.create(project=project, user=person, role=role)
    return person


def _simulated(project: Project, who: noise.Simulated) -> User:
    user, _ = User.objects.get_or_create(
        username=who.username, defaults={"first_name": who.name, "is_simulated": True, "is_active": False}
    )
    user.set_unusable_password()
    user.save()
    Membership.objects.create(project=project, user=user, role=Role.ANNOTATOR)
    return user


def _item(project: Project, row: dict[str, Any], curator: User) -> None:
    item = Item.objects.create(
        project=project,
        **{name: row[name] for name in row.keys() - {"responses", "checklist"}},
    )
    Response.objects.bulk_create(Response(item=item, **response) for response in row["responses"])
    if "checklist" in row:
        Checklist.write(item, row["checklist"]["questions"], created_by=curator).approve(curator)


def _label(round: Round, simulated: list[User]) -> None:
    pattern = SIMULATED_PER_TASK[Round.Kind(round.kind)]
    tasks = round.tasks.select_related("item", "response", "checklist", "round").prefetch_related(
        "checklist__questions"
    )
    for task in tasks:
        turn = task.position % len(pattern)
        for number in range(pattern[turn]):
            # Whoever sits out changes with the position, so that every simulated annotator labels about as much.
            index = (task.position + number) % len(simulated)
            _label_one(task, simulated[index], noise.ANNOTATORS[index])


def _label_one(task: Task, user: User, who: noise.Simulated) -> None:
    """Label through the same door as the screen: take a seat, then submit."""
    if task.response is None:
        raise ValueError(f"{task} has no response to label.")
    system = task.response.system
    rng = noise.generator(who, f"{task.item.external_id}:{system}:{task.round.kind}")
    uses = task.checklist is not None
    score = noise.score(
        who,
        task.item.metadata["simulated_quality"][system],
        task.round.scale_low,
        task.round.scale_high,
        rng,
        checklist=uses,
    )
    said: dict[int, str] = {}
    if task.checklist is not None:
        truth = task.item.metadata["simulated_answers"][system]
        questions = list(task.checklist.questions.all())
        said = {question.pk: answer for question, answer in zip(questions, noise.answers(who, truth, rng), strict=True)}
    content = Content(score, said, noise.effect(rng) if uses else "", active_seconds=rng.randint(25, 140))
    if not assignment.reclaim(task, user):
        raise RuntimeError(f"No seat is left for {who.username} on {task}.")
    version = Annotation.objects.get(task=task, annotator=user).version
    labelling.save(task, user, content, token=f"sample-{who.username}", version=version, submit=True, ask=False)

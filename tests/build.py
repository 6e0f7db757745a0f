"""Builders of test data: plain functions, each makes one thing with sensible defaults."""

from __future__ import annotations

from itertools import count
from typing import Any

from annotate import assignment, labelling
from annotate.contents import Content
from annotate.models import (
    Annotation,
    Checklist,
    Dimension,
    Item,
    Membership,
    Project,
    Response,
    Role,
    Round,
    Task,
    User,
)
from judging.models import Judge

_number = count(1)


def user(username: str = "", **fields: Any) -> User:
    return User.objects.create_user(username or f"user{next(_number)}", password="correct horse", **fields)


def project(slug: str = "", **fields: Any) -> Project:
    slug = slug or f"project-{next(_number)}"
    return Project.objects.create(slug=slug, name=fields.pop("name", slug.title()), **fields)


def member(project: Project, role: Role | str, username: str = "", **fields: Any) -> User:
    person = user(username, **fields)
    Membership.objects.create(project=project, user=person, role=role)
    return person


def item(project: Project, external_id: str = "", systems: tuple[str, ...] = ("Aster", "Briar"), **fields: Any) -> Item:
    external_id = external_id or f"item-{next(_number)}"
    fields.setdefault("instruction", f"Write about {external_id}.")
    made = Item.objects.create(project=project, external_id=external_id, **fields)
    for system in systems:
        Response.objects.create(item=made, system=system, text=f"Text of {external_id} for reader {len(system)}.")
    return made


def checklist(item: Item, *questions: str, approved: bool = True, policy: str = Checklist.HUMAN) -> Checklist:
    made = Checklist.write(item, questions or ("Is it short?", "Is it true?"), policy=policy)
    if approved:
        made.approve(None)
    return made


def dimension(project: Project, name: str = "", **fields: Any) -> Dimension:
    fields.setdefault("definition", "Whether the response is good in this respect.")
    return Dimension.objects.create(project=project, name=name or f"Dimension {next(_number)}", **fields)


def dimension_checklist(dimension: Dimension, approved: bool = True, **questions: list[str]) -> Checklist:
    """The checklist of a dimension: under each name of a sub-dimension its questions."""
    asked = [(text, name) for name, texts in (questions or {"Form": ["Is it short?"]}).items() for text in texts]
    made = Checklist.write(dimension, [text for text, _ in asked], subdimensions=[name for _, name in asked])
    if approved:
        made.approve(None)
    return made


def round(project: Project, kind: str = Round.Kind.DIRECT_SCORING, *, opened: bool = True, **fields: Any) -> Round:
    fields.setdefault("name", f"Round {next(_number)}")
    made = Round.objects.create(project=project, kind=kind, **fields)
    if opened:
        made.open()
    return made


def submitted(task: Task, annotator: User, score: int, answers: dict[int, str] | None = None) -> Annotation:
    """A submitted annotation with a score, and yes to all questions where nothing else is given."""
    given = answers or {}
    if task.checklist and not given:
        given = {question.pk: "yes" for question in task.checklist.questions.all()}
    return said(task, annotator, Content(score, given, "none" if task.round.uses_checklist else ""))


def said(task: Task, annotator: User, content: Content) -> Annotation:
    """A submitted annotation, through the same door as the screen: claim a seat, save, submit."""
    if not assignment.renew(task, annotator):
        assert assignment.reclaim(task, annotator), "no seat left"
    stored = Annotation.objects.get(task=task, annotator=annotator)
    return labelling.save(
        task, annotator, content, token=f"t{next(_number)}", version=stored.version, submit=True, ask=False
    )


def judge(project: Project, base_url: str = "http://127.0.0.1:9/v1", **fields: Any) -> Judge:
    fields.setdefault("name", f"Judge {next(_number)}")
    fields.setdefault("model", "test-model")
    return Judge.objects.create(project=project, base_url=base_url, **fields)

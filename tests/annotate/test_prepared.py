"""A statement that was prepared finds and writes what the query set or the model would."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate import assignment, prepared
from annotate.models import Annotation, Assignment, Project, Task, User
from annotate.prepared import Prepared
from tests import build


@pytest.fixture
def task(project: Project, ann: User) -> Task:
    build.checklist(build.item(project))
    found = assignment.next_task(build.round(project, "check_then_score"), ann)
    assert found is not None
    return found


def state_of(instance: Any) -> dict[str, Any]:
    return {field.attname: getattr(instance, field.attname) for field in instance._meta.concrete_fields}


def test_instances_come_with_their_relations_and_what_is_prefetched(task: Task) -> None:
    query = Prepared(lambda pk: Task.objects.with_texts().filter(pk=pk), pk=int)
    [expected] = Task.objects.with_texts().filter(pk=task.pk)
    for _ in range(9):  # from the fourth time on, PostgreSQL has a plan
        with CaptureQueriesContext(connection) as asked:
            [found] = query(pk=task.pk)
            assert found.checklist is not None
            assert expected.checklist is not None
            for one, other in (
                (found, expected),
                (found.round, expected.round),
                (found.round.project, expected.round.project),
                (found.item, expected.item),
                (found.checklist, expected.checklist),
            ):
                assert state_of(one) == state_of(other)
            assert list(found.checklist.questions.all()) == list(expected.checklist.questions.all())
            assert found.other is None
        assert len(asked) == 2
    assert query(pk=0) == []
    assert query.first(pk=0) is None


def test_rows_and_times_are_those_of_the_query(task: Task, ann: User) -> None:
    query = Prepared(
        lambda until, text: Assignment.objects.filter(leased_until__lt=until, annotator__username=text).values_list(
            "task", "leased_until"
        ),
        until=datetime.datetime,
        text=str,
    )
    lease = Assignment.objects.get(task=task, annotator=ann).leased_until
    assert lease is not None
    moment = datetime.timedelta(microseconds=1)
    assert query(until=lease + moment, text="ann") == [(task.pk, lease)]
    assert query(until=lease, text="ann") == []
    assert query(until=lease + moment, text="ann' OR '1'='1") == []


def test_a_value_that_the_statement_does_not_hold_is_refused(db: None) -> None:
    query = Prepared(lambda pk, other: Task.objects.filter(pk=pk), pk=int, other=int)
    with pytest.raises(ValueError, match="does not ask for other"):
        query(pk=1, other=2)


def test_a_row_is_written_as_the_model_would_write_it(task: Task, ann: User) -> None:
    annotation = Annotation.objects.get(task=task, annotator=ann)
    annotation.comment, annotation.quotes, annotation.score = "O'Neill %s 猫", {"whole": "a \"b\" 'c'"}, 4
    annotation.exposure, annotation.saved_at = {"at": [1, None]}, timezone.now() - datetime.timedelta(days=1)
    prepared.update(annotation)
    stored = Annotation.objects.get(pk=annotation.pk)
    assert state_of(stored) == state_of(annotation)
    assert stored.saved_at == annotation.saved_at
    annotation.save()
    assert state_of(Annotation.objects.get(pk=annotation.pk)) == state_of(annotation)


def test_a_row_that_is_there_already_is_left_alone(task: Task, ann: User, abe: User) -> None:
    before = Annotation.objects.get(task=task, annotator=ann)
    assert not prepared.insert(Annotation(task=task, annotator=ann, comment="another"))
    fresh = Annotation(task=task, annotator=abe)
    with transaction.atomic():
        assert prepared.insert(fresh)
    assert state_of(Annotation.objects.get(pk=fresh.pk)) == state_of(fresh)
    assert state_of(Annotation.objects.get(pk=before.pk)) == state_of(before)

"""Whatever text somebody sends, no NUL reaches the database: PostgreSQL refuses it, and the page would be an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse

from annotate.models import Annotation, Assignment, Grant, Intervention, Removal
from tests.test_access import World

BAD = "a\0b\x85c"


@pytest.fixture
def world(db: None) -> Iterator[World]:
    with mock.patch("judging.tasks.work_run.apply_async"):
        yield World("garden")


def refusing_nul(execute: Callable[..., Any], sql: str, values: Any, many: bool, context: Any) -> Any:
    """What PostgreSQL does, on every database."""
    rows = values if many else [values]
    for value in (value for row in rows for value in row or ()):
        text = value if isinstance(value, str) else json.dumps(getattr(value, "obj", None), default=str)
        assert not re.search(r"\0|\\u0000", text), (sql, values)
    return execute(sql, values, many, context)


SENT: dict[str, tuple[str, str, dict[str, Any]]] = {  # what: who, where, fields
    "the reason of a removal": ("researcher", "round_remove", {"labels": "kept", "reason": BAD}),
    "the reason of a withdrawal": ("researcher", "round_label", {"reason": BAD}),
    "the reason of a grant": ("researcher", "training_set", {"action": "pass", "annotator": "ann", "reason": BAD}),
    "the token of a key": ("researcher", "training_key", {"score": 2, "version": 0, "token": BAD}),
    "the token of a draft of a key": (
        "researcher",
        "training_key_save",
        {"score": 2, "version": 0, "token": BAD, "action": "save"},
    ),
    "the token of a draft": ("annotator", "task_save", {"score": 2, "version": 0, "token": BAD, "action": "save"}),
    "the reason of a skip": ("annotator", "task", {"action": "skip", "reason": BAD}),
    "a comment": ("annotator", "task_save", {"comment": BAD, "version": 0, "action": "save"}),
    "the comment of a decision": ("researcher", "adjudicate", {"score": 2, "comment": BAD}),
    "a seat": ("researcher", "round_seats", {"action": "reassign", "seat": BAD, "to": BAD}),
    "an arm": ("researcher", "experiment", {"annotator": BAD, "arm": BAD}),
    "a name of a round": ("researcher", "round_create", {"kind": "direct_scoring", "name": BAD, "new_experiment": BAD}),
    "a round to look at": ("researcher", "round_preview", {"kind": BAD, "name": BAD, "draft": BAD, "scale_low": BAD}),
    "the questions of a checklist": ("curator", "checklist", {"questions": BAD, "seen": BAD}),
    "a new checklist": ("curator", "checklist_create", {"questions": BAD}),
    "checklists to approve": ("curator", "checklists", {"draft": BAD, "action": BAD}),
    "a dimension": ("curator", "dimension_create", {"name": BAD, "definition": BAD, "scale_low": 1, "scale_high": 5}),
    "the questions of a dimension": ("curator", "dimension", {"questions": BAD, "seen": BAD}),
    "a project": ("curator", "project_settings", {"name": BAD, "description": BAD, "guidelines": BAD}),
    "a role": ("curator", "members", {"invite": "1", "role": BAD}),
    "a member": ("curator", "members", {"member": BAD, "role": BAD}),
    "a key on the keyboard": ("annotator", "keys", {"yes": "\0", "no": "\x85"}),
    "a language": ("annotator", "language", {"language": BAD, "next": BAD}),
    "a user name": ("", "login", {"username": BAD, "password": BAD}),
    "a new user": ("", "invitation", {"username": BAD, "first_name": BAD, "password1": BAD, "password2": BAD}),
    "the item of a preview": ("curator", "prompt", {"external_id": BAD, "source": "x", "item": BAD, "response": BAD}),
    "a prompt": ("curator", "prompt", {"action": "save", "source": BAD, "seen": BAD}),
    "a version of a prompt": ("curator", "prompt", {"action": "use", "version": BAD}),
    "a judge": ("curator", "judge_create", {"name": BAD, "base_url": BAD, "model": BAD, "key": BAD}),
    "a run": ("researcher", "run_create", {"judges": BAD, "protocol": "tick", "category": BAD, "agreed": BAD}),
    "checklists to generate": ("researcher", "generate", {"judge": BAD, "policy": BAD, "category": BAD}),
    "what is done with a run": ("researcher", "run", {"action": "repeat", "more": BAD, "spending_cap": BAD}),
    "an experiment by the API": ("researcher", "api:experiment-list", {"name": BAD}),
    "a round by the API": (
        "researcher",
        "api:round-list",
        {"name": "r", "kind": "direct_scoring", "guidelines": BAD, "arm": BAD, "scale_anchors": {BAD: BAD}},
    ),
    "an anchor by the API": (
        "researcher",
        "api:round-list",
        {"name": "r", "kind": "direct_scoring", "scale_anchors": {"1": BAD}, "comment_for": [BAD]},
    ),
    "an item by the API": (
        "curator",
        "api:item-list",
        {"external_id": BAD, "instruction": BAD, "metadata": {BAD: BAD}, "history": [{"role": BAD, "content": BAD}]},
    ),
    "a run by the API": ("researcher", "api:run-list", {"judge": BAD, "protocol": "tick", "category": BAD}),
}


@pytest.mark.parametrize("what", SENT)
def test_a_control_character_is_refused_or_left_out(world: World, client: Client, what: str) -> None:
    who, where, fields = SENT[what]
    if who:
        client.force_login(world.people[who])
    if fields.get("annotator") == "ann":
        fields = {**fields, "annotator": world.people["annotator"].pk}
    address = reverse(where, kwargs=world.arguments()[where]())
    if where.startswith("training_key"):
        client.get(reverse("training_key", kwargs=world.arguments()[where]()))
    with connection.execute_wrapper(refusing_nul):
        if where.startswith("api:"):
            reply = client.post(address, fields, content_type="application/json")
        else:
            reply = client.post(address, fields)
    assert reply.status_code < 500
    stored = {reason for query in reasons() for reason in query} - {""}
    assert stored == ({"abc"} if "reason" in fields else set())


def reasons() -> list[QuerySet[Any, Any]]:
    return [
        Annotation.objects.values_list("withdrawn_because", flat=True),
        Assignment.objects.values_list("reason", flat=True),
        Grant.objects.values_list("reason", flat=True),
        Intervention.objects.values_list("reason", flat=True),
        Removal.objects.values_list("reason", flat=True),
    ]

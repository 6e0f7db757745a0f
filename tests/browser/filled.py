"""A world with something on every page: labels, verdicts, drafts, faults, and every state that a page can show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from annotate import assignment, labelling
from annotate.contents import Content
from annotate.models import (
    Adjudication,
    Annotation,
    Item,
    Membership,
    Revision,
    Role,
    Round,
    Task,
    Upload,
    User,
)
from judging.models import Judge, Prompt, Run
from judging.protocols import PROTOCOLS
from judging.runs import pause, plan_generation, plan_judging
from tests import build
from tests.judging import answering
from tests.judging.working import work_to_end
from tests.scripted_endpoint import Play, Request, ScriptedEndpoint
from tests.test_access import World

GUIDELINES = "# How to judge\n\nTake your *time*:\n\n1. read\n2. `score`\n\n> Twice.\n\n[More](https://example.org/)"
JUDGED_BY = (
    "tick",
    "check_then_score",
    "geval",
    "preference",
    "rocketeval",
)  # answers, scores, dimensions, pairs, weights
ANCHORS = {"1": "Fails", "3": "Serves in part", "5": "Serves fully"}


class FilledWorld(World):
    """`World` with pages full of data. Its round, task and run are the fullest ones; `more` names the other states."""

    def __init__(self, slug: str) -> None:
        super().__init__(slug)
        self.bare_round, self.bare_run = self.round, self.run
        self._describe()
        self._label()
        self._write_checklists()
        self._judge()

    def _describe(self) -> None:
        project, curator = self.project, self.people["curator"]
        project.description, project.guidelines = "Texts about gardens.", GUIDELINES
        project.scale_anchors = ANCHORS
        project.save()
        Item.objects.filter(pk=self.item.pk).update(
            history=[{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "**Hello** to you."}],
            reference="A *good* text.",
            category="gardens",
            language="en",
            metadata={"source": {"name": "a book", "page": 12}},
        )
        row = {"external_id": "x", "instruction": "Name a tree.", "responses": [{"system": "A", "text": "Oak"}]}
        self.upload = Upload.objects.create(
            project=project, user=curator, filename="more.jsonl", content=json.dumps(row).encode()
        )
        curator.user_permissions.add(Permission.objects.get(codename="add_project"))
        self.fellows = [build.member(project, Role.ANNOTATOR, f"{name}-of-{project.slug}") for name in ("ann", "abe")]
        self.outsider = build.user(f"outsider-of-{project.slug}")
        self.empty = build.project(f"empty-{project.slug}")
        Membership.objects.create(project=self.empty, user=curator, role=Role.CURATOR)

    def _label(self) -> None:
        """A round of checked and scored responses in the hands of three people, one with a draft; and other states."""
        self.items = [self.item, *(build.item(self.project, language=code) for code in ("en", "ja"))]
        for number, item in enumerate(self.items):
            build.checklist(item, f"Is text {number} short?", f"Is text {number} true?")
        curator, annotator = self.people["curator"], self.people["annotator"]
        settings: dict[str, Any] = {"guidelines": GUIDELINES, "scale_anchors": ANCHORS, "allow_na": True}
        kind = Round.Kind.CHECK_THEN_SCORE
        self.round = build.round(self.project, kind, arm="with checklist", show_reference=True, **settings)
        tasks = list(self.round.tasks.order_by("position"))
        for number, task in enumerate(tasks[1:]):
            for place, person in enumerate((annotator, *self.fellows)):
                questions = task.checklist.questions.all() if task.checklist else []
                said = {one.pk: "yes" if (number + place) % 3 else "no" for one in questions}
                self.submission = build.submitted(task, person, 1 + (number + place) % 5, said)
        content = Content(3, comment="After some thought.").as_json()
        Adjudication.objects.create(task=tasks[1], adjudicator=curator, content=content)
        Revision.objects.create(annotation=self.submission, version=1, content=content, why="corrected")
        self.task = taken(self.round, annotator)
        answers = {one.pk: "yes" for one in self.task.checklist.questions.all()} if self.task.checklist else {}
        labelling.save(self.task, annotator, Content(2, answers, comment="A draft."), token="a", version=0)
        on_questions = {str(question): "Text" for question in answers}
        Annotation.objects.filter(task__round=self.round).update(
            quotes={"whole": "Text", **on_questions}, flags={"checklist": "Unclear.", **on_questions}, comment="Hm."
        )
        for fellow in self.fellows:
            build.submitted(self.revealed, fellow, 5)
        assignment.skip(taken(self.bare_round, self.fellows[0]), self.fellows[0], "Too long.")
        self.kinds = [taken(build.round(self.project, kind, **settings), annotator) for kind in Round.Kind]
        writing = {"safe": "yes", "sensible": "yes", "questions": ["Is it short?", "Is it kind?"]}
        Annotation.objects.filter(task=self.kinds[-1]).update(written=writing, version=1)
        self.draft_round = build.round(self.project, opened=False)
        self.closed_round = build.round(self.project)
        self.closed_round.close()

    def _write_checklists(self) -> None:
        """Of an item in every state, with an edit to read; of a dimension with its parts."""
        edited = self.items[1].checklists.approved().get()
        self.edited = edited.edit(["Is text 1 very short?", "Is it kind?"], self.people["curator"])
        self.retired = build.checklist(self.items[2], "Is it old?")
        self.retired.retire()
        self.missing = build.item(self.project)
        questions = build.dimension_checklist(self.dimension, Form=["Is it short?"], Content=["Is it true?"])
        questions.edit(["Is it brief?"], self.people["curator"], subdimensions=["Form"])
        self.archived_dimension = build.dimension(self.project)
        self.archived_dimension.archive()

    def _judge(self) -> None:
        with ScriptedEndpoint() as endpoint:
            self.judge = build.judge(self.project, endpoint.base_url, input_price=1, output_price=2, is_weak=True)
            Judge.objects.filter(pk=self.judge.pk).update(
                tested_at=self.round.opened_at,
                test_asked_at=self.round.opened_at,
                findings=[{"ok": True, "text": "It answers."}, {"ok": False, "text": "It gives no probabilities."}],
            )
            self.runs = {name: self._run(endpoint, name) for name in JUDGED_BY}
            self.run = self.runs["tick"]
            endpoint.play(Play(status=400))
            unlucky = build.judge(self.project, endpoint.base_url)
            self.failed_run = carry_out(plan_judging(self.project, unlucky, "direct", self.round))
            endpoint.play("The reader wants a text.\n[[Is it a text?]]\n[[Is it short?]]")
            self.written_run = carry_out(plan_generation(self.project, self.judge, "ticking", [self.missing]))
        pause(self.bare_run, "The key was refused. Resume the run when this is put right.")
        source = Prompt.objects.of(self.project, "tick").source
        Prompt.replace(self.project, "tick", source + "\nBe kind.", self.people["curator"])

    def _run(self, endpoint: ScriptedEndpoint, name: str) -> Run:
        turn = iter(range(1000))

        def reply(request: Request) -> Play:
            number = next(turn)
            if number % 7 == 6:
                return Play("I would rather not say.")
            return answering.reply(PROTOCOLS[name], request.messages, favourable=number % 3 > 0)

        endpoint.play(reply)
        round = None if PROTOCOLS[name].pairs else self.round
        return carry_out(plan_judging(self.project, self.judge, name, round))

    def client(self, who: str) -> Client:
        """A client in which this person is logged in: a role, "outsider", or "anonymous" for nobody."""
        client = Client()
        if who == "outsider":
            client.force_login(self.outsider)
        elif who != "anonymous":
            client.force_login(self.people[who])
        return client

    def states(self) -> dict[str, list[str]]:
        """Addresses of pages in another state than the one at the address that `arguments` gives, by who sees them."""

        def at(name: str, thing: Any = None, query: str = "", /, **more: Any) -> str:
            of = {"pk": thing.pk} if thing else {}
            return reverse(name, kwargs={"slug": self.project.slug, **of, **more}) + query

        both = f"?run={self.run.pk}&run={self.runs['check_then_score'].pk}"
        pairs, dimensions, weighed = (self.runs[name] for name in ("preference", "geval", "rocketeval"))
        curator = [
            at("round", self.draft_round),
            at("round", self.closed_round),
            at("agreement", self.closed_round),
            at("checklists", None, "?state=approved"),
            at("checklists", None, "?state=missing"),
            at("checklist", self.edited),
            at("checklist", self.edited.parent),
            at("dimension", self.archived_dimension),
            at("items", None, "?q=nothing+like+this"),
            at("item", self.item, "?text=plain"),
            *(at("run", one) for one in (self.bare_run, self.failed_run, self.written_run, pairs)),
            *(at("run_scores", one) for one in (self.bare_run, dimensions, weighed)),
            *(at("run_comparison", one) for one in (self.runs["check_then_score"], pairs)),
            at("run_disagreements", pairs),
            at("round_judges", self.round, both),
            *(at("call", one, "", position=1) for one in (self.failed_run, self.written_run, pairs, weighed)),
            at("prompt", None, f"?version={self.run.prompt_version}", name="tick"),
            *(reverse(name, args=[self.empty.slug]) for name in ("project", "items", "checklists", "run_create")),
        ]
        return {
            "anonymous": ["/nowhere/"],
            "outsider": [reverse("home"), at("project")],
            "curator": curator,
            "annotator": [at("annotate", self.closed_round), at("items"), *(at("task", one) for one in self.kinds)],
        }


def taken(round: Round, annotator: User) -> Task:
    """The task that the annotator has in hand."""
    task = assignment.next_task(round, annotator)
    assert task is not None
    return task


def undone(client: Client, path: str, data: Mapping[str, Any]) -> Any:
    """The answer to a form that is sent; what it changed is undone."""
    with transaction.atomic():
        answer = client.post(path, data)
        transaction.set_rollback(True)
    return answer


def is_page(response: Any) -> bool:
    """Whether a whole page came back: not a redirect, a download, or a part of a page."""
    html = response.headers.get("Content-Type", "").startswith("text/html")
    return bool(html and not response.streaming and response.content.lstrip()[:9].lower() == b"<!doctype")


def carry_out(run: Run) -> Run:
    """What a worker does, in a thread of its own, because this one may have the browser's event loop."""

    def in_thread() -> Run:
        try:
            return work_to_end(run)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(in_thread).result()

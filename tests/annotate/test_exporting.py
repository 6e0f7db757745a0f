"""Labels out: one row a label, nothing that a spreadsheet would run, and never all of it in memory."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotate import adjudication, labelling
from annotate.contents import Content, Written
from annotate.exporting import streams
from annotate.exporting.labels import COLUMNS, label_rows
from annotate.exporting.streams import csv_lines, download, jsonl_lines, safe_cell
from annotate.models import Annotation, Assignment, Experiment, Project, Round, User
from tests import build


def export(client: Client, round: Round, format: str) -> str:
    answer = client.get(reverse("export_labels", args=["garden", round.pk, format]))
    assert answer.status_code == 200
    assert answer.streaming
    return answer.getvalue().decode()


@pytest.fixture
def labelled(project: Project, ann: User, abe: User) -> Round:
    """A round of one response: Ann answered it whole, Abe's label came too late, and a third one is still a draft."""
    item = build.item(project, "rose", systems=("Aster",), category="care", language="en")
    build.checklist(item, "Is it short?", "Is it true?")
    round = build.round(project, Round.Kind.CHECK_THEN_SCORE, name="Pilot", overlap=3, arm="checklist")
    task = round.tasks.get()
    assert task.checklist
    yes, no = task.checklist.questions.all()
    build.submitted(task, ann, 4, {yes.pk: "yes", no.pk: "no"})
    build.submitted(task, abe, 2, {yes.pk: "no", no.pk: "no"})
    Annotation.objects.filter(annotator=abe).update(surplus=True, assignment=None)
    Annotation.objects.filter(annotator=ann).update(comment="=HYPERLINK(1)", active_seconds=61)
    Annotation.objects.create(task=task, annotator=build.user("late"), score=5)
    return round


class TestLabels:
    def test_one_row_a_label(self, client: Client, bob: User, ann: User, labelled: Round) -> None:
        client.force_login(bob)
        rows = [json.loads(line) for line in export(client, labelled, "jsonl").splitlines()]
        assert [list(row) for row in rows] == [list(COLUMNS)] * 6
        assert [(row["annotator"], row["facet"], row["question_position"], row["value"]) for row in rows] == [
            ("ann", "score", None, 4),
            ("ann", "question", 1, "yes"),
            ("ann", "question", 2, "no"),
            ("abe", "score", None, 2),
            ("abe", "question", 1, "no"),
            ("abe", "question", 2, "no"),
        ]
        task = labelled.tasks.get()
        annotation = Annotation.objects.get(annotator=ann)
        assert task.checklist
        assert annotation.submitted_at is not None
        assert rows[2] == {
            "round_id": labelled.pk,
            "round": "Pilot",
            "kind": "check_then_score",
            "arm": "checklist",
            "task": 1,
            "item": "rose",
            "category": "care",
            "language": "en",
            "response_id": task.response_id,
            "system": "Aster",
            "annotation_id": annotation.pk,
            "annotator_id": ann.pk,
            "annotator": "ann",
            "simulated": False,
            "facet": "question",
            "question_id": task.checklist.questions.get(position=2).pk,
            "question_position": 2,
            "question": "Is it true?",
            "checklist_id": task.checklist_id,
            "checklist_version": 1,
            "value": "no",
            "effect": "none",
            "comment": "=HYPERLINK(1)",
            "surplus": False,
            "seconds": 61,
            "submitted_at": annotation.submitted_at.isoformat(),
            "source": "annotator",
            "state": "submitted",
            "withdrawn_because": "",
            "purpose": "labels",
            "shown_in": None,
            "other_response_id": None,
            "other_system": "",
            "left": None,
            "about": "response",
            "quote": "",
            "flagged": False,
            "flag_note": "",
            "task_quote": "",
            "checklist_flagged": False,
            "checklist_flag_note": "",
            "revisions": 0,
            "exposure": annotation.exposure,
            "adjudication_id": None,
            "adjudicator": None,
            "experiment_id": None,
            "experiment": "",
        }
        assert annotation.exposure["checklist"] == task.checklist_id
        assert [row["surplus"] for row in rows] == [False] * 3 + [True] * 3

    def test_csv_says_the_same(self, client: Client, bob: User, labelled: Round) -> None:
        client.force_login(bob)
        rows = list(csv.DictReader(io.StringIO(export(client, labelled, "csv"))))
        assert len(rows) == 6
        assert (rows[0]["value"], rows[0]["question"], rows[0]["surplus"]) == ("4", "", "false")
        assert rows[0]["comment"] == "'=HYPERLINK(1)"

    def test_an_arm_names_its_experiment(self, client: Client, bob: User, labelled: Round) -> None:
        labelled.experiment = Experiment.objects.create(project=labelled.project, name="=Two ways")
        labelled.save()
        client.force_login(bob)
        for line in export(client, labelled, "jsonl").splitlines():
            row = json.loads(line)
            assert (row["experiment_id"], row["experiment"], row["arm"]) == (
                labelled.experiment.pk,
                "=Two ways",
                "checklist",
            )
        rows = list(csv.DictReader(io.StringIO(export(client, labelled, "csv"))))
        assert {row["experiment"] for row in rows} == {"'=Two ways"}
        listed = client.get(f"/api/projects/garden/rounds/{labelled.pk}/").json()
        assert (listed["experiment"], listed["arm"]) == (labelled.experiment.pk, "checklist")

    def test_simulated_annotators_are_marked(self, project: Project) -> None:
        build.item(project, systems=("Aster",))
        round = build.round(project)
        build.submitted(round.tasks.get(), build.user("robot", is_simulated=True, is_active=False), 3)
        (row,) = label_rows(round)
        assert (row["annotator"], row["simulated"], row["checklist_version"]) == ("robot", True, None)

    def test_the_number_of_queries_does_not_grow_with_the_labels(
        self, project: Project, ann: User, django_assert_num_queries: Any
    ) -> None:
        for _ in range(4):
            build.checklist(build.item(project))
        round = build.round(project, Round.Kind.CHECK_THEN_SCORE)
        for task in round.tasks.all():
            build.submitted(task, ann, 3)
        with django_assert_num_queries(6):
            assert len(list(label_rows(round))) == 24

    def test_a_pair_says_what_each_label_is_about(self, project: Project, ann: User) -> None:
        item = build.item(project, systems=("Aster", "Briar"))
        question = build.checklist(item, "Is it short?").questions.get()
        round = build.round(project, Round.Kind.PAIRWISE_CHECKLIST)
        round.tasks.update(swapped=True)
        task = round.tasks.get()
        quotes = {f"{question.pk}-other": "the end", "whole": "all of it"}
        flags = {str(question.pk): "", "checklist": "too short"}
        said = Content(
            answers={question.pk: "yes"},
            other_answers={question.pk: "unsure"},
            preference=5,
            quotes=quotes,
            flags=flags,
        )
        build.said(task, ann, said)
        rows = list(label_rows(round))
        names = ("facet", "about", "value", "quote", "flagged", "flag_note")
        assert [tuple(row[name] for name in names) for row in rows] == [
            ("preference", None, 5, None, None, None),
            ("question", "response", "yes", "", True, ""),
            ("question", "other", "unsure", "the end", True, ""),
        ]
        for row in rows:
            assert (row["response_id"], row["other_response_id"]) == (task.response_id, task.other_id)
            assert (row["system"], row["other_system"], row["left"]) == ("Aster", "Briar", "other")
            assert (row["task_quote"], row["checklist_flagged"]) == ("all of it", True)
            assert row["checklist_flag_note"] == "too short"
            assert row["exposure"]["left"] == task.other_id

    def test_a_written_checklist_is_one_label_with_its_questions(self, project: Project, ann: User) -> None:
        build.item(project)
        round = build.round(project, Round.Kind.CHECKLIST_WRITING)
        made = build.said(round.tasks.get(), ann, Content(written=Written("yes", "yes", ("Short?", "真実か。"))))
        rows = list(label_rows(round))
        assert [(row["facet"], row["value"]) for row in rows] == [
            ("safe", "yes"),
            ("sensible", "yes"),
            ("checklist", ["Short?", "真実か。"]),
        ]
        assert {row["checklist_id"] for row in rows} == {made.written["checklist"]}
        assert '"[""Short?"", ""真実か。""]"' in "".join(csv_lines(rows, COLUMNS))

    def test_decisions_are_rows_without_an_annotator(self, project: Project, ann: User, abe: User, bob: User) -> None:
        build.item(project, systems=("Aster",))
        round = build.round(project)
        task = round.tasks.get()
        build.submitted(task, ann, 1)
        build.submitted(task, abe, 5)
        adjudication.decide(task, bob, Content(3))
        newest = adjudication.decide(task, bob, Content(4, comment="read again"))
        rows = list(label_rows(round))
        names = ("source", "state", "annotator", "annotator_id", "annotation_id", "adjudicator", "value", "comment")
        assert [tuple(row[name] for name in names) for row in rows[2:]] == [
            ("adjudicator", "decided", None, None, None, "bob", 4, "read again"),
            ("adjudicator", "superseded", None, None, None, "bob", 3, ""),
        ]
        assert rows[2]["adjudication_id"] == newest.pk
        assert [(row["source"], row["adjudication_id"]) for row in rows[:2]] == [("annotator", None)] * 2

    def test_decisions_carry_passages_and_reports(self, labelled: Round, bob: User) -> None:
        task = labelled.tasks.get()
        assert task.checklist
        first, second = task.checklist.questions.all()
        content = Content(
            3,
            {first.pk: "yes", second.pk: "no"},
            "none",
            quotes={str(first.pk): "a rose", "whole": "all of it"},
            flags={str(second.pk): "True of what?", "checklist": "Too short"},
        )
        adjudication.decide(task, bob, content)
        rows = [row for row in label_rows(labelled) if row["source"] == "adjudicator"]
        assert [(row["facet"], row.get("quote"), row.get("flagged"), row.get("flag_note")) for row in rows] == [
            ("score", None, None, None),
            ("question", "a rose", False, ""),
            ("question", "", True, "True of what?"),
        ]
        whole = {(row["task_quote"], row["checklist_flagged"], row["checklist_flag_note"]) for row in rows}
        assert whole == {("all of it", True, "Too short")}

    def test_corrected_and_withdrawn_labels_say_so(self, project: Project, ann: User, abe: User) -> None:
        build.item(project, systems=("Aster",))
        round = build.round(project)
        task = round.tasks.get()
        stored = build.submitted(task, ann, 2)
        labelling.correct(task, ann, Content(4), token="c", version=stored.version)
        labelling.withdraw(build.submitted(task, abe, 1), "left the study")
        names = ("annotator", "value", "state", "withdrawn_because", "revisions")
        assert [tuple(row[name] for name in names) for row in label_rows(round)] == [
            ("ann", 4, "submitted", "", 1),
            ("abe", 1, "withdrawn", "left the study", 0),
        ]

    def test_what_is_expected_of_a_training_set_is_no_label(self, project: Project, ann: User, alice: User) -> None:
        build.item(project, systems=("Aster",))
        practice = build.round(project, purpose=Round.Purpose.TRAINING, overlap=1)
        working = build.round(project)
        task = practice.tasks.get()
        task.key = Annotation.objects.create(task=task, annotator=alice, score=5, comment="because", version=1)
        task.save()
        seat = Assignment.objects.create(task=task, seat=1, state="submitted", annotator=ann, shown_in=working)
        Annotation.objects.create(
            task=task,
            annotator=ann,
            score=3,
            state="submitted",
            submitted_at=timezone.now(),
            assignment=seat,
            version=1,
        )
        names = ("source", "purpose", "shown_in", "annotator", "value")
        assert [tuple(row[name] for name in names) for row in label_rows(practice)] == [
            ("annotator", "training", working.pk, "ann", 3),
            ("expected", "training", None, None, 5),
        ]
        assert list(label_rows(working)) == []

    def test_every_column_is_documented(self) -> None:
        text = (Path(__file__).parents[2] / "docs/export-format.md").read_text()
        assert set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", text, re.MULTILINE)))) == set(COLUMNS)

    def test_who_may_export(
        self, client: Client, alice: User, bob: User, ann: User, charlie: User, labelled: Round
    ) -> None:
        address = reverse("export_labels", args=["garden", labelled.pk, "csv"])
        for user, status in ((alice, 200), (bob, 200), (ann, 403), (charlie, 404)):
            client.force_login(user)
            assert client.get(address).status_code == status
        client.force_login(alice)
        foreign = build.round(build.project("other"), opened=False)
        assert client.get(reverse("export_labels", args=["garden", foreign.pk, "csv"])).status_code == 404
        assert client.get(reverse("export_labels", args=["garden", labelled.pk, "xlsx"])).status_code == 404
        assert client.post(address).status_code == 405


class TestStreams:
    @pytest.mark.parametrize(
        ("value", "cell"),
        [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-cmd", "'-cmd"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("＝1+1", "'＝1+1"),
            ("-5", "-5"),
            ("+1.5e3", "+1.5e3"),
            ("-5+cmd", "'-5+cmd"),
            (-5, -5),
            (0.5, 0.5),
            (None, ""),
            (True, "true"),
            ("a=1", "a=1"),
            ("", ""),
        ],
    )
    def test_cells(self, value: object, cell: object) -> None:
        assert safe_cell(value) == cell

    @given(st.lists(st.fixed_dictionaries({"a": st.text(), "b": st.none() | st.integers()})))
    def test_json_lines_come_back_as_they_were(self, rows: list[dict[str, Any]]) -> None:
        lines = list(jsonl_lines(rows, ["a", "b"]))
        assert all(line.count("\n") == 1 for line in lines)
        assert [json.loads(line) for line in lines] == rows

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
    def test_csv_cells_are_texts_and_never_formulas(self, texts: list[str]) -> None:
        sheet = io.StringIO("".join(csv_lines([{"a": text} for text in texts], ["a"])), newline="")
        cells = [row[0] for row in list(csv.reader(sheet))[1:] if row]
        assert [cell.removeprefix("'") if cell != text else cell for cell, text in zip(cells, texts, strict=True)] == (
            texts
        )
        assert not any(streams.FORMULA.match(cell) and not streams.NUMBER.fullmatch(cell) for cell in cells)

    def test_nan_is_never_written_as_json(self) -> None:
        with pytest.raises(ValueError, match="not JSON compliant"):
            list(jsonl_lines([{"a": float("nan")}], ["a"]))

    @pytest.mark.parametrize("format", ["jsonl", "csv"])
    def test_rows_are_taken_as_they_are_sent(self, format: str) -> None:
        taken = itertools.count()

        def endless() -> Iterator[dict[str, int]]:
            for number in taken:
                yield {"a": number}

        answer = download(endless(), ["a"], format, "endless")
        first = next(iter(answer))
        assert first.count(b"\n") == streams.GROUP
        assert next(taken) <= streams.GROUP
        assert answer.headers["Content-Disposition"] == f'attachment; filename="endless.{format}"'

"""Files in: what is right is stored as it was written, what is wrong is told with its row and nothing is stored."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate import importing
from annotate.importing.formats import read
from annotate.importing.load import ImportRefused, commit, preview
from annotate.importing.problems import Problems
from annotate.importing.schema import read_items
from annotate.models import Checklist, Item, Project, Response, User
from tests import build

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = Path(importing.__file__).parent / "examples"


def line(**changes: Any) -> dict[str, Any]:
    row = {"external_id": "a", "instruction": "Write.", "responses": [{"system": "s", "text": "t"}]}
    return {name: value for name, value in (row | changes).items() if value is not ...}


def jsonl(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def errors(project: Project, content: bytes | str, filename: str = "items.jsonl") -> list[str]:
    """The sentences about a file; makes sure that the same file imports nothing."""
    content = content.encode() if isinstance(content, str) else content
    told = list(preview(project, filename, content).errors)
    if told:
        with pytest.raises(ImportRefused):
            commit(project, filename, content)
        assert not Item.objects.exclude(external_id="stored").exists()
        assert not Response.objects.exclude(item__external_id="stored").exists()
    return told


class TestJsonl:
    def test_everything_arrives_as_it_was_written(self, project: Project, alice: User) -> None:
        text = "  # 見出し\r\n<b>not markup</b>  "
        row = line(
            external_id=" p-1 ",
            category="advice",
            language="ja",
            reference="参考",
            history=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
            metadata={"source": {"page": 3}},
            responses=[{"system": "Aster", "text": text}, {"system": "Briar", "text": "short"}],
            checklist={"questions": ["Is it  short?", "Is it true?"], "policy": "ticking", "approved": True},
        )
        counts = commit(project, "items.jsonl", jsonl(row, line(external_id="p-2", responses=[])), alice)

        assert str(counts) == "2 items, 2 responses and 1 checklist (1 approved)"
        item = project.items.get(external_id="p-1")
        assert (item.category, item.language, item.reference) == ("advice", "ja", "参考")
        assert item.history == row["history"]
        assert item.metadata == {"source": {"page": 3}}
        assert [(r.system, r.text) for r in item.responses.all()] == [("Aster", text), ("Briar", "short")]
        checklist = item.checklists.get()
        assert [(q.position, q.text) for q in checklist.questions.all()] == [(1, "Is it short?"), (2, "Is it true?")]
        assert (checklist.version, checklist.policy, checklist.state) == (1, "ticking", Checklist.State.APPROVED)
        assert checklist.created_by == checklist.approved_by == alice
        assert checklist.approved_at is not None

    def test_a_checklist_is_a_human_draft_unless_it_says_otherwise(self, project: Project, alice: User) -> None:
        commit(project, "i.jsonl", jsonl(line(checklist={"questions": ["Is it short?"]})), alice)
        checklist = Checklist.objects.get()
        assert (checklist.state, checklist.policy, checklist.approved_by) == ("draft", "human", None)

    def test_an_edit_follows_an_imported_version(self, project: Project, alice: User) -> None:
        commit(project, "i.jsonl", jsonl(line(checklist={"questions": ["One?"], "approved": True})), alice)
        assert Checklist.objects.get().edit(["Two?"], alice).version == 2

    def test_byte_order_mark_blank_lines_and_windows_lines_are_fine(self, project: Project) -> None:
        content = b"\xef\xbb\xbf" + jsonl(line()).replace(b"\n", b"\r\n") + b"\r\n\n" + jsonl(line(external_id="b"))
        assert str(commit(project, "ITEMS.JSONL", content)) == "2 items and 2 responses"

    def test_other_line_ends_of_unicode_stay_inside_their_text(self, project: Project) -> None:
        content = json.dumps(line(instruction="a\u2028b\x85c"), ensure_ascii=False).encode()
        commit(project, "i.jsonl", content)
        assert project.items.get().instruction == "a\u2028b\x85c"

    @pytest.mark.parametrize(
        ("bad", "sentence"),
        [
            (b'{"external_id": "\xff"}', "this is not UTF-8 text"),
            (b"\xff\xfe{\x00", "this is not UTF-8 text"),
            (b'{"external_id": "b",}', "this is not JSON"),
            (b"hello", "this is not JSON"),
            (b"[1, 2]", "every line must be a JSON object"),
            (b'"text"', "every line must be a JSON object"),
            (b'{"external_id": "b", "external_id": "c"}', 'the key "external_id" occurs twice'),
            (b'{"metadata": {"a": {"b": 1, "b": 2}}}', 'the key "b" occurs twice'),
            (b'{"metadata": {"a": NaN}}', "NaN is not a number"),
            (b'{"metadata": {"a": -Infinity}}', "-Infinity is not a number"),
            (b'{"metadata": {"a": 1e999}}', "1e999 is too large"),
            (b'{"metadata": {"a": ' + b"9" * 5000 + b"}}", "a number has too many digits"),
            (b'{"instruction": "a\\u0000b"}', "contains a NUL character"),
            (b'{"metadata": {"a\\u0000": 1}}', "contains a NUL character"),
            (b'{"metadata": {"a": ["\\ud800"]}}', "half of a character"),
            (b'{"metadata": ' + b"[" * 60 + b"]" * 60 + b"}", "nested more than 50 levels"),
            (b"[" * 100_000, "nested more than 50 levels"),
        ],
    )
    def test_what_cannot_be_read_is_one_sentence_with_its_row(
        self, project: Project, bad: bytes, sentence: str
    ) -> None:
        (told,) = errors(project, jsonl(line()) + b"\n" + bad + b"\n" + jsonl(line(external_id="z")))
        assert told.startswith("Row 3: ")
        assert sentence in told
        assert told.endswith((".", "?"))

    @pytest.mark.parametrize(
        ("row", "sentence"),
        [
            (line(instrution="x"), 'there is no key "instrution": did you mean "instruction"?'),
            (line(instruction=..., instrution="x"), 'there is no key "instrution"'),
            (line(responses=..., response=[]), 'there is no key "response": did you mean "responses"?'),
            (
                line(responses=[{"system": "s", "txt": "t"}]),
                'there is no key "txt" in response 1: did you mean "text"?',
            ),
            (line(checklist={"question": ["a?"]}), 'there is no key "question" in the checklist: did you mean'),
            (line(zzz=1), 'there is no key "zzz": use external_id, instruction,'),
            (line(external_id=...), 'the key "external_id" is missing'),
            (line(category="a\x9bb"), "line break or another control character"),
            (line(instruction=...), 'the key "instruction" is missing'),
            (line(responses=...), 'the key "responses" is missing'),
            (line(external_id=17), "the external_id is a number, not a text: put it in quotes."),
            (line(external_id=" "), "the external_id is empty"),
            (line(external_id="x" * 201), "the external_id has 201 characters: shorten it to 200."),
            (line(external_id="a\nb"), "the external_id contains a line break"),
            (line(instruction=""), "the instruction is empty"),
            (line(instruction=None), "the instruction is null, not a text."),
            (line(category=None), "the category is null, not a text: leave the key out."),
            (line(category="c" * 101), "the category has 101 characters"),
            (line(language="english please"), 'the language "english please" is not a code'),
            (line(reference=["x"]), "the reference is a list, not a text."),
            (line(metadata=[]), "the metadata is a list, not an object"),
            (line(history={}), "the history is an object, not a list of turns."),
            (line(history=["hi"]), 'turn 1 of the history must be an object of just "role" and "content".'),
            (line(history=[{"role": "user", "content": "x", "name": "y"}]), "turn 1 of the history must be an object"),
            (line(history=[{"role": "system", "content": "x"}]), 'the role of turn 1 of the history must be "user"'),
            (line(history=[{"role": ["user"], "content": "x"}]), 'the role of turn 1 of the history must be "user"'),
            (line(history=[{"role": "user", "content": ""}]), "turn 1 of the history is empty."),
            (line(responses={}), "the responses are an object, not a list."),
            (line(responses=["x"]), 'response 1 is a text, not an object of "system" and "text".'),
            (line(responses=[{"system": "s"}]), 'the key "text" of response 1 is missing.'),
            (line(responses=[{"system": "s", "text": "t", "score": 3}]), 'there is no key "score" in response 1'),
            (line(responses=[{"system": "s", "text": " \n"}]), 'the response of "s" is empty.'),
            (line(responses=[{"system": "", "text": "t"}]), "the system of response 1 is empty."),
            (line(responses=[{"system": "s", "text": 5}]), 'the response of "s" is a number, not a text'),
            (line(responses=[{"system": "s", "text": "t"}] * 2), 'the system "s" has a response to this item already'),
            (line(checklist=["Is it?"]), 'the checklist is a list, not an object with the key "questions".'),
            (line(checklist={}), 'the checklist needs the key "questions" with a list of texts.'),
            (line(checklist={"questions": ["Is it?", 7]}), "question 2 of the checklist is a number, not a text."),
            (line(checklist={"questions": [None]}), "question 1 of the checklist is null, not a text."),
            (line(checklist={"questions": [True]}), "question 1 of the checklist is true or false, not a text."),
            (line(checklist={"questions": ["Is it?", ""]}), "question 2 of the checklist is empty"),
            (line(checklist={"questions": []}), "A checklist needs at least one question."),
            (line(checklist={"questions": ["Same?", "same?"]}), "Two questions are the same"),
            (line(checklist={"questions": ["x" * 1001]}), "Question 1 has 1001 characters"),
            (line(checklist={"questions": ["a?"], "approved": 1}), '"approved" of the checklist is a number'),
            (
                line(checklist={"questions": ["a?"], "policy": "My Policy"}),
                "the policy of the checklist must be a name",
            ),
            (line(checklist={"questions": ["a?"], "state": "approved"}), 'there is no key "state" in the checklist'),
        ],
    )
    def test_what_does_not_fit_is_one_sentence_with_its_row(
        self, project: Project, row: dict[str, Any], sentence: str
    ) -> None:
        (told,) = errors(project, jsonl(line(external_id="fine"), row))
        assert told.startswith("Row 2: ")
        assert sentence in told
        assert told.endswith((".", "?"))

    def test_all_that_is_wrong_with_a_row_is_told_at_once(self, project: Project) -> None:
        told = errors(project, jsonl(line(instruction="", language="?", responses=[{"system": "s", "text": ""}])))
        assert len(told) == 3

    def test_two_megabytes_of_response(self, project: Project) -> None:
        (told,) = errors(project, jsonl(line(responses=[{"system": "s", "text": "x" * 2_000_000}])))
        assert told == 'Row 1: the response of "s" has 2,000,000 characters: shorten it to 200,000.'

    def test_an_external_id_occurs_once_in_file_and_project(self, project: Project) -> None:
        build.item(project, "stored")
        told = errors(project, jsonl(line(), line(external_id="stored"), line(external_id="a ")))
        assert told == [
            'Row 2: the external_id "stored" is in the project already: remove the row.',
            'Row 3: the external_id "a" is in row 1 already.',
        ]

    def test_another_project_may_have_the_same_id(self, project: Project) -> None:
        build.item(build.project("other"), "a")
        assert str(commit(project, "i.jsonl", jsonl(line()))) == "1 item and 1 response"

    def test_at_most_fifty_problems_are_listed(self, project: Project) -> None:
        told = errors(project, b"oops\n" * 80)
        assert len(told) == 50
        told = errors(project, jsonl(*(line(external_id=f"i{n}", zzz=1, language="?") for n in range(40))))
        assert len(told) == 50


class TestLimits:
    def test_rows(self, project: Project, settings: Any) -> None:
        settings.IMPORT_MAX_ROWS = 2
        rows = [line(external_id=name) for name in "abc"]
        assert errors(project, jsonl(*rows)) == ["Row 3: the file has more than 2 rows: split it into several files."]
        sheet = "external_id,instruction\na,x\nb,x\nc,x\n"
        assert errors(project, sheet, "i.csv") == ["Row 4: the file has more than 2 rows: split it into several files."]
        assert errors(project, jsonl(*rows[:2])) == []
        assert errors(project, "external_id,instruction\na,x\nb,x\n", "i.csv") == []

    def test_bytes(self, project: Project, settings: Any) -> None:
        settings.IMPORT_MAX_BYTES = 1024 * 1024
        (told,) = errors(project, b"x" * (1024 * 1024 + 1))
        assert told == "The file has 1.0 MB: split it into files of at most 1 MB."

    @pytest.mark.parametrize("name", ["items.json", "items.xlsx", "items"])
    def test_names(self, project: Project, name: str) -> None:
        assert errors(project, jsonl(line()), name) == ["The name of the file must end in .jsonl or .csv."]

    @pytest.mark.parametrize(("name", "content"), [("i.jsonl", b""), ("i.jsonl", b"\n \n"), ("i.csv", b"")])
    def test_nothing(self, project: Project, name: str, content: bytes) -> None:
        (told,) = errors(project, content, name)
        assert told.startswith("The file has no items")


class TestCsv:
    HEADER = "external_id,instruction,category,language,reference,system,text,question_1,question_2\n"

    def test_rows_of_one_id_are_one_item(self, project: Project, alice: User) -> None:
        sheet = self.HEADER + (
            'p,"Write\na ""poem"", please",art,en,ref,Aster,"one,\ntwo",Is it?,Was it?\n'
            "q,Other,,,,Aster,text,,\n"
            'p,"Write\na ""poem"", please",art,en,ref,Briar,three,Is it?,Was it?\n'
            "r,No responses,,ja,,,,,Only?\n"
        )
        assert str(commit(project, "i.csv", sheet.encode(), alice)) == (
            "3 items, 3 responses and 2 checklists (0 approved)"
        )
        item = project.items.get(external_id="p")
        assert item.instruction == 'Write\na "poem", please'
        assert (item.category, item.language, item.reference) == ("art", "en", "ref")
        assert [(r.system, r.text) for r in item.responses.all()] == [("Aster", "one,\ntwo"), ("Briar", "three")]
        assert [q.text for q in item.checklists.get().questions.all()] == ["Is it?", "Was it?"]
        assert item.checklists.get().state == Checklist.State.DRAFT
        assert not project.items.get(external_id="r").responses.exists()
        assert [q.text for q in Checklist.objects.get(item__external_id="r").questions.all()] == ["Only?"]

    def test_questions_are_in_the_order_of_their_numbers(self, project: Project) -> None:
        commit(project, "i.csv", b"question_10,external_id,question_2,instruction\nten,p,two,x\n")
        assert [q.text for q in Checklist.objects.get().questions.all()] == ["two", "ten"]

    def test_a_cell_may_be_as_long_as_a_text(self, project: Project) -> None:
        commit(project, "i.csv", f"external_id,instruction\np,{'x' * 150_000}\n".encode())
        assert len(project.items.get().instruction) == 150_000

    @pytest.mark.parametrize(
        ("sheet", "sentence"),
        [
            ("external_id,instrction\na,b\n", 'Row 1: there is no column "instrction": did you mean "instruction"?'),
            ("external_id,instruction,\na,b,\n", 'Row 1: there is no column ""'),
            ("external_id\na\n", 'Row 1: the column "instruction" is missing.'),
            ("external_id,instruction,instruction\na,b,c\n", 'Row 1: the column "instruction" occurs twice'),
            ("external_id,instruction,text\na,b,c\n", 'Row 1: the columns "system" and "text" belong together'),
            ("external_id;instruction\na;b\n", "Row 1: the columns are not separated by commas"),
            ("external_id,instruction\na,b,c\n", "Row 2: there are 3 cells, but the header has 2 columns."),
            ("external_id,instruction\n,b\n", "Row 2: the external_id is empty."),
            ("external_id,instruction\na,\n", "Row 2: the instruction is empty."),
            ("external_id,instruction\na,b\na,b\n", "Row 3: row 2 has this external_id already"),
            ("external_id,instruction,system,text\na,b,s,\n", 'Row 2: the response of "s" is empty.'),
            ("external_id,instruction,system,text\na,b,,t\n", "Row 2: the system of response 1 is empty."),
            (
                "external_id,instruction,system,text\na,b,s,t\nb,b,s,t\na,b,s,u\n",
                'Row 4: the system "s" has a response to this item already in row 2.',
            ),
            (
                "external_id,instruction,system,text\na,b,s,t\na,c,r,t\n",
                "Row 3: the instruction differs from row 2, which has the same external_id.",
            ),
            (
                "external_id,instruction,system,text,question_1\na,b,s,t,Q?\na,b,r,t,\n",
                "Row 3: the questions differ from row 2, which has the same external_id.",
            ),
            ('external_id,instruction\na,"b\n', "Row 2: the quotes do not match"),
            ("external_id,instruction\na,b\0\n", "Row 2: a cell contains a NUL character"),
        ],
    )
    def test_what_is_wrong_is_one_sentence_with_its_row(self, project: Project, sheet: str, sentence: str) -> None:
        (told,) = errors(project, sheet, "i.csv")
        assert told.startswith(sentence)
        assert told.endswith((".", "?"))

    def test_bytes_that_are_not_utf8_are_told_with_their_row(self, project: Project) -> None:
        sheet = b'external_id,instruction\na,"line\nbreak"\nb,caf\xe9\nc,fine\n'
        assert errors(project, sheet, "i.csv") == [
            "Row 3: this is not UTF-8 text: save the file as UTF-8 and import it again."
        ]

    def test_rows_are_those_of_the_sheet(self, project: Project) -> None:
        sheet = 'external_id,instruction\na,"two\nlines"\n\nb,\n'
        assert errors(project, sheet, "i.csv") == ["Row 4: the instruction is empty."]


def test_nothing_is_imported_when_the_project_changes_meanwhile(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An item that comes in by another door after the check: the database refuses, the person gets a sentence."""
    from annotate.importing import load

    monkeypatch.setattr(load, "_batches", lambda rows: iter([rows, rows]))
    with pytest.raises(ImportRefused, match="changed meanwhile"):
        commit(project, "i.jsonl", jsonl(line()))
    assert not Item.objects.exists()


def test_a_preview_shows_the_first_items_and_stores_nothing(project: Project) -> None:
    seen = preview(project, "i.jsonl", jsonl(*(line(external_id=f"i{n}") for n in range(9))))
    assert str(seen.counts) == "9 items and 9 responses"
    assert [row.external_id for row in seen.sample] == ["i0", "i1", "i2", "i3", "i4"]
    assert not Item.objects.exists()


def test_the_sample_and_the_examples_are_right(project: Project) -> None:
    for path in (ROOT / "annotate/sample/items.jsonl", EXAMPLES / "items.jsonl", EXAMPLES / "items.csv"):
        assert preview(project, path.name, path.read_bytes()).errors == []


def test_the_documentation_shows_the_examples(project: Project) -> None:
    text = (ROOT / "docs/import-format.md").read_text()
    for name in ("jsonl", "csv"):
        (block,) = re.findall(rf"```{name}\n(.*?)```", text, flags=re.DOTALL)
        assert block == (EXAMPLES / f"items.{name}").read_text()


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(line())), json_values, max_size=9))
def test_any_json_is_read_or_told(values: dict[str, Any]) -> None:
    problems = Problems()
    items = read_items(read("i.jsonl", json.dumps(line() | values).encode(), problems), problems)
    assert bool(items) != bool(problems)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_told(content: bytes) -> None:
    for name, head in (("i.jsonl", b""), ("i.csv", b"external_id,instruction,system,text\n")):
        problems = Problems()
        items = read_items(read(name, head + content, problems), problems)
        assert bool(items) != bool(problems)

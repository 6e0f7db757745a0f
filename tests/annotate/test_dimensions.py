"""Dimensions on their pages: defined, archived, and given versions of a checklist with sub-dimensions."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from annotate.forms.dimensions import Asked, lines_of, parse
from annotate.models import Checklist, Dimension, Project, User
from judging import runs
from tests import build

ALL = "/projects/garden/checklists/dimensions/"
NEW = f"{ALL}new/"
WRITTEN = """## Logical flow
Does every sentence follow from the one before?
Is the order sensible?

## Topic
Does the text stay with one topic?
"""
FLOW = ["Does every sentence follow from the one before?", "Is the order sensible?"]
TOPIC = ["Does the text stay with one topic?"]


@pytest.fixture
def curator(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def coherence(project: Project) -> Dimension:
    return build.dimension(project, "Coherence", definition="Whether all sentences fit together.")


def address(dimension: Dimension, tail: str = "") -> str:
    return f"{ALL}{dimension.pk}/{tail}"


def fields(**changed: str) -> dict[str, str]:
    given = {"name": "Fluency", "definition": "Whether it reads well.", "scale_low": "1", "scale_high": "3"}
    return given | {"scale_anchors": "1: clumsy\n3: smooth"} | changed


def asked(checklist: Checklist) -> list[tuple[str, str]]:
    return list(checklist.questions.values_list("subdimension", "text"))


# --- who may ----------------------------------------------------------------------------------------------------------


def test_researchers_read_and_curators_write(
    client: Client, coherence: Dimension, alice: User, bob: User, ann: User, charlie: User
) -> None:
    pages = {ALL: (200, 200), address(coherence): (200, 200), NEW: (200, 403), address(coherence, "edit/"): (200, 403)}
    for person, place in ((alice, 0), (bob, 1)):
        client.force_login(person)
        assert {url: client.get(url).status_code for url in pages} == {
            url: codes[place] for url, codes in pages.items()
        }
    assert client.post(address(coherence), {"questions": WRITTEN}).status_code == 403
    assert "Save" not in client.get(address(coherence)).text
    for person, status in ((ann, 403), (charlie, 404)):
        client.force_login(person)
        assert {client.get(url).status_code for url in pages} == {status}
    assert not Checklist.objects.exists()


def test_the_checklists_page_leads_there(curator: Client) -> None:
    assert f'href="{ALL}"' in curator.get("/projects/garden/checklists/").text


# --- a dimension ------------------------------------------------------------------------------------------------------


def test_without_dimensions_the_page_says_what_they_are_for(curator: Client, bob: User) -> None:
    assert "Add the first dimension" in curator.get(ALL).text
    curator.force_login(bob)
    page = curator.get(ALL).text
    assert "No dimensions yet" in page
    assert "Add the first dimension" not in page


def test_a_dimension_is_added_with_its_scale(curator: Client, project: Project) -> None:
    answer = curator.post(NEW, fields())
    made = Dimension.objects.get()
    assert answer.headers["Location"] == address(made)
    assert (made.project, made.name, made.scores) == (project, "Fluency", [1, 2, 3])
    assert made.scale_anchors == {"1": "clumsy", "3": "smooth"}
    page = curator.get(address(made)).text
    assert "Whether it reads well." in page
    assert "smooth" in page
    assert "Fluency" in curator.get(ALL).text


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": "Coherence"}, "Another dimension of this project has this name"),
        ({"definition": ""}, "This field is required"),
        ({"scale_high": "1"}, "The highest score must be above the lowest"),
        ({"scale_high": "40"}, "with at most 11 scores in all"),
        ({"scale_anchors": "4: too good"}, "a text for a score that is not on the scale"),
        ({"scale_anchors": "good"}, "Line 1 is not a score with its text"),
    ],
)
def test_what_is_no_dimension_is_said_in_words(
    curator: Client, coherence: Dimension, changed: dict[str, str], sentence: str
) -> None:
    answer = curator.post(NEW, fields(**changed))
    assert answer.status_code == 200
    assert sentence in answer.text
    assert Dimension.objects.count() == 1


def test_a_dimension_is_changed(curator: Client, coherence: Dimension) -> None:
    curator.post(address(coherence, "edit/"), fields(name="Coherence"))
    coherence.refresh_from_db()
    assert (coherence.name, coherence.definition, coherence.scale_high) == ("Coherence", "Whether it reads well.", 3)


def test_the_scale_of_scored_responses_stays(curator: Client, project: Project, coherence: Dimension) -> None:
    build.item(project)
    runs.plan_judging(project, build.judge(project), "geval", build.round(project))
    assert "Responses were scored on it" in curator.get(address(coherence, "edit/")).text
    curator.post(address(coherence, "edit/"), fields(scale_anchors="5: smooth"))
    coherence.refresh_from_db()
    assert (coherence.name, coherence.scale_low, coherence.scale_high) == ("Fluency", 1, 5)


def test_an_archived_dimension_is_judged_by_no_more_and_can_come_back(
    curator: Client, project: Project, coherence: Dimension
) -> None:
    build.item(project)
    judge, round = build.judge(project), build.round(project)
    curator.post(address(coherence), {"action": "archive"})
    assert "1 archived dimension" in curator.get(ALL).text
    with pytest.raises(runs.PlanError, match="add one first"):
        runs.plan_judging(project, judge, "geval", round)
    curator.post(address(coherence), {"action": "restore"})
    assert runs.plan_judging(project, judge, "geval", round).calls.count() == 2


# --- its checklist ----------------------------------------------------------------------------------------------------


def test_questions_are_written_with_their_sub_dimensions(curator: Client, coherence: Dimension, alice: User) -> None:
    answer = curator.post(address(coherence), {"questions": WRITTEN, "action": "save"})
    made = Checklist.objects.get()
    assert answer.headers["Location"] == address(coherence, "?version=1")
    assert (made.dimension, made.item, made.state, made.created_by) == (coherence, None, "draft", alice)
    assert asked(made) == [*[("Logical flow", text) for text in FLOW], ("Topic", TOPIC[0])]
    page = curator.get(address(coherence)).text
    assert "<h3>Logical flow</h3>" in page
    assert WRITTEN.strip() in page  # the box shows what was written


def test_an_approved_version_is_edited_as_a_new_draft(curator: Client, coherence: Dimension) -> None:
    first = build.dimension_checklist(coherence, Topic=TOPIC)
    seen = curator.get(address(coherence)).context["form"].initial["seen"]
    curator.post(address(coherence), {"questions": WRITTEN, "seen": seen, "action": "save"})
    second = Checklist.objects.get(version=2)
    assert (second.parent, second.state) == (first, "draft")
    seen = curator.get(address(coherence)).context["form"].initial["seen"]
    curator.post(address(coherence), {"questions": WRITTEN, "seen": seen, "action": "approve"})
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == ("retired", "approved")
    assert Checklist.objects.newest_of_dimensions([coherence]) == {coherence.pk: second}
    assert asked(first) == [("Topic", TOPIC[0])]
    page = curator.get(address(coherence, "?version=1")).text
    assert "retired" in page
    assert curator.get(address(coherence, "?version=9")).status_code == 404
    assert curator.get(address(coherence, "?version=x")).status_code == 404


def test_moving_a_question_to_another_part_is_a_change(curator: Client, coherence: Dimension) -> None:
    made = build.dimension_checklist(coherence, approved=False, Flow=FLOW, Topic=TOPIC)
    seen = curator.get(address(coherence)).context["form"].initial["seen"]
    moved = "\n".join(["## Flow", FLOW[0], "## Topic", FLOW[1], *TOPIC])
    curator.post(address(coherence), {"questions": moved, "seen": seen, "action": "save"})
    assert [part for part, _ in asked(made)] == ["Flow", "Topic", "Topic"]


def test_nobody_overwrites_what_somebody_else_saved(curator: Client, coherence: Dimension) -> None:
    made = build.dimension_checklist(coherence, approved=False, Topic=TOPIC)
    seen = curator.get(address(coherence)).context["form"].initial["seen"]
    made.edit(FLOW, None, subdimensions=["Flow", "Flow"])
    answer = curator.post(address(coherence), {"questions": WRITTEN, "seen": seen, "action": "save"})
    assert "Somebody else changed these questions meanwhile" in answer.text
    assert asked(made) == [("Flow", text) for text in FLOW]


def test_a_version_is_retired(curator: Client, coherence: Dimension) -> None:
    made = build.dimension_checklist(coherence)
    curator.post(address(coherence), {"action": "retire"})
    made.refresh_from_db()
    assert made.state == "retired"
    assert "There are no questions yet" in curator.get(address(coherence)).text


def test_wrong_lines_are_named_and_nothing_is_saved(curator: Client, coherence: Dimension) -> None:
    answer = curator.post(address(coherence), {"questions": "## Flow\nIs it?\nis it?\n##\n", "action": "save"})
    assert "Line 3 asks the same as line 2" in answer.text
    assert "Line 4 names no sub-dimension" in answer.text
    assert not Checklist.objects.exists()


# --- the lines --------------------------------------------------------------------------------------------------------


def test_lines_are_read_with_spaces_trimmed_and_full_width_marks() -> None:
    assert parse("\n  ##  Flow \n  Is   it?  \n\n\n＃＃話題\n一つの話題ですか。\n") == [
        Asked("Is it?", "Flow"),
        Asked("一つの話題ですか。", "話題"),
    ]


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("Is it?", "Line 1 stands before the first sub-dimension"),
        ("\n\nIs it?\n## Flow\nIs it so?", "Line 3 stands before the first sub-dimension"),
        ("## Flow\nIs it?\n##  \n", "Line 3 names no sub-dimension"),
        ("## Flow", "Line 1: “Flow” has no question"),
        ("## Flow\n## Topic\nIs it?", "Line 1: “Flow” has no question"),
        (
            "## Flow\nIs it?\n## Topic\nIs it so?\n## Flow\nMore?",
            "Line 5 names “Flow” again: put its questions below line 1",
        ),
        ("## Flow\nIs it?\nIS IT?", "Line 3 asks the same as line 2"),
        (f"## Flow\n{'x' * 1001}", "Line 2: a question has at most 1000 characters, this one 1001"),
        (f"## {'x' * 81}\nIs it?", "Line 1: a sub-dimension has at most 80 characters, this one 81"),
        ("## Flow\n" + "\n".join(f"Is it {n}?" for n in range(51)), "at most 50 questions; this one has 51"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line(written: str, sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse(written)
    assert any(sentence in message for message in refused.value.messages)


names = st.text(alphabet="abcあ ", min_size=1, max_size=10).map(lambda text: " ".join(text.split())).filter(bool)


@given(st.dictionaries(names, st.integers(1, 4), min_size=1, max_size=6))
def test_what_is_shown_is_read_back(parts: dict[str, int]) -> None:
    questions = [Asked(f"Is {part} {n} so?", part) for part, number in parts.items() for n in range(number)]
    assert parse("\n".join(lines_of(questions))) == questions

"""The queue of checklists, and one checklist under review."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate import assignment, labelling, supervision
from annotate.contents import Content, Written
from annotate.differences import question_changes
from annotate.forms.checklists import fingerprint
from annotate.models import Annotation, Checklist, Item, Project, Round, User
from judging.models import Call, Run
from tests import build

TWO = ["Is it short?", "Is it true?"]


def url(name: str, *rest: Any) -> str:
    return reverse(name, args=["garden", *rest])


def texts(checklist: Checklist) -> list[str]:
    return [question.text for question in checklist.questions.all()]


def press(client: Client, checklist: Checklist, action: str, lines: str = "\n".join(TWO), seen: str = "") -> Any:
    """Press a button of the review page, with these lines in the box."""
    fields = {"action": action, "questions": lines, "seen": seen or fingerprint(texts(checklist))}
    return client.post(url("checklist", checklist.pk), fields, follow=True)


@pytest.fixture
def curator(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def draft(project: Project) -> Checklist:
    return build.checklist(build.item(project, "rose"), *TWO, approved=False)


class TestQueue:
    def test_tabs_count_and_list_by_state(self, curator: Client, project: Project, draft: Checklist) -> None:
        approved = build.checklist(build.item(project, "tulip"))
        retired = build.checklist(build.item(project, "fern"))
        retired.retire()
        lonely = build.item(project, "moss")
        for state, shown in (("draft", [draft]), ("approved", [approved]), ("retired", [retired]), ("odd", [draft])):
            answer = curator.get(url("checklists"), {"state": state})
            assert list(answer.context["page"]) == shown
            # An item whose checklists are all retired needs a new one.
            assert [count for _, _, count in answer.context["tabs"]] == [1, 1, 1, 2]
        answer = curator.get(url("checklists"), {"state": "missing"})
        assert list(answer.context["page"]) == [retired.item, lonely]
        assert url("checklist_create", lonely.pk) in answer.content.decode()
        assert "Generate for the 2 items without a checklist" in answer.content.decode()
        assert url("generate") in answer.content.decode()

    def test_only_this_project(self, curator: Client) -> None:
        build.checklist(build.item(build.project("other")), approved=False)
        assert not curator.get(url("checklists")).context["page"].object_list

    @pytest.mark.parametrize(("state", "title"), [("draft", "Nothing to review"), ("missing", "Every item has")])
    def test_empty_states(self, curator: Client, project: Project, state: str, title: str) -> None:
        assert "No items yet" in curator.get(url("checklists"), {"state": state}).content.decode()
        build.checklist(build.item(project))
        assert title in curator.get(url("checklists"), {"state": state}).content.decode()

    def test_approve_the_ticked(self, curator: Client, alice: User, project: Project, draft: Checklist) -> None:
        other = build.checklist(build.item(project), approved=False)
        foreign = build.checklist(build.item(build.project("other")), approved=False)
        chosen = [draft.pk, foreign.pk, "x", "9" * 30]
        answer = curator.post(
            url("checklists"), {"action": "approve", "draft": chosen, "shown": [other.pk]}, follow=True
        )
        for checklist in (draft, other, foreign):
            checklist.refresh_from_db()
        assert [draft.state, other.state, foreign.state] == ["approved", "draft", "draft"]
        assert draft.approved_by == alice
        assert "Approved 1 of 2 checklists." in answer.content.decode()

    def test_approve_all_on_the_page(self, curator: Client, project: Project, draft: Checklist) -> None:
        later = build.checklist(build.item(project), approved=False)
        answer = curator.post(url("checklists"), {"action": "approve_all", "shown": [draft.pk]}, follow=True)
        assert "Approved 1 of 1 checklist." in answer.content.decode()
        later.refresh_from_db()
        assert later.state == "draft"

    def test_nothing_ticked(self, curator: Client, draft: Checklist) -> None:
        answer = curator.post(url("checklists"), {"action": "approve", "shown": [draft.pk]}, follow=True)
        assert "tick the checklists first" in answer.content.decode()

    def test_pages_need_few_queries(
        self, curator: Client, project: Project, django_assert_max_num_queries: Any
    ) -> None:
        for _ in range(30):
            build.checklist(build.item(project, systems=()), approved=False)
        with django_assert_max_num_queries(12):
            answer = curator.get(url("checklists"))
        assert len(answer.context["page"]) == 25


class TestWritten:
    """Drafts that annotators wrote, when what they submitted counts no more."""

    @pytest.fixture
    def written(self, project: Project, ann: User) -> Annotation:
        build.item(project, "lily")
        round = build.round(project, Round.Kind.CHECKLIST_WRITING, overlap=2)
        return self.writes(round, ann)

    def writes(self, round: Round, annotator: User) -> Annotation:
        content = Content(written=Written("yes", "yes", ("Is it  short?", "Is it true?")))
        return build.said(round.tasks.get(), annotator, content)

    def draft(self, written: Annotation) -> Checklist:
        return Checklist.objects.get(pk=written.written["checklist"])

    @pytest.mark.parametrize("labels", ["", "excluded", "deleted", "kept"])
    def test_the_draft_of_withdrawn_work_leaves_the_queue(
        self, curator: Client, alice: User, written: Annotation, labels: str
    ) -> None:
        if labels:
            supervision.remove(written.task.round, written.annotator, labels, alice)
        else:
            supervision.withdraw(written, "copied", alice)
        states = {"kept": ["draft"], "deleted": []}
        assert [each.state for each in Checklist.objects.all()] == states.get(labels, ["retired"])
        if labels in ("", "excluded"):
            assert "withdrawn" in curator.get(url("checklists"), {"state": "retired"}).content.decode()
            page = curator.get(url("checklist", self.draft(written).pk)).content.decode()
            assert "from a submission that was withdrawn" in page
            assert url("round_label", written.pk) in page

    @pytest.mark.parametrize("first", ["withdrawn", "excluded"])
    def test_a_deletion_takes_the_texts_of_what_was_withdrawn_before(
        self, alice: User, written: Annotation, first: str
    ) -> None:
        if first == "withdrawn":
            supervision.withdraw(written, "copied", alice)
        else:
            supervision.remove(written.task.round, written.annotator, "excluded", alice)
        supervision.remove(written.task.round, written.annotator, "deleted", alice)
        assert not Checklist.objects.exists()

    @pytest.mark.parametrize("made", ["approved", "edited"])
    def test_a_deletion_leaves_what_a_curator_approved_or_went_on_from(
        self, alice: User, written: Annotation, made: str
    ) -> None:
        draft = self.draft(written)
        if made == "approved":
            draft.approve(alice)
        else:
            draft.retire()
            draft.edit(["Is it short and true?"], alice)
        before = set(Checklist.objects.values_list("pk", "state"))
        supervision.remove(written.task.round, written.annotator, "deleted", alice)
        assert set(Checklist.objects.values_list("pk", "state")) == before

    def test_a_withdrawal_goes_by_what_is_stored(self, alice: User, written: Annotation) -> None:
        stale = Annotation.objects.get(pk=written.pk)
        newer = Content(written=Written("yes", "yes", ("Is it brief?",)))
        labelling.correct(written.task, written.annotator, newer, token="c", version=written.version)
        supervision.withdraw(stale, "copied", alice)
        assert [each.state for each in Checklist.objects.all()] == ["retired"]

    @pytest.mark.parametrize("labels", ["", "excluded", "deleted"])
    def test_a_submission_without_questions_any_more_is_withdrawn_as_any(
        self, alice: User, written: Annotation, labels: str
    ) -> None:
        labelling.correct(
            written.task, written.annotator, Content(written=Written("no", "no")), token="c", version=written.version
        )
        written.refresh_from_db()
        written.written["checklist"] = build.checklist(written.task.item, "Is it old?", approved=False).pk
        written.save()  # as it was kept once
        if labels:
            supervision.remove(written.task.round, written.annotator, labels, alice)
        else:
            supervision.withdraw(written, "copied", alice)
        assert not Annotation.objects.counted().exists()

    def test_what_a_curator_made_of_it_stays_and_says_where_it_is_from(
        self, curator: Client, alice: User, written: Annotation
    ) -> None:
        draft = self.draft(written)
        draft.edit(["Is it short and true?"], alice)
        supervision.withdraw(written, "copied", alice)
        assert (self.draft(written).state, texts(draft)) == ("draft", ["Is it short and true?"])
        page = curator.get(url("checklists"))
        assert page.context["n_unmarked"] == 0
        assert f'name="shown" value="{draft.pk}"' not in page.content.decode()
        assert "approve_all" not in page.content.decode()

    def test_a_draft_that_came_too_late_says_so(
        self, curator: Client, project: Project, written: Annotation, abe: User, draft: Checklist
    ) -> None:
        round = written.task.round
        assert assignment.next_task(round, abe)
        round.close()
        stored = Annotation.objects.get(annotator=abe)
        content = Content(written=Written("yes", "yes", ("Is it new?",)))
        late = labelling.save(stored.task, abe, content, token="t", version=0, submit=True)
        assert late.surplus
        page = curator.get(url("checklists"))
        assert [source for _draft, source in page.context["entries"] if source] == [late]
        assert (page.content.decode().count(">surplus<"), page.context["n_unmarked"]) == (1, 2)
        review = curator.get(url("checklist", self.draft(late).pk)).content.decode()
        assert "came too late to be counted" in review


class TestReview:
    def test_approve(self, curator: Client, alice: User, draft: Checklist) -> None:
        answer = press(curator, draft, "approve")
        draft.refresh_from_db()
        assert (draft.state, draft.approved_by) == ("approved", alice)
        assert answer.redirect_chain == [(url("checklist", draft.pk), 302)]

    def test_approving_saves_what_is_in_the_box(self, curator: Client, draft: Checklist) -> None:
        press(curator, draft, "approve", "Is it true?\n\n  Is it   new?  \n")
        draft.refresh_from_db()
        assert (draft.state, texts(draft)) == ("approved", ["Is it true?", "Is it new?"])

    def test_approve_and_go_to_the_next_draft(self, curator: Client, project: Project, draft: Checklist) -> None:
        second = build.checklist(build.item(project), *TWO, approved=False)
        third = build.checklist(build.item(project), *TWO, approved=False)
        assert press(curator, second, "next").redirect_chain == [(url("checklist", third.pk), 302)]
        assert press(curator, third, "next").redirect_chain == [(url("checklist", draft.pk), 302)]
        answer = press(curator, draft, "next")
        assert answer.redirect_chain == [(url("checklists"), 302)]
        assert "That was the last draft." in answer.content.decode()

    def test_save_changes_a_draft_in_place(self, curator: Client, draft: Checklist) -> None:
        press(curator, draft, "save", "Is it kind?")
        assert texts(Checklist.objects.get()) == ["Is it kind?"]
        assert Checklist.objects.get().state == "draft"

    def test_an_edit_of_an_approved_version_is_a_new_draft(
        self, curator: Client, alice: User, draft: Checklist
    ) -> None:
        draft.approve(alice)
        press(curator, draft, "save", "Is it very short?\nIs it true?")
        new = Checklist.objects.get(version=2)
        assert (new.parent, new.state, new.created_by) == (draft, "draft", alice)
        assert texts(draft) == TWO
        page = curator.get(url("checklist", new.pk)).content.decode()
        assert "Changes since version 1" in page
        assert "<ins>very " in page
        press(curator, new, "approve", "Is it very short?\nIs it true?")
        draft.refresh_from_db()
        assert draft.state == "retired"

    def test_saving_an_approved_version_unchanged_changes_nothing(self, curator: Client, draft: Checklist) -> None:
        draft.approve(None)
        assert "Nothing was changed." in press(curator, draft, "save").content.decode()
        assert Checklist.objects.count() == 1

    def test_a_retired_version_comes_back_as_a_new_draft(self, curator: Client, draft: Checklist) -> None:
        press(curator, draft, "retire")
        draft.refresh_from_db()
        assert draft.state == "retired"
        press(curator, draft, "save")
        assert [checklist.state for checklist in Checklist.objects.order_by("version")] == ["retired", "draft"]

    @pytest.mark.parametrize(
        ("lines", "sentence"),
        [
            ("", "A checklist needs at least one question."),
            (" \n ", "A checklist needs at least one question."),
            ("Same?\nsame?", "Two questions are the same"),
            ("x" * 1001, "Question 1 has 1001 characters"),
            ("\n".join(f"q{n}?" for n in range(51)), "at most 50 questions"),
            ("a\0b", "Null characters are not allowed."),
        ],
    )
    def test_what_cannot_be_a_checklist_is_said(
        self, curator: Client, draft: Checklist, lines: str, sentence: str
    ) -> None:
        assert sentence in press(curator, draft, "approve", lines).content.decode()
        draft.refresh_from_db()
        assert (draft.state, texts(draft)) == ("draft", TWO)

    def test_two_curators_do_not_overwrite_each_other(self, curator: Client, draft: Checklist) -> None:
        seen = fingerprint(TWO)
        draft.edit(["Theirs?"], None)
        answer = press(curator, draft, "approve", "Mine?", seen)
        page = answer.content.decode()
        assert "Somebody else changed these questions" in page
        assert "Theirs?" in page
        assert "Mine?" in page
        draft.refresh_from_db()
        assert (draft.state, texts(draft)) == ("draft", ["Theirs?"])
        press(curator, draft, "save", "Mine?", answer.context["form"]["seen"].value())
        assert texts(draft) == ["Mine?"]

    def test_a_draft_that_somebody_else_approved(self, curator: Client, draft: Checklist) -> None:
        draft.approve(None)
        assert "Only a draft can be approved" in press(curator, draft, "approve").content.decode()

    def test_says_where_it_comes_from_and_who_uses_it(
        self, curator: Client, project: Project, draft: Checklist
    ) -> None:
        judge = build.judge(project, name="Owl", model="owl-7b")
        run = Run.objects.create(
            project=project, judge=judge, kind=Run.Kind.GENERATION, method="ticking", prompt_version="abc123"
        )
        Call.objects.create(run=run, position=1, item=Item.objects.get(), state=Call.State.DONE, written=draft)
        draft.approve(None)
        build.round(project, Round.Kind.CHECK_THEN_SCORE, name="Spring round")
        page = curator.get(url("checklist", draft.pk)).content.decode()
        for text in ("owl-7b", "abc123", "Spring round", reverse("call", args=["garden", run.pk, 1])):
            assert text in page

    def test_another_projects_checklist_is_not_here(self, curator: Client) -> None:
        foreign = build.checklist(build.item(build.project("other")))
        assert curator.get(url("checklist", foreign.pk)).status_code == 404


class TestWrite:
    def test_by_hand(self, curator: Client, alice: User, project: Project) -> None:
        item = build.item(project)
        curator.post(url("checklist_create", item.pk), {"action": "save", "questions": "One?\nTwo?"})
        made = Checklist.objects.get()
        assert (texts(made), made.policy, made.state, made.created_by) == (["One?", "Two?"], "human", "draft", alice)

    def test_and_approve(self, curator: Client, alice: User, project: Project) -> None:
        item = build.item(project)
        curator.post(url("checklist_create", item.pk), {"action": "approve", "questions": "One?"})
        assert Checklist.objects.get().approved_by == alice

    def test_empty(self, curator: Client, project: Project) -> None:
        answer = curator.post(url("checklist_create", build.item(project).pk), {"questions": ""})
        assert "A checklist needs at least one question." in answer.content.decode()
        assert not Checklist.objects.exists()


class TestAccess:
    def test_researchers_read_and_cannot_change(self, client: Client, bob: User, draft: Checklist) -> None:
        client.force_login(bob)
        for address in (url("checklists"), url("checklist", draft.pk)):
            page = client.get(address).content.decode()
            assert "Is it short?" in page
            main = page[page.index("<main") :]
            assert 'name="action"' not in main
            assert "<textarea" not in main
            assert client.post(address, {"action": "approve", "questions": "x?", "draft": draft.pk}).status_code == 403
        assert client.get(url("checklist_create", draft.item_id)).status_code == 403
        draft.refresh_from_db()
        assert (draft.state, texts(draft)) == ("draft", TWO)

    def test_annotators_and_outsiders_stay_out(
        self, client: Client, ann: User, charlie: User, draft: Checklist
    ) -> None:
        for user, status in ((ann, 403), (charlie, 404)):
            client.force_login(user)
            for address in (url("checklists"), url("checklist", draft.pk), url("checklist_create", draft.item_id)):
                assert client.get(address).status_code == status
                assert client.post(address).status_code == status


class TestDifferences:
    @pytest.mark.parametrize(
        ("old", "new", "kinds"),
        [
            (["a?"], ["a?"], ["same"]),
            (["a?"], ["a?", "b?"], ["same", "added"]),
            (["a?", "b?"], ["b?"], ["removed", "same"]),
            (["Is it short?"], ["Is it very short?"], ["changed"]),
            (["Is it short?"], ["Does the reply name a city?"], ["removed", "added"]),
            (["返答は短いですか。"], ["返答はとても短いですか。"], ["changed"]),
        ],
    )
    def test_kinds(self, old: list[str], new: list[str], kinds: list[str]) -> None:
        assert [change.kind for change in question_changes(old, new)] == kinds

    def test_parts_spell_both_versions(self) -> None:
        old, new = ["Is it short?", "Is it true?", "gone"], ["Is the poem short?", "Is it true?", "Is it new at all?"]
        parts = [part for change in question_changes(old, new) for part in change.parts]
        assert "".join(part.text for part in parts if part.kind != "added") == "".join(old)
        assert "".join(part.text for part in parts if part.kind != "removed") == "".join(new)

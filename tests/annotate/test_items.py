"""The pages of items: import with preview, the list, one item."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotate.models import Checklist, Item, Project, Response, Role, Upload, User
from tests import build

GOOD = (
    '{"external_id": "a", "instruction": "Write **now**.", "responses": [{"system": "Aster", "text": "t"}],'
    ' "checklist": {"questions": ["Is it?"], "approved": true}}\n'
)


def url(name: str, *rest: Any) -> str:
    return reverse(name, args=["garden", *rest])


def send(client: Client, content: str | bytes, name: str = "items.jsonl") -> Any:
    content = content.encode() if isinstance(content, str) else content
    return client.post(url("import_items"), {"file": SimpleUploadedFile(name, content)})


@pytest.fixture
def curator(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def researcher(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


@pytest.mark.parametrize("name", ["items", "import_items"])
def test_outsiders_and_wrong_roles_stay_out(
    client: Client, project: Project, bob: User, ann: User, charlie: User, name: str
) -> None:
    client.force_login(charlie)
    assert client.get(url(name)).status_code == 404
    client.force_login(ann)
    assert client.get(url(name)).status_code == 403
    client.force_login(bob)
    assert client.get(url(name)).status_code == (200 if name == "items" else 403)


class TestImport:
    def test_preview_then_confirm(self, curator: Client, alice: User, project: Project) -> None:
        answer = send(curator, GOOD)
        upload = Upload.objects.get()
        assert answer.headers["Location"] == url("import_preview", upload.pk)
        assert not Item.objects.exists()

        page = curator.get(answer.headers["Location"]).content.decode()
        assert "Import 1 item" in page
        assert "Write **now**." in page
        assert "Aster" in page

        answer = curator.post(url("import_preview", upload.pk), {"action": "import"}, follow=True)
        assert "Imported 1 item, 1 response and 1 checklist (1 approved)." in answer.content.decode()
        assert project.items.get().external_id == "a"
        assert Checklist.objects.get().approved_by == alice
        assert not Upload.objects.exists()

    def test_pressing_twice_imports_once(self, curator: Client) -> None:
        send(curator, GOOD)
        address = url("import_preview", Upload.objects.get().pk)
        curator.post(address, {"action": "import"})
        answer = curator.post(address, {"action": "import"}, follow=True)
        assert answer.redirect_chain == [(url("items"), 302)]
        assert Item.objects.count() == 1
        assert curator.get(address).status_code == 404

    def test_cancel_throws_the_file_away(self, curator: Client) -> None:
        send(curator, GOOD)
        answer = curator.post(url("import_preview", Upload.objects.get().pk), {"action": "cancel"})
        assert answer.headers["Location"] == url("import_items")
        assert not Upload.objects.exists()
        assert not Item.objects.exists()

    def test_errors_are_shown_with_their_rows(self, curator: Client) -> None:
        page = send(curator, GOOD + "oops\n" + GOOD).content.decode()
        assert "Nothing of items.jsonl was imported." in page
        assert "Row 2: this is not JSON" in page
        assert "Row 3: the external_id &quot;a&quot; is in row 1 already." in page
        assert not Upload.objects.exists()

    def test_the_file_is_checked_again_when_it_is_confirmed(self, curator: Client, project: Project) -> None:
        send(curator, GOOD)
        build.item(project, "a")
        page = curator.post(url("import_preview", Upload.objects.get().pk), {"action": "import"}).content.decode()
        assert "is in the project already" in page
        assert Item.objects.count() == 1

    def test_a_preview_that_went_stale_says_so(self, curator: Client, project: Project) -> None:
        send(curator, GOOD)
        build.item(project, "a")
        page = curator.get(url("import_preview", Upload.objects.get().pk)).content.decode()
        assert "is in the project already" in page
        assert not Upload.objects.exists()

    def test_an_upload_belongs_to_its_uploader(self, curator: Client, project: Project) -> None:
        send(curator, GOOD)
        address = url("import_preview", Upload.objects.get().pk)
        curator.force_login(build.member(project, Role.CURATOR, "amy"))
        assert curator.get(address).status_code == 404
        curator.post(address, {"action": "import"})
        assert not Item.objects.exists()
        assert Upload.objects.exists()

    def test_a_new_upload_takes_the_place_of_the_last(self, curator: Client) -> None:
        send(curator, GOOD)
        send(curator, GOOD, "second.jsonl")
        assert Upload.objects.get().filename == "second.jsonl"

    def test_no_file(self, curator: Client) -> None:
        assert "Choose a .jsonl or .csv file" in curator.post(url("import_items")).content.decode()
        assert "The file is empty" in send(curator, "").content.decode()

    def test_a_file_beyond_the_limit_is_refused_in_words(self, curator: Client, settings: Any) -> None:
        settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 1000
        assert "Choose a .jsonl or .csv file of at most 20 MB." in send(curator, "x" * 2000).content.decode()

    def test_the_examples_can_be_downloaded_and_imported(self, curator: Client, project: Project) -> None:
        for name in ("items.jsonl", "items.csv"):
            answer = curator.get(url("import_items"), {"example": name})
            assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
            send(curator, answer.getvalue(), name)
            curator.post(url("import_preview", Upload.objects.get().pk), {"action": "import"})
        assert project.items.count() == 5
        assert curator.get(url("import_items"), {"example": "../../settings.py"}).status_code == 404


class TestList:
    def test_empty_states_say_what_to_do(self, curator: Client, bob: User) -> None:
        page = curator.get(url("items")).content.decode()
        assert "No items yet" in page
        assert url("import_items") in page
        curator.force_login(bob)
        page = curator.get(url("items")).content.decode()
        assert "Ask a curator" in page
        assert url("import_items") not in page

    def test_shows_responses_and_checklist_states(self, researcher: Client, project: Project) -> None:
        build.checklist(build.item(project, "both"))
        build.checklist(project.items.get(), approved=False)
        build.item(project, "none", systems=())
        page = researcher.get(url("items"))
        both, none = page.context["page"].object_list
        assert (both.n_responses, both.has_approved, both.has_draft) == (2, True, True)
        assert (none.n_responses, none.has_approved, none.has_draft) == (0, False, False)

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ({"q": "ROSE"}, ["rose-1"]),
            ({"q": "prune"}, ["tulip-1"]),
            ({"category": "care"}, ["rose-1", "tulip-1"]),
            ({"category": "care", "language": "ja"}, ["tulip-1"]),
            ({"q": "zzz"}, []),
            ({"page": "99"}, ["rose-1", "tulip-1", "fern-1"]),
            ({"category": "unknown"}, ["rose-1", "tulip-1", "fern-1"]),
            ({"q": "a\0b"}, []),  # as any text that no item has
        ],
    )
    def test_filters(self, researcher: Client, project: Project, query: dict[str, str], found: list[str]) -> None:
        build.item(project, "rose-1", instruction="Water it.", category="care", language="en")
        build.item(project, "tulip-1", instruction="How to prune it?", category="care", language="ja")
        build.item(project, "fern-1", instruction="Where does it grow?")
        build.item(build.project("other"), "rose-1", category="foreign")
        answer = researcher.get(url("items"), query)
        assert [item.external_id for item in answer.context["page"]] == found
        assert answer.status_code == 200
        assert "foreign" not in answer.content.decode()

    def test_fifty_a_page_in_few_queries(
        self, researcher: Client, project: Project, django_assert_max_num_queries: Any
    ) -> None:
        Item.objects.bulk_create(Item(project=project, external_id=f"i{n}", instruction="x") for n in range(120))
        with django_assert_max_num_queries(9):
            answer = researcher.get(url("items"), {"page": 3})
        assert len(answer.context["page"]) == 20
        assert "3 of 3" in answer.content.decode()


class TestItem:
    def test_shows_all_that_is_known(self, researcher: Client, project: Project) -> None:
        item = build.item(
            project,
            "i",
            instruction="# Do **this**",
            reference="the _reference_",
            history=[{"role": "user", "content": "asked `before`"}],
            language="ja",
            metadata={"source": "pilot <b>ü"},
        )
        checklist = build.checklist(item)
        page = researcher.get(url("item", item.pk)).content.decode()
        for text in ("<strong>this</strong>", "<em>reference</em>", "<code>before</code>", "pilot &lt;b&gt;ü", "Aster"):
            assert text in page
        assert page.count("<h1") == 1
        assert 'class="prose" lang="ja"' in page
        assert url("checklist", checklist.pk) in page
        assert url("checklist_create", item.pk) not in page

    def test_texts_can_be_read_as_written(self, researcher: Client, project: Project) -> None:
        item = build.item(project, "i", instruction="# Do **this** <script>")
        page = researcher.get(url("item", item.pk), {"text": "plain"}).content.decode()
        assert '<pre class="wrap" lang=""># Do **this** &lt;script&gt;</pre>' in page

    def test_hostile_texts_stay_texts(self, researcher: Client, project: Project) -> None:
        item = build.item(project, '"><script>alert(1)</script>', systems=())
        Response.objects.create(item=item, system="<img src=x>", text="![x](http://t.example/p) <img src=x>")
        for address in (url("item", item.pk), url("items")):
            page = researcher.get(address).content.decode()
            assert "<script>alert" not in page
            assert "<img" not in page

    def test_a_curator_may_write_a_checklist(self, curator: Client, project: Project) -> None:
        item = build.item(project, systems=())
        page = curator.get(url("item", item.pk)).content.decode()
        assert url("checklist_create", item.pk) in page
        assert "no responses" in page

    def test_items_of_other_projects_are_not_here(self, curator: Client) -> None:
        assert curator.get(url("item", build.item(build.project("other")).pk)).status_code == 404
        assert curator.get(url("item", 10**18)).status_code == 404

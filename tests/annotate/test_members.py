from __future__ import annotations

import datetime
import re

import pytest
from django.contrib.auth import SESSION_KEY
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.models import Annotation, Invitation, Membership, Project, Role, User
from tests import build

pytestmark = pytest.mark.django_db

SIGN_UP = {"username": "dora", "password1": "garden gate 7", "password2": "garden gate 7"}


def page_of(project: Project) -> str:
    return reverse("members", args=[project.slug])


def link_to(project: Project, role: Role = Role.ANNOTATOR) -> tuple[Invitation, str]:
    curator = project.memberships.filter(role=Role.CURATOR).first()
    invitation, token = Invitation.objects.issue(
        project, role, curator.user if curator else build.member(project, Role.CURATOR)
    )
    return invitation, reverse("invitation", args=[token])


def test_a_curator_makes_a_link_that_is_shown_once(client: Client, project: Project, alice: User) -> None:
    client.force_login(alice)
    made = client.post(page_of(project), {"role": "researcher", "invite": ""})
    found = re.search(r'value="http://testserver(/invitations/[^"]+)"', made.content.decode())
    assert found
    assert "no-store" in made["Cache-Control"]
    assert found[1] not in client.get(page_of(project)).content.decode()
    assert "Invitations not used yet" in client.get(page_of(project)).content.decode()
    client.logout()
    assert "invites you to take part as researcher" in client.get(found[1]).content.decode()


def test_a_link_for_an_unknown_role_is_refused(client: Client, project: Project, alice: User) -> None:
    client.force_login(alice)
    page = client.post(page_of(project), {"role": "owner", "invite": ""})
    assert "not one of the available choices" in page.content.decode()
    assert not Invitation.objects.exists()


def test_a_new_person_signs_up_and_is_a_member_at_once(client: Client, project: Project, alice: User) -> None:
    invitation, link = link_to(project)
    page = client.get(link).content.decode()
    assert "Make an account" in page
    assert f"/accounts/login/?next={link}" in page
    answer = client.post(link, SIGN_UP)
    assert answer["Location"] == reverse("project", args=[project.slug])
    dora = User.objects.get(username="dora")
    assert project.role_of(dora) == Role.ANNOTATOR
    assert client.session[SESSION_KEY] == str(dora.pk)
    invitation.refresh_from_db()
    assert invitation.accepted_by == dora


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"password2": "other"}, "match"),
        ({"password1": "1234", "password2": "1234"}, "too short"),
        ({"username": "ALICE"}, "This user name is taken"),
        ({"username": ""}, "required"),
    ],
)
def test_a_bad_sign_up_makes_nobody(
    client: Client, project: Project, alice: User, change: dict[str, str], sentence: str
) -> None:
    invitation, link = link_to(project)
    assert sentence in client.post(link, SIGN_UP | change).content.decode()
    assert User.objects.count() == 1
    invitation.refresh_from_db()
    assert invitation.usable


def test_somebody_with_an_account_agrees_and_joins(client: Client, project: Project, charlie: User) -> None:
    _invitation, link = link_to(project, Role.RESEARCHER)
    client.force_login(charlie)
    assert "Join the project" in client.get(link).content.decode()
    assert project.role_of(charlie) is None
    client.post(link)
    assert project.role_of(charlie) == Role.RESEARCHER


def test_a_member_is_led_to_the_project_and_the_link_stays_good(client: Client, project: Project, ann: User) -> None:
    invitation, link = link_to(project)
    client.force_login(ann)
    assert client.post(link)["Location"] == reverse("project", args=[project.slug])
    invitation.refresh_from_db()
    assert invitation.usable


def test_a_link_serves_once(client: Client, project: Project, alice: User, charlie: User) -> None:
    _invitation, link = link_to(project)
    client.post(link, SIGN_UP)
    client.force_login(charlie)
    for answer in (client.get(link), client.post(link)):
        assert answer.status_code == 410
        assert "no longer good" in answer.content.decode()
    client.logout()
    again = client.post(link, SIGN_UP | {"username": "emil"})
    assert again.status_code == 410
    assert not User.objects.filter(username="emil").exists()


def test_an_expired_link_is_gone_and_an_unknown_one_not_found(client: Client, project: Project, alice: User) -> None:
    invitation, link = link_to(project)
    Invitation.objects.filter(pk=invitation.pk).update(expires_at=timezone.now() - datetime.timedelta(seconds=1))
    assert client.get(link).status_code == 410
    assert client.post(link, SIGN_UP).status_code == 410
    unknown = client.get(reverse("invitation", args=["no-such-token"]))
    assert unknown.status_code == 404
    assert "This invitation does not exist" in unknown.content.decode()


def test_a_revoked_link_does_not_exist_any_more(client: Client, project: Project, alice: User) -> None:
    invitation, link = link_to(project)
    client.force_login(alice)
    client.post(reverse("invitation_revoke", args=[project.slug, invitation.pk]))
    client.logout()
    assert client.get(link).status_code == 404


def test_a_used_invitation_cannot_be_revoked(client: Client, project: Project, alice: User, charlie: User) -> None:
    invitation, _link = link_to(project)
    invitation.accept(charlie)
    client.force_login(alice)
    assert client.post(reverse("invitation_revoke", args=[project.slug, invitation.pk])).status_code == 404
    assert project.role_of(charlie) == Role.ANNOTATOR


def membership(project: Project, user: User) -> Membership:
    return project.memberships.get(user=user)


def test_a_curator_changes_a_role(client: Client, project: Project, alice: User, ann: User) -> None:
    client.force_login(alice)
    form = {"member": membership(project, ann).pk, "role": "researcher"}
    page = client.post(page_of(project), form, follow=True).content.decode()
    assert "ann is now researcher." in page
    assert project.role_of(ann) == Role.RESEARCHER


@pytest.mark.parametrize("form", [{"role": "annotator"}, {"remove": ""}])
def test_the_last_curator_stays(client: Client, project: Project, alice: User, form: dict[str, str]) -> None:
    client.force_login(alice)
    page = client.post(page_of(project), {"member": membership(project, alice).pk, **form}, follow=True)
    assert "make another member curator first" in page.content.decode()
    assert project.role_of(alice) == Role.CURATOR


def test_a_curator_who_steps_down_lands_where_they_may_be(client: Client, project: Project, alice: User) -> None:
    build.member(project, Role.CURATOR)
    client.force_login(alice)
    answer = client.post(page_of(project), {"member": membership(project, alice).pk, "role": "annotator"})
    assert client.get(answer["Location"]).status_code == 200
    assert project.role_of(alice) == Role.ANNOTATOR


def test_a_removed_annotator_is_an_outsider_and_the_labels_stay(
    client: Client, project: Project, alice: User, ann: User
) -> None:
    build.item(project)
    round = build.round(project)
    build.submitted(round.tasks.get(position=1), ann, 4)
    client.force_login(alice)
    page = client.post(page_of(project), {"member": membership(project, ann).pk, "remove": ""}, follow=True)
    assert "What they labelled stays" in page.content.decode()
    assert Annotation.objects.counted(round).get().annotator == ann
    client.force_login(ann)
    assert client.get(reverse("project", args=[project.slug])).status_code == 404


@pytest.mark.parametrize("member", ["", "x", "999999", "9" * 40, "²"])
def test_a_second_press_of_remove_says_so(client: Client, project: Project, alice: User, member: str) -> None:
    client.force_login(alice)
    page = client.post(page_of(project), {"member": member, "remove": ""}, follow=True)
    assert "This person is not a member any more" in page.content.decode()
    assert project.memberships.count() == 1


def test_members_of_another_project_are_out_of_reach(client: Client, project: Project, alice: User) -> None:
    other = build.project()
    stranger = build.member(other, Role.ANNOTATOR)
    invitation, _link = link_to(other)
    client.force_login(alice)
    form = {"member": membership(other, stranger).pk, "remove": ""}
    page = client.post(page_of(project), form, follow=True)
    assert "This person is not a member any more" in page.content.decode()
    assert client.post(reverse("invitation_revoke", args=[project.slug, invitation.pk])).status_code == 404
    assert other.role_of(stranger) == Role.ANNOTATOR


def test_simulated_members_say_so(client: Client, project: Project, alice: User) -> None:
    build.member(project, Role.ANNOTATOR, "sim", is_simulated=True, is_active=False)
    client.force_login(alice)
    assert "badge is-simulated" in client.get(page_of(project)).content.decode()

from __future__ import annotations

import datetime
import hashlib
import secrets
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.models.user import User


class Role(models.TextChoices):
    """What a member may do. A curator administers the project and may do all that a researcher may."""

    CURATOR = "curator", gettext_lazy("Curator")
    RESEARCHER = "researcher", gettext_lazy("Researcher")
    ANNOTATOR = "annotator", gettext_lazy("Annotator")


class Scale(models.Model):
    """A range of whole scores, both ends included, with optional texts that say what a score means."""

    scale_low = models.SmallIntegerField(gettext_lazy("lowest score"), default=1)
    scale_high = models.SmallIntegerField(gettext_lazy("highest score"), default=5)
    scale_anchors = models.JSONField(gettext_lazy("what the scores mean"), default=dict, blank=True)

    class Meta:
        abstract = True

    LONGEST = 11

    @property
    def scores(self) -> list[int]:
        return list(range(self.scale_low, self.scale_high + 1))

    @property
    def anchored_scores(self) -> list[tuple[int, str]]:
        """Every score with its anchor text ("" where it has none), from the lowest up."""
        return [(score, str(self.scale_anchors.get(str(score), ""))) for score in self.scores]

    def clean(self) -> None:
        super().clean()
        if not self.scale_low < self.scale_high <= self.scale_low + self.LONGEST - 1:
            sentence = _("The highest score must be above the lowest, with at most %(most)d scores in all.")
            raise ValidationError({"scale_high": sentence % {"most": self.LONGEST}})
        anchors = self.scale_anchors
        if not isinstance(anchors, dict) or not all(isinstance(text, str) for text in anchors.values()):
            raise ValidationError({"scale_anchors": _('Write the texts as {"1": "poor", "5": "excellent"}.')})
        if not set(anchors) <= {str(score) for score in self.scores}:
            raise ValidationError({"scale_anchors": _("There is a text for a score that is not on the scale.")})


class ProjectQuerySet(models.QuerySet["Project"]):
    def for_user(self, user: Any) -> ProjectQuerySet:
        return self.filter(memberships__user=user)


class Project(Scale):
    """Guidelines, a scale, members, items and rounds; the unit of access."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    guidelines = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    members = models.ManyToManyField(User, through="Membership", related_name="projects")

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scale_high__gt=models.F("scale_low")), name="project_scale_rises"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def role_of(self, user: User) -> Role | None:
        role = self.memberships.filter(user=user).values_list("role", flat=True).first()
        return Role(role) if role else None


class LastCurator(Exception):
    """The change would leave a project without a curator; the message is a sentence for the person who tried."""


class Membership(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["role", "user__username"]
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="membership_once_per_project"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role}) in {self.project}"

    def is_last_curator(self) -> bool:
        return (
            self.role == Role.CURATOR
            and not self.project.memberships.filter(role=Role.CURATOR).exclude(pk=self.pk).exists()
        )

    def change_role(self, role: Role | str) -> None:
        """Give the member another role. Raises LastCurator where nobody would be left to administer the project."""
        with transaction.atomic():
            self._keep_a_curator(role)
            Membership.objects.filter(pk=self.pk).update(role=role)
        self.role = role

    def end(self) -> None:
        """Take the member out of the project; what they labelled stays. Raises LastCurator as `change_role` does."""
        with transaction.atomic():
            self._keep_a_curator(None)
            self.delete()

    def _keep_a_curator(self, role: Role | str | None) -> None:
        # The project's row is locked, so that two curators cannot remove each other at the same moment.
        Project.objects.select_for_update().get(pk=self.project_id)
        self.refresh_from_db(fields=["role"])
        if role != Role.CURATOR and self.is_last_curator():
            raise LastCurator(_("A project needs a curator: make another member curator first."))


class InvitationError(Exception):
    """The invitation cannot be used; the message says why, in a sentence for the person who holds it."""


class InvitationManager(models.Manager["Invitation"]):
    def issue(self, project: Project, role: Role | str, created_by: User) -> tuple[Invitation, str]:
        """A new invitation and its token. Only the digest is stored, so the token can be shown just now."""
        token = secrets.token_urlsafe(32)
        invitation = self.create(
            project=project,
            role=role,
            created_by=created_by,
            digest=Invitation.digest_of(token),
            expires_at=timezone.now() + datetime.timedelta(days=settings.INVITATION_DAYS),
        )
        return invitation, token

    def by_token(self, token: str) -> Invitation | None:
        return self.select_related("project").filter(digest=Invitation.digest_of(token)).first()


class Invitation(models.Model):
    """A link that lets one person join a project in one role, once."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role.choices)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")

    objects = InvitationManager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="invitation_role_known"),
        ]

    def __str__(self) -> str:
        return f"Invitation to {self.project} as {self.role}"

    @staticmethod
    def digest_of(token: str) -> str:
        return hashlib.sha256(token.encode()).hexdigest()

    @property
    def usable(self) -> bool:
        return self.accepted_by_id is None and self.expires_at > timezone.now()

    def accept(self, user: User) -> Membership:
        """Make `user` a member. An invitation serves once, also when two people open it at the same moment."""
        if self.project.role_of(user):
            raise InvitationError(_("You are already a member of %(project)s.") % {"project": self.project})
        with transaction.atomic():
            taken = Invitation.objects.filter(pk=self.pk, accepted_by=None, expires_at__gt=timezone.now()).update(
                accepted_by=user
            )
            if not taken:
                raise InvitationError(_("This invitation was used or has expired: ask a curator for a new link."))
            return Membership.objects.create(project=self.project, user=user, role=self.role)

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.models.dimension import Dimension
from annotate.models.item import Item
from annotate.models.user import User


class ChecklistQuerySet(models.QuerySet["Checklist"]):
    def approved(self) -> ChecklistQuerySet:
        return self.filter(state=Checklist.State.APPROVED)

    def drafts(self) -> ChecklistQuerySet:
        return self.filter(state=Checklist.State.DRAFT)

    def newest_approved(self, items: models.QuerySet[Item] | Sequence[Item], policy: str = "") -> dict[int, Checklist]:
        """The approved checklist of each item (the newest version, of one policy where named), by item id."""
        found = self.approved().filter(item__in=items)
        if policy:
            found = found.filter(policy=policy)
        return {checklist.item_id: checklist for checklist in found.order_by("version") if checklist.item_id}

    def newest_of_dimensions(
        self, dimensions: models.QuerySet[Dimension] | Sequence[Dimension]
    ) -> dict[int, Checklist]:
        """The newest approved checklist of each dimension, by dimension id."""
        found = self.approved().filter(dimension__in=dimensions).order_by("version")
        return {checklist.dimension_id: checklist for checklist in found if checklist.dimension_id}


class Checklist(models.Model):
    """An ordered list of yes/no questions for an item or a dimension; *yes* means that a requirement is met.

    A draft may change. From its approval on a version is immutable: an edit makes a new draft version with a parent.
    """

    class State(models.TextChoices):
        DRAFT = "draft", gettext_lazy("Draft")
        APPROVED = "approved", gettext_lazy("Approved")
        RETIRED = "retired", gettext_lazy("Retired")

    HUMAN = "human"

    item = models.ForeignKey(Item, models.PROTECT, null=True, blank=True, related_name="checklists")
    dimension = models.ForeignKey(Dimension, models.PROTECT, null=True, blank=True, related_name="checklists")
    version = models.PositiveIntegerField()
    parent = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="children")
    policy = models.CharField(max_length=40, default=HUMAN)  # who wrote it: "human" or a generation policy
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    approved_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    approved_at = models.DateTimeField(null=True, blank=True)

    objects = ChecklistQuerySet.as_manager()

    class Meta:
        ordering = ["item", "dimension", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["item", "version"], name="checklist_version_once"),
            models.UniqueConstraint(fields=["dimension", "version"], name="checklist_dimension_version_once"),
            models.CheckConstraint(
                condition=Q(item__isnull=False, dimension=None) | Q(item=None, dimension__isnull=False),
                name="checklist_of_item_or_dimension",
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="checklist_version_from_one"),
            models.CheckConstraint(
                condition=~Q(state="approved") | Q(approved_at__isnull=False), name="checklist_approval_dated"
            ),
        ]

    def __str__(self) -> str:
        return f"Checklist {self.version} of {self.subject}"

    @property
    def subject(self) -> Item | Dimension:
        """What the checklist is for."""
        subject = self.item or self.dimension
        assert subject is not None  # noqa: S101 - by a constraint
        return subject

    @property
    def edited(self) -> bool:
        return self.parent_id is not None

    @classmethod
    def write(
        cls,
        subject: Item | Dimension,
        questions: Sequence[str],
        *,
        subdimensions: Sequence[str] = (),
        policy: str = HUMAN,
        created_by: User | None = None,
        parent: Checklist | None = None,
    ) -> Checklist:
        """A new draft, numbered after the newest version for its item or dimension.

        `subdimensions` names the sub-dimension of each question, in the order of the questions.
        """
        texts = clean_questions(questions)
        with transaction.atomic():
            # The subject's row is locked so that two writers cannot take the same number.
            type(subject)._default_manager.select_for_update().get(pk=subject.pk)
            of = {"item": subject} if isinstance(subject, Item) else {"dimension": subject}
            newest = cls.objects.filter(**of).aggregate(newest=models.Max("version"))["newest"] or 0
            checklist = cls.objects.create(
                **of, version=newest + 1, policy=policy, created_by=created_by, parent=parent
            )
            checklist._set_questions(texts, subdimensions)
        return checklist

    def edit(self, questions: Sequence[str], user: User | None, *, subdimensions: Sequence[str] = ()) -> Checklist:
        """Change the questions: a draft in place, any other version by a new draft that names this one as parent.

        Returns the checklist that now carries the questions.
        """
        texts = clean_questions(questions)
        with transaction.atomic():
            current = Checklist.objects.select_for_update().get(pk=self.pk)
            if current.state == self.State.DRAFT:
                current.questions.all().delete()
                current._set_questions(texts, subdimensions)
                return current
            return Checklist.write(
                self.subject,
                texts,
                subdimensions=subdimensions,
                policy=self.policy,
                created_by=user,
                parent=current,
            )

    def approve(self, user: User | None) -> None:
        """Approve a draft; an approved version that it was edited from is retired with it."""
        with transaction.atomic():
            approved = Checklist.objects.filter(pk=self.pk, state=self.State.DRAFT).update(
                state=self.State.APPROVED, approved_by=user, approved_at=timezone.now()
            )
            if not approved:
                raise ValidationError(_("Only a draft can be approved: reload the page to see its present state."))
            ancestor = self.parent
            while ancestor is not None:
                ancestor.retire()
                ancestor = ancestor.parent
        self.refresh_from_db()

    def retire(self) -> None:
        """Offer this version to no new round. Rounds that pinned it keep it."""
        Checklist.objects.filter(pk=self.pk).update(state=self.State.RETIRED)
        self.refresh_from_db()

    def _set_questions(self, texts: Sequence[str], subdimensions: Sequence[str]) -> None:
        Question.objects.bulk_create(
            Question(checklist=self, position=position, text=text, subdimension=subdimension)
            for position, (text, subdimension) in enumerate(zip_longest(texts, subdimensions, fillvalue=""), start=1)
        )


class Question(models.Model):
    """One yes/no question of a checklist, at a position from 1."""

    LONGEST = 1000
    MOST = 50

    checklist = models.ForeignKey(Checklist, models.CASCADE, related_name="questions")
    position = models.PositiveSmallIntegerField()
    text = models.CharField(max_length=LONGEST)
    subdimension = models.CharField(max_length=80, blank=True)  # of a dimension's checklist: what it belongs to

    class Meta:
        ordering = ["checklist", "position"]
        constraints = [
            models.UniqueConstraint(fields=["checklist", "position"], name="question_position_once"),
            models.CheckConstraint(condition=~Q(text=""), name="question_has_text"),
        ]

    def __str__(self) -> str:
        return self.text


def trimmed(questions: Sequence[str]) -> list[str]:
    """Question texts as a checklist keeps them, whether or not the list can be one."""
    texts = [" ".join(text.split()) for text in questions]
    return [text for text in texts if text]


def clean_questions(questions: Sequence[str]) -> list[str]:
    """Trimmed question texts; ValidationError with a sentence where a list cannot be a checklist."""
    texts = trimmed(questions)
    if not texts:
        raise ValidationError(_("A checklist needs at least one question."))
    if len(texts) > Question.MOST:
        raise ValidationError(
            _("A checklist has at most %(most)d questions; this one has %(number)d.")
            % {"most": Question.MOST, "number": len(texts)}
        )
    for number, text in enumerate(texts, start=1):
        if len(text) > Question.LONGEST:
            raise ValidationError(
                _("Question %(number)d has %(length)d characters; at most %(most)d fit.")
                % {"number": number, "length": len(text), "most": Question.LONGEST}
            )
    if len({text.casefold() for text in texts}) < len(texts):
        raise ValidationError(_("Two questions are the same: remove one of them."))
    return texts

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.kinds import SHAPES, Kind, Part, Shape
from annotate.models.checklist import Checklist
from annotate.models.experiment import Experiment
from annotate.models.item import Item, Response
from annotate.models.project import Project, Scale
from annotate.models.user import User
from annotate.signals import round_opened


class Extent(NamedTuple):
    """What a round comes to: tasks, submissions (every task by N people), the labels that these hold, and units that
    are left out because they lack an approved checklist."""

    tasks: int
    submissions: int
    labels: int
    left_out: int


class Unit(NamedTuple):
    """What one task will be about: an item, a response, or two responses to compare; with its checklist."""

    item: Item
    response: Response | None = None
    other: Response | None = None
    checklist: Checklist | None = None


class RoundQuerySet(models.QuerySet["Round"]):
    def open(self) -> RoundQuerySet:
        return self.filter(state=Round.State.OPEN)

    def for_labels(self) -> RoundQuerySet:
        """Without the training sets."""
        return self.filter(purpose=Round.Purpose.LABELS)

    def about_responses(self) -> RoundQuerySet:
        """Without those in which people write checklists: they label no response, so there is nothing to agree on."""
        return self.exclude(kind__in=[kind for kind, shape in SHAPES.items() if shape.unit == "item"])

    def with_progress(self) -> RoundQuerySet:
        """Adds `seats_total` and `seats_submitted`."""
        live = ~Q(tasks__assignments__state="skipped")
        done = Q(tasks__assignments__state="submitted")
        return self.annotate(
            seats_total=Count("tasks__assignments", filter=live),
            seats_submitted=Count("tasks__assignments", filter=done),
        )


class Round(Scale):
    """A piece of human work: what is asked (kind), of which units, by how many people each (overlap N).

    A training set is a round whose tasks have a key, the expected answers: everybody may take each of its tasks once,
    and nothing said there is counted as a label.
    """

    Kind = Kind

    class State(models.TextChoices):
        DRAFT = "draft", gettext_lazy("Draft")
        OPEN = "open", gettext_lazy("Open")
        CLOSED = "closed", gettext_lazy("Closed")

    class Purpose(models.TextChoices):
        LABELS = "labels", gettext_lazy("Labels")
        TRAINING = "training", gettext_lazy("Training set with expected answers")

    class Order(models.TextChoices):
        RANDOM = "random", gettext_lazy("At random, for each annotator anew")
        FIXED = "fixed", gettext_lazy("As imported, the same for everybody")

    class Reveal(models.TextChoices):
        """When an annotator may see the systems' names and what others said about the tasks they submitted."""

        NEVER = "never", gettext_lazy("Never")
        CLOSED = "closed", gettext_lazy("Once the round is closed")
        SUBMITTED = "submitted", gettext_lazy("As soon as they have submitted the task")

    class CommentFor(models.TextChoices):
        """What an annotator must explain in a comment."""

        NO = "no", gettext_lazy("an answer is no")
        NA = "na", gettext_lazy("an answer is not applicable")
        UNSURE = "unsure", gettext_lazy("an answer is cannot tell")
        LOWEST = "lowest", gettext_lazy("the score is the lowest")
        HIGHEST = "highest", gettext_lazy("the score is the highest")
        TIE = "tie", gettext_lazy("the two responses are near-identical")

        @property
        def part(self) -> Part:
            """The part of the form that can give this reason."""
            parts: dict[str, Part] = {"lowest": "score", "highest": "score", "tie": "preference"}
            return parts.get(self.value, "questions")

    MOST_OVERLAP = 50
    MOST_GOLD = 50  # per cent

    project = models.ForeignKey(Project, models.PROTECT, related_name="rounds")
    name = models.CharField(gettext_lazy("name"), max_length=120)
    kind = models.CharField(gettext_lazy("kind"), max_length=24, choices=Kind.choices)
    purpose = models.CharField(gettext_lazy("purpose"), max_length=10, choices=Purpose.choices, default=Purpose.LABELS)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    guidelines = models.TextField(gettext_lazy("guidelines"), blank=True)
    overlap = models.PositiveSmallIntegerField(
        gettext_lazy("annotators per task"),
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_OVERLAP)],
    )
    experiment = models.ForeignKey(
        Experiment,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="arms",
        verbose_name=gettext_lazy("experiment"),
    )
    arm = models.CharField(gettext_lazy("arm"), max_length=60, blank=True)
    category = models.CharField(gettext_lazy("only this category"), max_length=100, blank=True)
    language = models.CharField(gettext_lazy("only this language"), max_length=35, blank=True)
    baseline = models.CharField(gettext_lazy("pairs with this system"), max_length=100, blank=True)  # "": every pair
    sample_size = models.PositiveIntegerField(
        gettext_lazy("at most this many items"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    order = models.CharField(gettext_lazy("order"), max_length=8, choices=Order.choices, default=Order.RANDOM)
    checklist_policy = models.CharField(gettext_lazy("checklists written by"), max_length=40, blank=True)
    lease_minutes = models.PositiveSmallIntegerField(
        gettext_lazy("minutes a task is held for one annotator"),
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(7 * 24 * 60)],
    )
    allow_na = models.BooleanField(gettext_lazy('offer "not applicable" as an answer'), default=False)
    allow_unsure = models.BooleanField(gettext_lazy('offer "cannot tell" as an answer'), default=False)
    comment_for = models.JSONField(gettext_lazy("ask for a comment when"), default=list, blank=True)
    show_reference = models.BooleanField(gettext_lazy("show the reference answer"), default=False)
    reveal = models.CharField(gettext_lazy("reveal"), max_length=10, choices=Reveal.choices, default=Reveal.NEVER)
    qualification = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="+", verbose_name=gettext_lazy("qualification set")
    )
    pass_mark = models.PositiveSmallIntegerField(
        gettext_lazy("pass mark in percent"), default=80, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    attempts = models.PositiveSmallIntegerField(
        gettext_lazy("attempts"), default=2, validators=[MinValueValidator(1), MaxValueValidator(20)]
    )
    gold = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="+", verbose_name=gettext_lazy("gold units from")
    )
    gold_percent = models.PositiveSmallIntegerField(
        gettext_lazy("gold units in percent"),
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_GOLD)],
    )
    seed = models.PositiveIntegerField(gettext_lazy("seed"), default=42)
    size = models.PositiveIntegerField(default=0)  # tasks, from the opening on
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = RoundQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="round_name_once"),
            models.CheckConstraint(condition=Q(overlap__gte=1, overlap__lte=50), name="round_overlap_in_range"),
            models.CheckConstraint(condition=Q(lease_minutes__gte=1), name="round_lease_positive"),
            models.CheckConstraint(condition=Q(scale_high__gt=models.F("scale_low")), name="round_scale_rises"),
            models.CheckConstraint(condition=Q(state="draft") | Q(opened_at__isnull=False), name="round_opening_dated"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="round_kind_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """What annotators read as its name: of an arm that is drawn the experiment's, as its own may tell what is
        compared."""
        return self.experiment.name if self.experiment is not None and self.experiment.draws_arms else self.name

    @property
    def shape(self) -> Shape:
        return SHAPES[Kind(self.kind)]

    @property
    def uses_checklist(self) -> bool:
        """Whether the questions of a checklist are asked."""
        return "questions" in self.shape.parts

    @property
    def comment_reasons(self) -> list[CommentFor]:
        """What this kind of round can want a comment for, and does."""
        offered = {"na": self.allow_na, "unsure": self.allow_unsure}
        wanted = [reason for reason in self.CommentFor if reason in self.comment_for]
        return [reason for reason in wanted if reason.part in self.shape.parts and offered.get(reason, True)]

    @property
    def is_training(self) -> bool:
        return self.purpose == self.Purpose.TRAINING

    def admits(self, user: User) -> bool:
        """Whether the user may label here: the round asks for no qualification, or they reached its pass mark in one of
        their attempts, or a researcher passed them by hand. One query as a rule."""
        if self.qualification is None:
            return True
        own = self.qualification.participations.filter(annotator=user).first()
        if own is not None and own.share is not None and own.share >= self.pass_mark / 100:
            return True
        return bool(self.qualification.grants.filter(annotator=user, what="pass").exists())

    def units(self) -> tuple[list[Unit], int]:
        """What the round would label, in item order; and how many units lack an approved checklist that it needs."""
        items = Item.objects.filter(project=self.project).defer("instruction", "history", "reference", "metadata")
        chosen = items.chosen(self.category, self.language, self.sample_size, self.seed)
        if self.shape.unit == "item":
            return [Unit(item) for item in chosen], 0
        responses: dict[int, list[Response]] = {}
        by_pk = {item.pk: item for item in chosen}
        for response in Response.objects.filter(item__in=chosen).defer("text"):
            response.item = by_pk[response.item_id]
            responses.setdefault(response.item_id, []).append(response)
        if self.shape.unit == "response":
            found = [Unit(one.item, one) for several in responses.values() for one in several]
        else:
            found = [
                Unit(first.item, first, second)
                for several in responses.values()
                for first, second in combinations(several, 2)
                if self.baseline in ("", first.system, second.system)
            ]
        if not self.uses_checklist:
            return found, 0
        checklists = Checklist.objects.newest_approved(chosen, self.checklist_policy)
        usable = [unit._replace(checklist=checklists[unit.item.pk]) for unit in found if unit.item.pk in checklists]
        return usable, len(found) - len(usable)

    def extent(self, units: Sequence[Unit], left_out: int) -> Extent:
        """What these units, found by `units`, come to."""
        asked = {checklist.pk for unit in units if (checklist := unit.checklist)}
        sizes = Checklist.objects.filter(pk__in=asked).annotate(n=Count("questions")).values_list("pk", "n")
        questions, responses = dict(sizes), 2 if self.shape.unit == "pair" else 1
        whole = len({"score", "preference"} & set(self.shape.parts))
        labels = sum(whole + responses * questions.get(unit.checklist.pk if unit.checklist else 0, 0) for unit in units)
        each = 1 if self.is_training else self.overlap
        return Extent(len(units), len(units) * each, labels * each, left_out)

    def clean(self) -> None:
        super().clean()
        problems: dict[str, str] = {}
        for name in ("qualification", "gold"):
            training = getattr(self, name)
            if training is not None and (sentence := self._why_unlike(training)):
                problems[name] = sentence
        if self.gold_id is not None and self.gold_id == self.qualification_id:
            problems["gold"] = _("Choose another set than for the qualification: gold units must be new to annotators.")
        if self.experiment is not None and self.is_training:
            problems["experiment"] = _("A training set is no arm of an experiment: leave this empty.")
        if self.gold_id is not None and self.reveal != self.Reveal.NEVER:
            problems["reveal"] = _(
                "What is revealed would tell gold units from tasks: choose “Never”, or no gold units."
            )
        if unknown := set(self.comment_for) - set(self.CommentFor.values):
            problems["comment_for"] = _("A comment cannot be asked for by “%(name)s”.") % {"name": min(unknown)}
        if problems:
            raise ValidationError(problems)

    def _why_unlike(self, training: Round) -> str:
        """Why this training set cannot qualify people for the round, or be mixed into it; "" where it can."""
        name = {"name": training.name}
        parts = self.shape.parts
        if self.is_training:
            return _("A training set has no qualification and no gold units of its own: leave this empty.")
        if not training.is_training or training.project_id != self.project_id:
            return _("“%(name)s” is not a training set of this project: choose another one.") % name
        if training.state != self.State.OPEN:
            return _("“%(name)s” is not open: open it first, or choose another one.") % name
        if training.kind != self.kind:
            return _("“%(name)s” is of another kind: choose a training set of the same kind.") % name
        if "score" in parts and training.scores != self.scores:
            return _("“%(name)s” has another scale: give both the same lowest and highest score.") % name
        offered = (self.allow_na, self.allow_unsure)
        if "questions" in parts and (training.allow_na, training.allow_unsure) != offered:
            return _("“%(name)s” offers other answers: offer the same ones in both.") % name
        return ""

    def open(self) -> int:
        """Make the tasks with N seats each and let annotators in. Returns the number of tasks."""
        with transaction.atomic():
            opened = Round.objects.filter(pk=self.pk, state=self.State.DRAFT).update(
                state=self.State.OPEN, opened_at=timezone.now()
            )
            if not opened:
                raise ValidationError(_("Only a draft can be opened: reload the page to see its present state."))
            units, left_out = self.units()
            if not units:
                raise ValidationError(self._why_nothing(left_out))
            self.size = len(units)
            self.save(update_fields=["size"])
            self.tasks.make(self, units)
            self.refresh_from_db()
            if not self.is_training:
                round_opened.send(sender=Round, round=self)
        return len(units)

    def discard(self) -> None:
        """Delete a draft, which frees its name. Raises ValidationError for one that is open by now, or that something
        is on record about."""
        with transaction.atomic():
            draft = Round.objects.select_for_update().filter(pk=self.pk, state=self.State.DRAFT).first()
            if draft is None:
                raise ValidationError(_("Only a draft can be discarded: reload the page to see its present state."))
            try:
                draft.delete()
            except models.ProtectedError as error:
                sentence = _("Something is on record about this draft, such as who was placed in it, so it stays.")
                raise ValidationError(sentence) from error

    def _why_nothing(self, without_checklist: int) -> str:
        if without_checklist:
            return _("The round has nothing to label: approve checklists for its items first.")
        if self.shape.unit == "pair":
            return _("The round has no pairs: import items with two or more responses, or widen its filter.")
        return _("The round has nothing to label: import items, or widen its filter.")

    def close(self) -> None:
        """Hand out no more tasks. What is submitted later is kept as surplus."""
        closed = Round.objects.filter(pk=self.pk, state=self.State.OPEN).update(
            state=self.State.CLOSED, closed_at=timezone.now()
        )
        if not closed:
            raise ValidationError(_("Only an open round can be closed: reload the page to see its present state."))
        self.refresh_from_db()

    def reopen(self) -> None:
        reopened = Round.objects.filter(pk=self.pk, state=self.State.CLOSED).update(
            state=self.State.OPEN, closed_at=None
        )
        if not reopened:
            raise ValidationError(_("Only a closed round can be reopened: reload the page to see its present state."))
        self.refresh_from_db()

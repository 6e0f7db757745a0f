from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotate.api.errors import input_error
from annotate.models import (
    Adjudication,
    Annotation,
    Answer,
    Checklist,
    Experiment,
    Item,
    Membership,
    Project,
    Question,
    Response,
    Round,
)


class ProjectSerializer(serializers.ModelSerializer[Membership]):
    """A project, and the reader's role in it."""

    slug = serializers.CharField(source="project.slug")
    name = serializers.CharField(source="project.name")
    description = serializers.CharField(source="project.description")
    guidelines = serializers.CharField(source="project.guidelines")
    scale_low = serializers.IntegerField(source="project.scale_low")
    scale_high = serializers.IntegerField(source="project.scale_high")
    scale_anchors = serializers.DictField(source="project.scale_anchors", child=serializers.CharField())

    class Meta:
        model = Membership
        fields = (
            "slug",
            "name",
            "description",
            "guidelines",
            "scale_low",
            "scale_high",
            "scale_anchors",
            "role",
        )
        read_only_fields = fields


class QuestionSerializer(serializers.ModelSerializer[Question]):
    class Meta:
        model = Question
        fields = ("id", "position", "text")


class ChecklistSerializer(serializers.ModelSerializer[Checklist]):
    questions = QuestionSerializer(many=True)

    class Meta:
        model = Checklist
        fields = ("id", "version", "policy", "state", "questions")


class SystemResponseSerializer(serializers.ModelSerializer[Response]):
    class Meta:
        model = Response
        fields = ("id", "system", "text")


class ResponseSerializer(serializers.ModelSerializer[Response]):
    """One system's text, with the external id of its item."""

    external_id = serializers.CharField(source="item.external_id")

    class Meta:
        model = Response
        fields = ("id", "item", "external_id", "system", "text", "created_at")


class TurnSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=["user", "assistant"])
    content = serializers.CharField()


class ItemSerializer(serializers.ModelSerializer[Item]):
    """One instruction with its responses and all versions of its checklist."""

    history = TurnSerializer(many=True)
    metadata = serializers.DictField()
    responses = SystemResponseSerializer(many=True)
    checklists = ChecklistSerializer(many=True)

    class Meta:
        model = Item
        fields = (
            "id",
            "external_id",
            "instruction",
            "history",
            "reference",
            "category",
            "language",
            "metadata",
            "created_at",
            "responses",
            "checklists",
        )


class NewResponseSerializer(serializers.Serializer[Any]):
    system = serializers.CharField()
    text = serializers.CharField()


class NewChecklistSerializer(serializers.Serializer[Any]):
    questions = serializers.ListField(child=serializers.CharField())
    policy = serializers.CharField(required=False)
    approved = serializers.BooleanField(required=False)


class NewItemSerializer(serializers.Serializer[Any]):
    """The native import format, for the schema alone: `annotate.importing` reads it and says what is wrong."""

    external_id = serializers.CharField()
    instruction = serializers.CharField()
    category = serializers.CharField(required=False)
    language = serializers.CharField(required=False, help_text="A code such as en, ja or pt-BR.")
    reference = serializers.CharField(required=False)
    history = TurnSerializer(many=True, required=False)
    metadata = serializers.DictField(required=False)
    responses = NewResponseSerializer(many=True)
    checklist = NewChecklistSerializer(required=False)


class ImportedSerializer(serializers.Serializer[Any]):
    """How much came in."""

    items = serializers.IntegerField()
    responses = serializers.IntegerField()
    checklists = serializers.IntegerField()
    approved = serializers.IntegerField(help_text="So many of the checklists came approved.")


class ExperimentSerializer(serializers.ModelSerializer[Experiment]):
    """Rounds that label the same units in different ways: its arms."""

    arms = serializers.PrimaryKeyRelatedField[Round](many=True, read_only=True, help_text="The ids of its rounds.")

    class Meta:
        model = Experiment
        fields = ("id", "name", "seed", "draws_arms", "same_unit_again", "created_at", "arms")

    def validate_name(self, name: str) -> str:
        if Experiment.objects.filter(project=self.context["project"], name=name).exists():
            raise serializers.ValidationError(_("Another experiment of this project has this name: choose a new one."))
        return name


class RoundSerializer(serializers.ModelSerializer[Round]):
    """A round; its scale is the project's where none is given."""

    scale_anchors = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    comment_for = serializers.ListField(
        child=serializers.ChoiceField(choices=Round.CommentFor.choices),
        required=False,
        help_text="What an annotator must explain in a comment.",
    )
    labels_wanted = serializers.IntegerField(
        source="seats_total", read_only=True, help_text="Tasks to submit in all: each one by as many people as overlap."
    )
    labels_submitted = serializers.IntegerField(
        source="seats_submitted", read_only=True, help_text="So many of them are submitted and counted."
    )

    class Meta:
        model = Round
        fields = (
            "id",
            "name",
            "kind",
            "purpose",
            "state",
            "guidelines",
            "overlap",
            "experiment",
            "arm",
            "category",
            "language",
            "baseline",
            "sample_size",
            "order",
            "checklist_policy",
            "lease_minutes",
            "allow_na",
            "allow_unsure",
            "comment_for",
            "show_reference",
            "reveal",
            "qualification",
            "pass_mark",
            "attempts",
            "gold",
            "gold_percent",
            "seed",
            "size",
            "scale_low",
            "scale_high",
            "scale_anchors",
            "created_at",
            "opened_at",
            "closed_at",
            "labels_wanted",
            "labels_submitted",
        )
        read_only_fields = ("state", "size", "created_at", "opened_at", "closed_at")
        extra_kwargs = {
            "overlap": {"min_value": 1, "max_value": Round.MOST_OVERLAP},
            "lease_minutes": {"min_value": 1},
            "sample_size": {"min_value": 1},
        }

    def get_fields(self) -> dict[str, Any]:
        """Experiments and training sets are looked for in the project: those of others are not there."""
        fields: dict[str, Any] = super().get_fields()
        project = self.context.get("project")
        for name, model in (("experiment", Experiment), ("qualification", Round), ("gold", Round)):
            fields[name].queryset = model.objects.filter(project=project)
        return fields

    def validate_name(self, name: str) -> str:
        if Round.objects.filter(project=self.context["project"], name=name).exists():
            raise serializers.ValidationError(_("Another round of this project has this name: choose a new one."))
        return name

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The model knows which rounds there can be; the project comes from the address."""
        project: Project = self.context["project"]
        for name in ("scale_low", "scale_high", "scale_anchors"):
            attrs.setdefault(name, getattr(project, name))
        attrs.setdefault("guidelines", project.guidelines)
        try:
            Round(project=project, **attrs).full_clean()
        except ValidationError as error:
            raise input_error(error) from error
        return attrs


class AnswerSerializer(serializers.ModelSerializer[Answer]):
    question_position = serializers.IntegerField(source="question.position")
    question = serializers.CharField(source="question.text")
    about_other = serializers.BooleanField(help_text="Of a pair: about its other response.")

    class Meta:
        model = Answer
        fields = ("question_id", "question_position", "question", "about_other", "value")


class UnitSerializer(serializers.Serializer[Any]):
    """Which task a label or a decision is about."""

    task = serializers.IntegerField(source="task.position")
    item = serializers.CharField(source="task.item.external_id")
    response_id = serializers.IntegerField(source="task.response_id", allow_null=True)
    system = serializers.SerializerMethodField()
    other_response_id = serializers.IntegerField(source="task.other_id", allow_null=True)
    other_system = serializers.SerializerMethodField()
    swapped = serializers.BooleanField(
        source="task.swapped", allow_null=True, help_text="Of a pair: the other response stood on the left."
    )
    checklist_id = serializers.IntegerField(source="task.checklist_id", allow_null=True)

    def get_system(self, about: Annotation | Adjudication) -> str:
        response = about.task.response
        return response.system if response else ""

    def get_other_system(self, about: Annotation | Adjudication) -> str:
        other = about.task.other
        return other.system if other else ""


UNIT = (
    "task",
    "item",
    "response_id",
    "system",
    "other_response_id",
    "other_system",
    "swapped",
    "checklist_id",
)


class LabelSerializer(UnitSerializer, serializers.ModelSerializer[Annotation]):
    """What one annotator submitted about one task. Neither surplus nor withdrawn labels are counted."""

    annotator = serializers.CharField(source="annotator.username")
    simulated = serializers.BooleanField(source="annotator.is_simulated")
    shown_in = serializers.IntegerField(
        source="assignment.shown_in_id",
        default=None,
        allow_null=True,
        help_text="The id of the round that the task was mixed into as a gold unit.",
    )
    answers = AnswerSerializer(many=True)
    quotes = serializers.DictField(child=serializers.CharField())
    flags = serializers.DictField(child=serializers.CharField())
    written = serializers.DictField(help_text="Of checklist writing: safe, sensible, questions, checklist.")
    exposure = serializers.DictField(help_text="What the annotator was shown and asked, and when.")
    revisions = serializers.SerializerMethodField(help_text="How often it said something else before.")
    seconds = serializers.IntegerField(source="active_seconds")

    class Meta:
        model = Annotation
        fields = (
            "id",
            *UNIT,
            "annotator",
            "simulated",
            "state",
            "withdrawn_because",
            "surplus",
            "shown_in",
            "score",
            "preference",
            "answers",
            "effect",
            "comment",
            "quotes",
            "flags",
            "written",
            "seconds",
            "submitted_at",
            "revisions",
            "exposure",
        )

    def get_revisions(self, annotation: Annotation) -> int:
        return len(annotation.revisions.all())


class AdjudicationSerializer(UnitSerializer, serializers.ModelSerializer[Adjudication]):
    """An adjudicator's decision. It is no annotator's label; the newest one of a task counts."""

    adjudicator = serializers.CharField(source="adjudicator.username")
    counts = serializers.BooleanField(help_text="Whether it is the newest decision on its task.")
    score = serializers.IntegerField(source="content.score", allow_null=True)
    preference = serializers.IntegerField(source="content.preference", allow_null=True)
    answers = serializers.DictField(
        source="content.answers", child=serializers.CharField(), help_text="By question id."
    )
    other_answers = serializers.DictField(
        source="content.other_answers",
        child=serializers.CharField(),
        help_text="By question id, about the other response of a pair.",
    )
    effect = serializers.CharField(source="content.effect")
    comment = serializers.CharField(source="content.comment")
    quotes = serializers.DictField(source="content.quotes", child=serializers.CharField())
    flags = serializers.DictField(source="content.flags", child=serializers.CharField())

    class Meta:
        model = Adjudication
        fields = (
            "id",
            *UNIT,
            "adjudicator",
            "decided_at",
            "counts",
            "score",
            "preference",
            "answers",
            "other_answers",
            "effect",
            "comment",
            "quotes",
            "flags",
        )

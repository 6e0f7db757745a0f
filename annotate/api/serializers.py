from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers

from annotate.api.errors import input_error
from annotate.models import Annotation, Answer, Checklist, Item, Membership, Project, Question, Response, Round


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


class RoundSerializer(serializers.ModelSerializer[Round]):
    """A round; its scale is the project's where none is given."""

    scale_anchors = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    labels_wanted = serializers.IntegerField(source="seats_total", read_only=True)
    labels_submitted = serializers.IntegerField(source="seats_submitted", read_only=True)

    class Meta:
        model = Round
        fields = (
            "id",
            "name",
            "kind",
            "state",
            "guidelines",
            "overlap",
            "arm",
            "category",
            "language",
            "sample_size",
            "checklist_policy",
            "lease_minutes",
            "allow_na",
            "seed",
            "scale_low",
            "scale_high",
            "scale_anchors",
            "created_at",
            "opened_at",
            "closed_at",
            "labels_wanted",
            "labels_submitted",
        )
        read_only_fields = ("state", "created_at", "opened_at", "closed_at")
        extra_kwargs = {
            "overlap": {"min_value": 1, "max_value": Round.MOST_OVERLAP},
            "lease_minutes": {"min_value": 1},
            "sample_size": {"min_value": 1},
        }

    def validate_name(self, name: str) -> str:
        if Round.objects.filter(project=self.context["project"], name=name).exists():
            raise serializers.ValidationError("Another round of this project has this name: choose a new one.")
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

    class Meta:
        model = Answer
        fields = ("question_id", "question_position", "question", "value")


class LabelSerializer(serializers.ModelSerializer[Annotation]):
    """What one annotator submitted about one response."""

    task = serializers.IntegerField(source="task.position")
    item = serializers.CharField(source="task.item.external_id")
    response_id = serializers.IntegerField(source="task.response_id", allow_null=True)
    system = serializers.SerializerMethodField()
    annotator = serializers.CharField(source="annotator.username")
    simulated = serializers.BooleanField(source="annotator.is_simulated")
    checklist_id = serializers.IntegerField(source="task.checklist_id", allow_null=True)
    answers = AnswerSerializer(many=True)
    seconds = serializers.IntegerField(source="active_seconds")

    class Meta:
        model = Annotation
        fields = (
            "id",
            "task",
            "item",
            "response_id",
            "system",
            "annotator",
            "simulated",
            "surplus",
            "score",
            "checklist_id",
            "answers",
            "effect",
            "comment",
            "seconds",
            "submitted_at",
        )

    def get_system(self, annotation: Annotation) -> str:
        response = annotation.task.response
        return response.system if response else ""

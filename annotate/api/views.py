"""The human side over HTTP: projects, items, responses, rounds and their labels."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response as Answer

from annotate import supervision
from annotate.access import CURATE
from annotate.api import serializers
from annotate.api.base import ApiViewSet, ProjectViewSet
from annotate.api.errors import Conflict
from annotate.exporting.labels import LONG_TEXTS, TASK
from annotate.importing.load import ImportRefused, commit
from annotate.models import Adjudication, Annotation, Experiment, Item, Membership, Response, Round


class ProjectListViewSet(mixins.ListModelMixin, ApiViewSet):
    """The projects that one is a member of, in whatever role."""

    permission_classes = (IsAuthenticated,)
    queryset = Membership.objects.select_related("project")
    serializer_class = serializers.ProjectSerializer

    def get_queryset(self) -> QuerySet[Membership]:
        if getattr(self, "swagger_fake_view", False):
            return Membership.objects.none()
        return Membership.objects.filter(user=self.person).select_related("project")


class ProjectDetailViewSet(ProjectViewSet):
    """One project."""

    queryset = Membership.objects.all()
    serializer_class = serializers.ProjectSerializer

    def retrieve(self, request: Request, slug: str) -> Answer:
        return Answer(self.get_serializer(self.membership).data)


class ItemViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ProjectViewSet):
    """Items with their responses and checklists."""

    roles = {"create": CURATE}
    queryset = Item.objects.all()
    serializer_class = serializers.ItemSerializer

    def rows(self) -> QuerySet[Item]:
        return self.project.items.prefetch_related("responses", "checklists__questions")

    @extend_schema(
        request=PolymorphicProxySerializer(
            component_name="NewItems",
            serializers=[serializers.NewItemSerializer, serializers.NewItemSerializer(many=True)],
            resource_type_field_name=None,
            many=False,
        ),
        responses={201: serializers.ImportedSerializer},
    )
    def create(self, request: Request, slug: str) -> Answer:
        """Import one item, or a list of them, in the native format. All come in or none."""
        given = request.data if isinstance(request.data, list) else [request.data]
        # The importer reads files: one item a line makes its row numbers those of the list.
        lines = "\n".join(json.dumps(item) for item in given)
        try:
            counts = commit(self.project, "items.jsonl", lines.encode(), self.person)
        except ImportRefused as error:
            return Answer(
                {"detail": _("Nothing was imported: see “errors”."), "errors": list(error.errors)},
                status=status.HTTP_400_BAD_REQUEST,
            )
        return Answer(asdict(counts), status=status.HTTP_201_CREATED)


class ResponseViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ProjectViewSet):
    """The texts that are judged, of all systems."""

    queryset = Response.objects.all()
    serializer_class = serializers.ResponseSerializer

    def rows(self) -> QuerySet[Response]:
        return Response.objects.filter(item__project=self.project).select_related("item")


class ReadAndMakeViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ProjectViewSet):
    """What is made in the project as well as read; the serializer is told the project."""

    def get_serializer_context(self) -> dict[str, Any]:
        context = dict(super().get_serializer_context())
        if hasattr(self, "membership"):
            context["project"] = self.project
        return context

    def _make(self, request: Request, **fields: Any) -> Answer:
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        made = serializer.save(project=self.project, **fields)
        return Answer(self._shown(made.pk), status=status.HTTP_201_CREATED)

    def _shown(self, pk: int) -> Any:
        return self.get_serializer(self.rows().get(pk=pk)).data


class ExperimentViewSet(ReadAndMakeViewSet):
    """Experiments; their arms are the rounds that name them."""

    queryset = Experiment.objects.all()
    serializer_class = serializers.ExperimentSerializer

    def rows(self) -> QuerySet[Experiment]:
        return self.project.experiments.prefetch_related("arms")

    def create(self, request: Request, slug: str) -> Answer:
        """Make an experiment. Rounds become its arms by naming it when they are made."""
        return self._make(request)


class RoundViewSet(ReadAndMakeViewSet):
    """Rounds of human work: made as drafts, opened, closed; drafts can be discarded."""

    queryset = Round.objects.all()
    serializer_class = serializers.RoundSerializer

    def rows(self) -> QuerySet[Round]:
        return Round.objects.filter(project=self.project).with_progress()

    def create(self, request: Request, slug: str) -> Answer:
        """Make a round, in draft. What is not given has the project's value, or the default."""
        return self._make(request, created_by=self.person)

    def destroy(self, request: Request, slug: str, pk: int) -> Answer:
        """Discard a draft. Its name is free again."""
        try:
            self.get_object().discard()
        except ValidationError as error:
            raise Conflict(" ".join(error.messages)) from error
        return Answer(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def open(self, request: Request, slug: str, pk: int) -> Answer:
        """Open a draft: its tasks are made, and annotators come in."""
        try:
            self.get_object().open()
        except ValidationError as error:
            raise Conflict(" ".join(error.messages)) from error
        return Answer(self._shown(pk))

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def close(self, request: Request, slug: str, pk: int) -> Answer:
        """Close an open round: it hands out no more tasks."""
        try:
            supervision.close(self.get_object(), self.person)
        except ValidationError as error:
            raise Conflict(" ".join(error.messages)) from error
        return Answer(self._shown(pk))

    @extend_schema(responses=serializers.LabelSerializer(many=True))
    @action(detail=True, serializer_class=serializers.LabelSerializer)
    def labels(self, request: Request, slug: str, pk: int) -> Answer:
        """What was submitted in the round. Surplus labels, which came after the seat was lost, and withdrawn ones say
        so; what a training set expects is not among them."""
        found = (
            Annotation.objects.handed_in(self.get_object())
            .select_related(*TASK, "annotator", "assignment")
            .defer(*LONG_TEXTS)
            .prefetch_related("answers__question", "revisions")
        )
        return self._page_of(found)

    @extend_schema(responses=serializers.AdjudicationSerializer(many=True))
    @action(detail=True, serializer_class=serializers.AdjudicationSerializer)
    def adjudications(self, request: Request, slug: str, pk: int) -> Answer:
        """What adjudicators decided where people disagree. The newest decision on a task counts."""
        later = Adjudication.objects.filter(task=OuterRef("task"), pk__gt=OuterRef("pk"))
        found = (
            Adjudication.objects.filter(task__round=self.get_object())
            .select_related(*TASK, "adjudicator")
            .defer(*LONG_TEXTS)
            .annotate(counts=~Exists(later))
        )
        return self._page_of(found)

    def _page_of(self, found: QuerySet[Any]) -> Answer:
        page = self.paginate_queryset(found)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

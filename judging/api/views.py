"""The machine side over HTTP: judges, runs, verdicts, and the agreement of a round."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.base import ProjectViewSet
from annotate.api.errors import Conflict
from annotate.models import Round
from judging import live, runs
from judging.api import serializers
from judging.estimate import plan_of
from judging.models import Judge, Run, Verdict


class JudgeViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ProjectViewSet):
    """The judges of the project, to be read. They are made and changed on the pages."""

    queryset = Judge.objects.all()
    serializer_class = serializers.JudgeSerializer

    def rows(self) -> QuerySet[Judge]:
        return Judge.objects.filter(project=self.project)


class RunViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ProjectViewSet):
    """Runs: a judge labels the responses of a round, or writes checklists."""

    queryset = Run.objects.all()
    serializer_class = serializers.RunSerializer

    def rows(self) -> QuerySet[Run]:
        return Run.objects.filter(project=self.project).select_related("judge")

    @extend_schema(request=serializers.NewRunSerializer, responses={201: serializers.RunSerializer})
    def create(self, request: Request, slug: str) -> Response:
        """Plan a judging run and start it."""
        try:
            run = runs.start(self._draft(request))
        except runs.PlanError as error:
            raise Conflict(str(error)) from error
        return Response(self.get_serializer(run).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=serializers.NewRunSerializer, responses=serializers.EstimateSerializer)
    @action(detail=False, methods=["post"])
    def estimate(self, request: Request, slug: str) -> Response:
        """What a run would send and about what it would take. Nothing is stored or sent."""
        try:
            plan = plan_of([self._draft(request)])
        except runs.PlanError as error:
            raise Conflict(str(error)) from error
        return Response(serializers.EstimateSerializer({**vars(plan.estimates[0]), **vars(plan)}).data)

    def _draft(self, request: Request) -> Run:
        context = {**self.get_serializer_context(), "project": self.project}
        wanted = serializers.NewRunSerializer(data=request.data, context=context)
        wanted.is_valid(raise_exception=True)
        return runs.draft(self.project, **wanted.choice, user=self.person)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, slug: str, pk: int) -> Response:
        """Ask nothing more for the time being. Calls under way are still stored."""
        run = self.get_object()
        if not runs.pause(run):
            raise Conflict(_("Only a running run can be paused; this one is %(state)s.") % {"state": run.state})
        return Response(self.get_serializer(run).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, slug: str, pk: int) -> Response:
        """Go on with a paused run."""
        run = self.get_object()
        try:
            if not runs.resume(run):
                raise Conflict(_("Only a paused run can be resumed; this one is %(state)s.") % {"state": run.state})
        except runs.PlanError as error:
            raise Conflict(str(error)) from error
        return Response(self.get_serializer(run).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, slug: str, pk: int) -> Response:
        """End a run for good. What it has is kept."""
        run = self.get_object()
        if not runs.cancel(run):
            raise Conflict(_("The run is over already; it is %(state)s.") % {"state": run.state})
        return Response(self.get_serializer(run).data)

    @extend_schema(request=None, responses=serializers.RetriedSerializer)
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, slug: str, pk: int) -> Response:
        """Plan the failed calls once more."""
        run = self.get_object()
        if run.state == Run.State.CANCELLED:
            raise Conflict(_("The run was cancelled: start a new one."))
        return Response({"retried": runs.retry_failed(run)})

    @extend_schema(request=serializers.RepeatsSerializer)
    @action(detail=True, methods=["post"])
    def repeats(self, request: Request, slug: str, pk: int) -> Response:
        """Ask everything some times more. A finished run goes on with it."""
        run = self.get_object()
        wanted = serializers.RepeatsSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        try:
            runs.add_repeats(run, wanted.validated_data["more"])
        except runs.PlanError as error:
            raise Conflict(str(error)) from error
        return Response(self.get_serializer(run).data)

    @extend_schema(request=serializers.LimitSerializer)
    @action(detail=True, methods=["post"])
    def limit(self, request: Request, slug: str, pk: int) -> Response:
        """Let the run spend this much in all. A run that was paused for its limit is then to be resumed."""
        run = self.get_object()
        wanted = serializers.LimitSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        try:
            runs.limit_spending(run, wanted.validated_data["spending_cap"])
        except runs.PlanError as error:
            raise Conflict(str(error)) from error
        return Response(self.get_serializer(run).data)

    @extend_schema(responses=serializers.VerdictSerializer(many=True))
    @action(detail=True, serializer_class=serializers.VerdictSerializer)
    def verdicts(self, request: Request, slug: str, pk: int) -> Response:
        """What the judge said, with its reply."""
        related = ("response__item", "other", "question", "call")
        found = Verdict.objects.filter(run=self.get_object()).select_related(*related)
        long_texts = ("call__prompt", "response__text", "other__text", "response__item__instruction")
        page = self.paginate_queryset(found.defer(*long_texts))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


class AgreementViewSet(ProjectViewSet):
    """The live agreement of a round."""

    queryset = Round.objects.all()
    serializer_class = serializers.PanelSerializer

    @extend_schema(
        parameters=[
            OpenApiParameter("questions", enum=["all"], description="Figures of every question, not the worst.")
        ]
    )
    def retrieve(self, request: Request, slug: str, pk: int) -> Response:
        """Agreement among people, on the questions where they agree least, and of every judging run with the people."""
        round = get_object_or_404(self.project.rounds.for_labels(), pk=pk)
        panel: Any = live.panel(round, all_questions=request.query_params.get("questions") == "all")
        return Response(self.get_serializer(panel).data)

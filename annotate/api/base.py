"""What every view of the API shares: strict JSON in, pages in order out, and the access check of the project."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import exceptions, pagination, parsers, viewsets
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from annotate.access import RESEARCH, membership_of
from annotate.api.errors import in_one_shape
from annotate.models import Membership, Project, Role, User


class InOrder(pagination.CursorPagination):
    """Pages by creation: rows that come in while somebody reads neither shift nor repeat a page."""

    ordering = "pk"
    page_size_query_param = "page_size"
    max_page_size = 1000


class StrictJSONParser(parsers.JSONParser):
    """JSON without NaN, as the settings ask; nesting too deep for Python is the sender's error, not the server's."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().parse(*args, **kwargs)
        except RecursionError as error:
            raise exceptions.ParseError(_("The JSON is nested too deeply.")) from error


class MemberPermission(BasePermission):
    """401 for strangers, 404 for outsiders, 403 for members whose role is not among those of the action."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user.is_authenticated:
            return False
        project_view = cast(ProjectViewSet, view)
        roles = project_view.roles_of(project_view.action)
        project_view.membership = membership_of(request.user, view.kwargs["slug"], roles)
        return True


class ApiViewSet(viewsets.GenericViewSet[Any]):
    """A view set with the API's parser, pages and shape of errors."""

    parser_classes = (StrictJSONParser,)
    pagination_class = InOrder

    def get_exception_handler(self) -> Any:
        return in_one_shape

    @property
    def person(self) -> User:
        """The user, whom the permission has found to be logged in."""
        return cast(User, self.request.user)


class ProjectViewSet(ApiViewSet):
    """A view set beneath a project, for the roles that `roles` names for an action; else for those who research."""

    permission_classes = (MemberPermission,)
    lookup_value_converter = "int"
    roles: ClassVar[dict[str, tuple[Role, ...]]] = {}
    membership: Membership

    @classmethod
    def roles_of(cls, action: str | None) -> tuple[Role, ...]:
        return cls.roles.get(action or "", RESEARCH)

    @property
    def project(self) -> Project:
        return self.membership.project

    def get_queryset(self) -> QuerySet[Any]:
        """The rows of this project; none while the schema is being made, where there is no project."""
        if getattr(self, "swagger_fake_view", False):
            return cast(QuerySet[Any], cast(Any, type(self)).queryset.none())
        return self.rows()

    def rows(self) -> QuerySet[Any]:
        """The rows of `self.project` that may be listed and retrieved."""
        raise NotImplementedError

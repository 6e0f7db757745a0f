"""Who may do what. Every view of a project starts here: outsiders get 404, members with another role 403.

A project's pages carry its slug in the URL. The decorator looks the project up together with the reader's membership
and hands both on, so that no view can touch a project before the check.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from annotate.models import Membership, Project, Role, User
from annotate.prepared import Prepared

P = ParamSpec("P")

EVERYBODY = tuple(Role)
RESEARCH = (Role.CURATOR, Role.RESEARCHER)
CURATE = (Role.CURATOR,)
ANNOTATE = (Role.ANNOTATOR,)


class MemberRequest(HttpRequest):
    """A request that passed the access check."""

    user: User
    membership: Membership


_MEMBERSHIP = Prepared(
    lambda slug, user: Membership.objects.select_related("project").filter(project__slug=slug, user=user),
    slug=str,
    user=int,
)


def membership_of(user: Any, slug: str, roles: tuple[Role, ...]) -> Membership:
    """The user's membership of the project with this slug. Raises Http404 for outsiders, PermissionDenied for members
    whose role is not among `roles`."""
    membership = None
    if user.is_authenticated:
        membership = _MEMBERSHIP.first(slug=slug, user=user.pk)
    if membership is None:
        raise Http404(_("There is no such project, or you are not a member of it."))
    if membership.role not in roles:
        needed = get_text_list([Role(role).label.lower() for role in roles], _("or"))
        raise PermissionDenied(
            _("This page is for another role: ask a curator of the project to make you %(role)s.") % {"role": needed}
        )
    return membership


def members(
    *roles: Role,
) -> Callable[
    [Callable[Concatenate[MemberRequest, Project, P], HttpResponseBase]],
    Callable[..., HttpResponseBase],
]:
    """View decorator: turns the URL's `slug` into the project, for members in one of `roles`."""

    def decorate(
        view: Callable[Concatenate[MemberRequest, Project, P], HttpResponseBase],
    ) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def checked(request: Any, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            request.membership = membership_of(request.user, slug, roles)
            return view(request, request.membership.project, *args, **kwargs)

        checked.roles = roles  # type: ignore[attr-defined]  # read by the test that walks all URLs
        return checked

    return decorate

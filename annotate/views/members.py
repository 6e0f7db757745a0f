"""Who belongs to a project, and how people come in: invitation links."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login as log_in
from django.contrib.auth.decorators import login_not_required
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from annotate.access import CURATE, MemberRequest
from annotate.access import members as members_only
from annotate.addresses import number_in
from annotate.forms.accounts import SignUpForm
from annotate.forms.projects import RoleForm
from annotate.models import Invitation, Membership, Project, Role, User
from annotate.models.project import InvitationError, LastCurator


@sensitive_variables("token", "link")
@never_cache
@require_http_methods(["GET", "POST"])
@members_only(*CURATE)
def members(request: MemberRequest, project: Project) -> HttpResponse:
    """List the members; invite, change a role, remove. A new link is shown in the answer to its creation, and never
    again."""
    form, link = RoleForm(), ""
    if request.method == "POST" and "invite" in request.POST:
        form = RoleForm(request.POST)
        if form.is_valid():
            _invitation, token = Invitation.objects.issue(project, form.cleaned_data["role"], request.user)
            link = request.build_absolute_uri(reverse("invitation", args=[token]))
    elif request.method == "POST":
        return _change(request, project)
    return render(
        request,
        "annotate/members.html",
        {
            "project": project,
            "memberships": sorted(project.memberships.select_related("user"), key=_rank),
            "pending": project.invitations.filter(accepted_by=None, expires_at__gt=timezone.now()),
            "roles": Role.choices,
            "form": form,
            "link": link,
        },
    )


def _rank(membership: Membership) -> tuple[int, str]:
    """Curators first, annotators last."""
    return Role.values.index(membership.role), membership.user.username


def _change(request: MemberRequest, project: Project) -> HttpResponse:
    """Change the role of the member named by the form, or remove them."""
    number = number_in(request.POST.get("member", ""))
    membership = project.memberships.select_related("user").filter(pk=number).first()
    if membership is None:  # pressed twice, or a colleague was faster
        messages.info(request, _("This person is not a member any more."))
        return redirect("members", project.slug)
    try:
        if "remove" in request.POST:
            membership.end()
            messages.success(
                request,
                _("%(name)s is no longer a member. What they labelled stays.") % {"name": membership.user},
            )
            return redirect("home") if membership.user == request.user else redirect("members", project.slug)
        form = RoleForm(request.POST)
        if form.is_valid():
            membership.change_role(form.cleaned_data["role"])
            messages.success(
                request,
                _("%(name)s is now %(role)s.")
                % {"name": membership.user, "role": membership.get_role_display().lower()},
            )
        else:
            messages.error(request, _("There is no such role: choose one from the list."))
    except LastCurator as error:
        messages.error(request, str(error))
    if membership.user == request.user and membership.role != Role.CURATOR:
        return redirect("project", project.slug)
    return redirect("members", project.slug)


@require_POST
@members_only(*CURATE)
def invitation_revoke(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Take back a link that nobody has used yet."""
    get_object_or_404(project.invitations.filter(accepted_by=None), pk=pk).delete()
    messages.success(request, _("The invitation is revoked: its link works no more."))
    return redirect("members", project.slug)


@login_not_required
@sensitive_variables("token")
@sensitive_post_parameters("password1", "password2")
@never_cache
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Where an invitation link leads: join with the account one is logged in with, or with a new one."""
    found = Invitation.objects.by_token(token)
    if found is None:
        return render(request, "annotate/accounts/invitation_unusable.html", {"unknown": True}, status=404)
    if request.user.is_authenticated:
        return _join(request, found, request.user)
    if not found.usable:
        return render(request, "annotate/accounts/invitation_unusable.html", {"unknown": False}, status=410)
    return _sign_up(request, found)


def _join(request: HttpRequest, found: Invitation, user: User) -> HttpResponse:
    if found.project.role_of(user):
        messages.info(request, _("You are already a member of %(project)s.") % {"project": found.project})
        return redirect("project", found.project.slug)
    if request.method == "POST":
        try:
            return _welcome(request, found.accept(user))
        except InvitationError:
            found.refresh_from_db()
    if not found.usable:
        return render(request, "annotate/accounts/invitation_unusable.html", {"unknown": False}, status=410)
    return render(request, "annotate/accounts/invitation.html", {"invitation": found})


def _sign_up(request: HttpRequest, found: Invitation) -> HttpResponse:
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            # One transaction: no account is left behind where the invitation was used a moment earlier.
            with transaction.atomic():
                user = form.save()
                membership = found.accept(user)
        except InvitationError:
            return render(request, "annotate/accounts/invitation_unusable.html", {"unknown": False}, status=410)
        except IntegrityError:
            form.add_error("username", _("This user name is taken: choose another, or log in if it is yours."))
        else:
            log_in(request, user)
            return _welcome(request, membership)
    return render(request, "annotate/accounts/invitation.html", {"invitation": found, "form": form})


def _welcome(request: HttpRequest, membership: Membership) -> HttpResponse:
    messages.success(
        request,
        _("Welcome to %(project)s: you are %(role)s now.")
        % {"project": membership.project, "role": membership.get_role_display().lower()},
    )
    return redirect("project", membership.project.slug)

"""Logging in and out, one's password, API tokens and the theme."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST
from knox.models import AuthToken

from annotate.context import THEMES
from annotate.forms.accounts import LoginForm
from annotate.models import User

MOST_TOKENS = 20
THEME_COOKIE_AGE = 365 * 24 * 3600

login = auth.LoginView.as_view(
    template_name="annotate/accounts/login.html", authentication_form=LoginForm, redirect_authenticated_user=True
)
logout = auth.LogoutView.as_view()
password_change = auth.PasswordChangeView.as_view(template_name="annotate/accounts/password_change.html")
password_change_done = auth.PasswordChangeDoneView.as_view(template_name="annotate/accounts/password_change_done.html")


@sensitive_variables("secret")
@never_cache
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The reader's API tokens. A new one is shown in the answer to its creation, and never again."""
    mine = AuthToken.objects.filter(user=cast(User, request.user)).order_by("-created")
    secret = ""
    if request.method == "POST":
        if mine.count() >= MOST_TOKENS:
            messages.error(request, _("You have %(n)d tokens: revoke one first.") % {"n": MOST_TOKENS})
            return redirect("tokens")
        _token, secret = AuthToken.objects.create(user=request.user)  # type: ignore[no-untyped-call]
    return render(request, "annotate/accounts/tokens.html", {"tokens": mine, "secret": secret})


@require_POST
def token_delete(request: HttpRequest, key: str) -> HttpResponse:
    """Revoke one of the reader's own tokens, named by its public first characters."""
    token = get_object_or_404(AuthToken, user=cast(User, request.user), token_key=key)
    token.delete()
    messages.success(request, _("The token is revoked: programs that use it are refused from now on."))
    return redirect("tokens")


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember light or dark; anything else means what the system says."""
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure()):
        back = settings.LOGIN_REDIRECT_URL
    response = redirect(back)
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            "theme", chosen, max_age=THEME_COOKIE_AGE, samesite="Lax", secure=settings.HTTPS, httponly=True
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response

"""Logging in and out, one's password, API tokens and keys, and theme and language of the pages."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST
from knox.models import AuthToken

from annotate.context import THEMES
from annotate.forms.accounts import LoginForm, NewPasswordForm
from annotate.forms.keys import KeysForm
from annotate.models import User

MOST_TOKENS = 20
CHOICE_COOKIE_AGE = 365 * 24 * 3600


class LoginView(auth.LoginView):
    """Whoever chose a language on another machine finds it again here."""

    template_name = "annotate/accounts/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        chosen = form.get_user().language
        if chosen:
            _keep_language(response, chosen)
        return response


login = LoginView.as_view()
logout = auth.LogoutView.as_view()
password_change = auth.PasswordChangeView.as_view(
    template_name="annotate/accounts/password_change.html", form_class=NewPasswordForm
)
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


@never_cache
@require_http_methods(["GET", "POST"])
def keys(request: HttpRequest) -> HttpResponse:
    """The reader's keys on the annotation screen: other ones, none, or (`reset`) those of the table again."""
    user = cast(User, request.user)
    form = KeysForm(user.keys, request.POST if request.method == "POST" else None)
    if form.is_bound and ("reset" in request.POST or form.is_valid()):
        User.objects.filter(pk=user.pk).update(keys={} if "reset" in request.POST else form.stored)
        messages.success(request, _("Your keys are saved: they hold from the next task that you open."))
        return redirect("keys")
    return render(request, "annotate/accounts/keys.html", {"form": form}, status=400 if form.is_bound else 200)


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember light or dark; anything else means what the system says."""
    response = _back(request)
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            "theme", chosen, max_age=CHOICE_COOKIE_AGE, samesite="Lax", secure=settings.HTTPS, httponly=True
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response


@login_not_required
@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Remember the language of the pages: in this browser, and of somebody who is logged in for the next login too."""
    response = _back(request)
    chosen = request.POST.get("language", "")
    if chosen in dict(settings.LANGUAGES):
        _keep_language(response, chosen)
        if request.user.is_authenticated:
            User.objects.filter(pk=request.user.pk).update(language=chosen)
    return response


def _keep_language(response: HttpResponse, code: str) -> None:
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        code,
        max_age=CHOICE_COOKIE_AGE,
        samesite="Lax",
        secure=settings.HTTPS,
        httponly=True,
    )


def _back(request: HttpRequest) -> HttpResponse:
    """To the page that the form was on, never to another host."""
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure()):
        back = resolve_url(settings.LOGIN_REDIRECT_URL)
    return HttpResponseRedirect(back)

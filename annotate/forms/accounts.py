from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.forms import (
    AuthenticationForm,
    BaseUserCreationForm,
    PasswordChangeForm,
    SetPasswordMixin,
    UsernameField,
)
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from annotate import throttle
from annotate.models import User


class LoginForm(AuthenticationForm):
    """User name and password, throttled. Every refusal says the same, whether the name exists or not."""

    error_messages = {
        "invalid_login": _("User name and password do not match: check both, and mind capital letters."),
        "inactive": _("User name and password do not match: check both, and mind capital letters."),
        "throttled": _("Too many failed attempts: wait a quarter of an hour, then try again."),
    }

    def clean(self) -> dict[str, Any]:
        username, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not username or not password or self.request is None:
            return super().clean()
        address = throttle.address_of(self.request)
        if not throttle.take_attempt(username, address):
            raise ValidationError(self.error_messages["throttled"], code="throttled")
        cleaned = super().clean()
        throttle.forget_attempts(username, address)
        return cleaned


class FirstPasswordMixin(SetPasswordMixin):  # type: ignore[type-arg]  # not generic at run time
    """What is wrong with a password stands under the field where it was thought up, not under its repetition."""

    def validate_password_for_user(
        self,
        user: AbstractBaseUser,
        password_field_name: str = "password2",  # noqa: S107 - the name of a field
    ) -> None:
        super().validate_password_for_user(user, password_field_name.replace("2", "1"))


class NewPasswordForm(FirstPasswordMixin, PasswordChangeForm):
    """A new password for somebody who knows the old one."""


class SignUpForm(FirstPasswordMixin, BaseUserCreationForm[User]):
    """A new account, for somebody who holds an invitation."""

    first_name = forms.CharField(
        label=_("Name"),
        max_length=150,
        required=False,
        help_text=_("How the other members see you. Your user name where you leave it empty."),
    )

    class Meta:
        model = User
        fields = ("username", "first_name")
        field_classes = {"username": UsernameField}
        help_texts = {"username": _("What you log in with: letters, digits and @ . + - _")}

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        # "Ann" and "ann" would be taken for one person by everybody but the database.
        if User.objects.filter(username__iexact=username).exists():
            raise ValidationError(_("This user name is taken: choose another, or log in if it is yours."))
        return username

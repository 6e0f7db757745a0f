"""Who sends a request: the session and its person, which every request reads, by statements that are built once.

They do what Django's own do, which stay the ones that write.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotate.models import User
from annotate.prepared import Prepared

_SESSION = Prepared(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now), key=str, now=datetime.datetime
)
_PERSON = Prepared(lambda pk: User.objects.filter(pk=pk), pk=int)


class SessionStore(db.SessionStore):
    """Sessions in the database."""

    def _get_session_from_db(self) -> Session | None:
        key = self.session_key or ""
        found = _SESSION.first(key=key, now=timezone.now()) if key.isascii() and key.isalnum() else None
        if found is None:
            self._session_key = None
        return found


class Backend(ModelBackend):
    """People with their passwords, as Django keeps them."""

    def get_user(self, user_id: Any) -> User | None:
        found = _PERSON.first(pk=int(user_id))
        return found if found is not None and self.user_can_authenticate(found) else None

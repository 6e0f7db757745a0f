"""Is the process up, and is it of use? For load balancers and monitors, which do not log in."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from judging.models import Heartbeat

OK = "ok"


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The web process answers. Touches nothing else, so that a slow database gets no process killed."""
    return JsonResponse({"status": OK})


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when everything that the site needs is there, otherwise 503; each check in words, without any secret."""
    checks = {"database": _database(), "migrations": "not checked", "worker": "not checked"}
    if checks["database"] == OK:
        checks["migrations"] = _migrations()
    if checks["migrations"] == OK:
        checks["worker"] = _worker()
    ready = all(words == OK for words in checks.values())
    return JsonResponse({"status": OK if ready else "not ready", "checks": checks}, status=200 if ready else 503)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "the database cannot be reached"
    return OK


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    waiting = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    return f"{waiting} migrations are not applied: run manage.py migrate" if waiting else OK


def _worker() -> str:
    return OK if Heartbeat.alive() else "no worker has shown a sign of life: start a Celery worker and beat"

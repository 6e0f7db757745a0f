"""A real server on a database file of its own, killed in the middle of saves: all that was typed is stored at last."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Route, expect

from tests.browser.annotating import press, saved
from tests.browser.conftest import Visit, keys_ready

ROOT = Path(__file__).parents[2]
WORLD = """
import json, django
django.setup()
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
settings.MIGRATION_MODULES = {app.label: None for app in apps.get_app_configs()}
call_command("migrate", run_syncdb=True, verbosity=0)
from django.test import Client
from annotate.models import Role
from tests import build
project = build.project("garden")
ann = build.member(project, Role.ANNOTATOR, "ann")
build.item(project, systems=("Aster",))
client = Client()
client.force_login(ann)
print(json.dumps({"round": build.round(project, overlap=1).pk, "session": client.session.session_key}))
"""
AGAIN = "dispatchEvent(new Event('online'))"  # which the page does by itself after some seconds


class Server:
    """gunicorn, as docs/operations.md starts it; Ann has a round of one task there."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.database = folder / "own.sqlite3"
        mine = {"CONCORD_VAR_DIR": str(folder), "DATABASE_URL": f"sqlite:///{self.database}", "DEBUG": "true"}
        self.environment = os.environ | mine | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        command = [sys.executable, "-c", WORLD]
        made = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=True)
        self.world = json.loads(made.stdout.splitlines()[-1])
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", self.address, "--log-level", "error"]
        command += ["--worker-class", "gthread", "--threads", "8"]
        self.process = subprocess.Popen(command, cwd=ROOT, env=self.environment, start_new_session=True)
        while True:
            try:
                urllib.request.urlopen(f"http://{self.address}/accounts/login/").close()
                return
            except OSError:
                assert self.process.poll() is None, "the server did not start"
                time.sleep(0.05)

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stored(self) -> list[tuple[str, str]]:
        """State and comment of every annotation."""
        with closing(sqlite3.connect(self.database)) as database:
            return database.execute("SELECT state, comment FROM annotate_annotation").fetchall()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Somebody else writes into the database: whoever saves waits."""
        with closing(sqlite3.connect(self.database, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.kill()


def test_a_server_that_is_killed_while_it_saves_loses_nothing(visit: Visit, server: Server) -> None:
    page = visit()
    session = {
        "name": settings.SESSION_COOKIE_NAME,
        "value": server.world["session"],
        "url": f"http://{server.address}",
    }
    page.context.add_cookies([session])  # type: ignore[list-item]
    page.goto(f"http://{server.address}/projects/garden/rounds/{server.world['round']}/annotate/")
    keys_ready(page)
    comment, state = page.get_by_label("Comment"), page.locator("#save-state")
    comment.fill("one")
    saved(page)

    with server.busy():
        with page.expect_request("**/save/"):
            comment.fill("one two")
        server.kill()
    expect(state).to_contain_text("the server is silent")
    assert server.stored() == [("draft", "one")]
    comment.fill("one two three")
    server.start()
    page.evaluate(AGAIN)
    saved(page)
    assert server.stored() == [("draft", "one two three")]

    def die(route: Route) -> None:
        route.fetch()
        server.kill()
        route.abort()

    page.route("**/save/", die, times=1)
    comment.fill("four")
    expect(state).to_contain_text("the server is silent")
    assert server.stored() == [("draft", "four")]
    page.route("**/save/", lambda route: route.abort())
    comment.fill("four five")
    server.start()
    page.reload()
    keys_ready(page)
    expect(comment).to_have_value("four five")
    page.unroute("**/save/")
    page.evaluate(AGAIN)
    saved(page)
    assert server.stored() == [("draft", "four five")]

    page.route("**/save/", die, times=1)
    press(page, "4", "Control+Enter")
    expect(state).to_contain_text("the server is silent")
    assert server.stored() == [("submitted", "four five")]
    server.start()
    page.evaluate(AGAIN)
    expect(page.get_by_text("You have done everything in this round")).to_be_visible()
    assert server.stored() == [("submitted", "four five")]

"""`make demo`: web, worker, beat and the packaged model in one terminal."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import urllib.request
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from honcho.manager import Manager

from annotate.models import Project
from annotate.sample.load import PEOPLE, SLUG, load
from judging import demo, ports

PASSWORD = "concord-demo"  # noqa: S105  (of a demo that listens on this machine alone)


class Command(BaseCommand):
    help = "Start the demo: web, worker, beat and the packaged model, with the sample project."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("Start the demo with `make demo`: it sets what a demo needs.")
        for port, variable in ((settings.PORT, "CONCORD_PORT"), (settings.MODEL_PORT, "CONCORD_MODEL_PORT")):
            if problem := ports.problem_with(port):
                raise CommandError(
                    f"{problem}: stop the program that has it, or run `{variable}={port + 1} make demo`."
                )
        call_command("migrate", verbosity=0)
        self.stdout.write("Loading the sample project (a few seconds, the first time only) ...")
        load(PASSWORD)
        demo.set_up(Project.objects.get(slug=SLUG))
        manager = Manager()
        for name, command in processes().items():
            manager.add_process(name, command, env={**os.environ, "PYTHONUNBUFFERED": "1"})
        stopped = threading.Event()
        threading.Thread(target=announce, args=(stopped,), daemon=True).start()
        # A closed terminal ends the demo like Ctrl-C does.
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        manager.loop()
        stopped.set()
        self.stdout.write("Stopped. `make demo` continues with the same data.")
        sys.exit(0 if manager.returncode in {0, -signal.SIGINT, -signal.SIGTERM, 130, 143} else manager.returncode)


def processes() -> dict[str, str]:
    """Name and shell command of what runs side by side. All but the web server are started again when they die."""
    python = shlex.quote(sys.executable)
    celery = f"{python} -m celery -A config --quiet"
    return {
        "web": f"{python} -m gunicorn config.wsgi --bind 127.0.0.1:{settings.PORT} --worker-class gthread --threads 8"
        " --log-level warning",
        "worker": again(f"{celery} worker --loglevel WARNING --concurrency 2 --without-gossip --without-mingle"),
        "beat": again(f"{celery} beat --loglevel WARNING"),
        "model": again(f"{python} manage.py serve_model --port {settings.MODEL_PORT}"),
    }


def again(command: str) -> str:
    """A shell loop around `command` that starts it again a second after it died."""
    return f"while true; do {command}; echo 'stopped; starting it again'; sleep 1; done"


def announce(stopped: threading.Event) -> None:
    """Print the address and the logins as soon as the web server answers."""
    address = f"http://127.0.0.1:{settings.PORT}/"
    while not stopped.wait(0.3):
        try:
            urllib.request.urlopen(f"{address}healthz", timeout=2).close()  # noqa: S310  (our own address)
        except OSError:
            continue
        lines = [f"Concord is ready: {address}", "", f"  {'user':<12} {'password':<14} role"]
        lines += [f"  {username:<12} {PASSWORD:<14} {role.label.lower()}" for username, role, _ in PEOPLE]
        lines += ["", "Ctrl-C stops everything; `make demo` continues with the same data."]
        sys.stdout.write("\n" + "\n".join(lines) + "\n\n")
        sys.stdout.flush()
        return

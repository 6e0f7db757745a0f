"""Serve the packaged model in the foreground."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from judging import local_model


class Command(BaseCommand):
    help = "Serve the packaged language model as an OpenAI-compatible endpoint on 127.0.0.1 until Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=settings.MODEL_PORT, help="default: CONCORD_MODEL_PORT")

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())

        def ready(base_url: str) -> None:
            self.stdout.write(f"The packaged model ({local_model.NAME}) answers at {base_url}")
            self.stdout.flush()

        try:
            local_model.serve(port, ready, stop.wait)
        except local_model.ModelUnavailable as error:
            raise CommandError(str(error)) from error
        self.stdout.write("The packaged model has stopped.")

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from annotate.sample.load import SLUG, load


class Command(BaseCommand):
    help = "Load the sample project with its people, rounds and simulated labels (once)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--password", required=True, help="the password of its five people")

    def handle(self, *args: Any, **options: Any) -> None:
        made = load(options["password"])
        self.stdout.write(f"Loaded the project {SLUG!r}." if made else f"The project {SLUG!r} is already there.")

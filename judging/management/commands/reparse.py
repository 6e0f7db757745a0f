"""Stored replies of a run, read again with the readers of today, without a call."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.models import Run
from judging.rereading import reread
from judging.runs import PlanError

REFUSED = 2


class Command(BaseCommand):
    help = (
        "Read the stored replies of a judging run again with today's readers, without asking anybody, and say what "
        "changed. Prompts and replies stay as they are. The exit code is 2 where the run cannot be read again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", type=int, help="the number of the run, as on its page")
        parser.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        number, dry_run = options["run"], options["dry_run"]
        run = Run.objects.select_related("judge", "project", "round").filter(pk=number).first()
        if run is None:
            raise CommandError(
                f"There is no run {number}: its number is in the address of its page.", returncode=REFUSED
            )
        try:
            found = reread(run, dry_run=dry_run)
        except PlanError as error:
            raise CommandError(str(error), returncode=REFUSED) from error
        self.stdout.write(f"{run}: {found.replies:,} replies were read again.")
        for (before, now), number in found.changed.most_common():
            self.stdout.write(f"  {before} -> {now}: {number:,}")
        if not found.changed:
            self.stdout.write("Nothing changes." if dry_run else "Nothing changed.")
        if found.waiting:
            self.stdout.write(
                f"Left as they were, because they need a second call that has no reply: {found.waiting:,}."
            )
        for reason, number in found.refused.most_common():
            self.stdout.write(f"Left as they were ({number:,}): {reason}")
        if dry_run and found.changed:
            self.stdout.write("Nothing was stored: leave out --dry-run to store it.")

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotate.models import Round
from judging import recount


class Command(BaseCommand):
    help = "Compare the live agreement of rounds with their raw labels; exit code 1 where they differ."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("round", nargs="*", type=int, help="the numbers of rounds; all where none is named")
        parser.add_argument("--repair", action="store_true", help="count anew where something differs")

    def handle(self, *args: Any, **options: Any) -> None:
        rounds = Round.objects.for_labels().exclude(state=Round.State.DRAFT).order_by("pk")
        if options["round"]:
            known = set(rounds.values_list("pk", flat=True))
            for pk in options["round"]:
                if pk not in known:
                    raise CommandError(f"There is no round {pk} that was ever opened for labels.", returncode=2)
            rounds = rounds.filter(pk__in=options["round"])
        wrong = 0
        for round in rounds:
            differences = recount.audit(round)
            for difference in differences:
                self.stdout.write(f"Round {round.pk}, {difference}")
            wrong += bool(differences)
            if differences and options["repair"]:
                recount.rebuild(round)
                self.stdout.write(f"Round {round.pk} was counted anew.")
        if not wrong:
            self.stdout.write(f"{rounds.count():,} rounds: the live agreement equals the labels.")
        elif not options["repair"]:
            raise CommandError(f"{wrong:,} rounds differ: run this command again with --repair.", returncode=1)

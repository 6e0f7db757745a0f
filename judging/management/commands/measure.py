"""Agreement of anybody's data, from a file, without a server or a database."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.measuring.kind import Kind
from judging.measuring.kinds import KINDS
from judging.measuring.output import as_json, as_text
from judging.measuring.problems import BadInput
from judging.measuring.reading import Sheet

REFUSED = 2


class KindParser(CommandParser):
    """Says what is wrong with the options of a kind in one sentence, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        sentence = f"{message[:1].upper()}{message[1:]}."
        if self.called_from_command_line:
            self.exit(REFUSED, f"{sentence} See {self.prog} --help.\n")
        raise CommandError(sentence, returncode=REFUSED)


class Command(BaseCommand):
    help = (
        "Measure agreement in a long CSV or JSONL file (docs/measure.md): `measure KIND --help` names the columns "
        "and options of a kind. Needs no server, no settings and no database. Where the file breaks a rule, one "
        "sentence names the line, nothing is printed, and the exit code is 2."
    )
    requires_system_checks = []
    requires_migrations_checks = False
    suppressed_base_arguments = {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
        "--skip-checks",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True, parser_class=KindParser)
        for kind in KINDS.values():
            part = kinds.add_parser(
                kind.name,
                help=kind.title,
                description=_description(kind),
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            part.add_argument("file", type=Path, metavar="FILE", help="a long table as .csv, .tsv or .jsonl, in UTF-8")
            kind.add_options(part)
            part.add_argument(
                "--column",
                action="append",
                default=[],
                metavar="NAME=HEADER",
                help="read the column NAME under another header, such as value=score; may be repeated",
            )
            part.add_argument("--json", action="store_true", help="print one JSON object with every number in full")

    def handle(self, *args: Any, **options: Any) -> None:
        kind = KINDS[options["kind"]]
        try:
            sheet = Sheet(options["file"], _renamed(kind, options["column"]))
            outcome = kind.measure(sheet, argparse.Namespace(**options))
        except BadInput as problem:
            raise CommandError(str(problem), returncode=REFUSED) from problem
        if options["json"]:
            self.stdout.write(as_json(kind, outcome, options.get("replicates")))
        else:
            self.stdout.write(as_text(kind, outcome, str(options["file"])))


def _description(kind: Kind) -> str:
    width = max(len(column.name) for column in kind.columns)
    lines = [
        f"  {column.name.ljust(width)}  {column.meaning}{'' if column.required else ' (optional)'}"
        for column in kind.columns
    ]
    return "\n".join(
        [f"{kind.title}.", "", "Columns, one label a row, others are ignored:", *lines, kind.notes]
    ).rstrip()


def _renamed(kind: Kind, pairs: list[str]) -> dict[str, str]:
    known = [name.strip() for column in kind.columns for name in column.name.split(",")]
    renamed = {}
    for pair in pairs:
        name, _, header = pair.partition("=")
        if name not in known or not header:
            raise BadInput(f"--column: write NAME=HEADER with a NAME out of {', '.join(known)}, not {pair!r}.")
        renamed[name] = header
    return renamed

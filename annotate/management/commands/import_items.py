from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotate.importing.load import ImportRefused, commit, preview
from annotate.models import Project, Role, User

REFUSED = 2


class Command(BaseCommand):
    help = (
        "Import items, responses and checklists from a .jsonl or .csv file into a project "
        "(docs/import-format.md). All or nothing: where anything in the file is wrong, the rows are named "
        "and nothing is imported; the exit code is then 2."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", help="the project's short name, as in its address")
        parser.add_argument("file", type=Path, help="a .jsonl or .csv file")
        parser.add_argument("--dry-run", action="store_true", help="check the file and import nothing")
        parser.add_argument("--user", help="a curator of the project, who imports and approves")

    def handle(self, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise _refused(f"There is no project {options['project']!r}: check its short name.")
        user = _curator(project, options["user"]) if options["user"] else None
        path: Path = options["file"]
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _refused(f"{path} cannot be read: {error.strerror}.") from error
        if options["dry_run"]:
            seen = preview(project, path.name, content)
            if seen.errors:
                raise _refused(*seen.errors)
            self.stdout.write(f"The file would import {seen.counts} into {project.slug}.")
            return
        try:
            counts = commit(project, path.name, content, user)
        except ImportRefused as error:
            raise _refused(*error.errors) from error
        self.stdout.write(f"Imported {counts} into {project.slug}.")


def _curator(project: Project, username: str) -> User:
    user = User.objects.filter(username=username).first()
    if user is None or project.role_of(user) != Role.CURATOR:
        raise _refused(f"{username!r} is not a curator of the project {project.slug}: name one who is.")
    return user


def _refused(*sentences: str) -> CommandError:
    return CommandError("\n".join(sentences), returncode=REFUSED)

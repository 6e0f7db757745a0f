"""From a file to items, responses and checklists of a project: all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.importing.formats import quoted, read
from annotate.importing.problems import Problems
from annotate.importing.schema import ItemRow, read_items
from annotate.models import Checklist, Item, Project, Question, Response, User

SAMPLE_SIZE = 5
BATCH = 500


@dataclass(frozen=True)
class Counts:
    """How much a file brings in. `approved` of the `checklists` come approved, the others as drafts."""

    items: int
    responses: int
    checklists: int
    approved: int

    @classmethod
    def of(cls, rows: Sequence[ItemRow]) -> Counts:
        checklists = [row.checklist for row in rows if row.checklist]
        return cls(
            items=len(rows),
            responses=sum(len(row.responses) for row in rows),
            checklists=len(checklists),
            approved=sum(checklist.approved for checklist in checklists),
        )

    def __str__(self) -> str:
        counts = {
            "items": ngettext("%(n)s item", "%(n)s items", self.items) % {"n": f"{self.items:,}"},
            "responses": ngettext("%(n)s response", "%(n)s responses", self.responses) % {"n": f"{self.responses:,}"},
            "checklists": ngettext(
                "%(n)s checklist (%(approved)s approved)", "%(n)s checklists (%(approved)s approved)", self.checklists
            )
            % {"n": f"{self.checklists:,}", "approved": f"{self.approved:,}"},
        }
        if self.checklists:
            return _("%(items)s, %(responses)s and %(checklists)s") % counts
        return _("%(items)s and %(responses)s") % counts


@dataclass(frozen=True)
class Preview:
    """What an import would do. With `errors` (sentences with row numbers) it would do nothing."""

    counts: Counts
    errors: Sequence[str]
    sample: Sequence[ItemRow]  # the first rows that could be read


class ImportRefused(Exception):
    """Nothing was imported; `errors` says why, in sentences with row numbers."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__(" ".join(errors))
        self.errors = errors


def preview(project: Project, filename: str, content: bytes) -> Preview:
    """Read and check a file against its format and against the project, and change nothing."""
    rows, problems = _read(project, filename, content)
    return Preview(Counts.of(rows), problems.sentences(), rows[:SAMPLE_SIZE])


def commit(project: Project, filename: str, content: bytes, user: User | None = None) -> Counts:
    """Import a file in one transaction, checked anew. Checklists that come approved are approved by `user`.

    Raises ImportRefused when anything in the file is wrong.
    """
    try:
        with transaction.atomic():
            # Imports into one project go one after the other: the second one sees the items of the first.
            Project.objects.select_for_update().get(pk=project.pk)
            rows, problems = _read(project, filename, content)
            if problems:
                raise ImportRefused(problems.sentences())
            for batch in _batches(rows):
                _store(project, batch, user)
    except IntegrityError as error:  # an item with one of these ids came in by another door at this moment
        raise ImportRefused([_("The project changed meanwhile, so nothing was imported: try again.")]) from error
    return Counts.of(rows)


def _read(project: Project, filename: str, content: bytes) -> tuple[list[ItemRow], Problems]:
    problems = Problems()
    rows = read_items(read(filename, content, problems), problems)
    for batch in _batches(rows):
        taken = set(
            project.items.filter(external_id__in=[row.external_id for row in batch]).values_list(
                "external_id", flat=True
            )
        )
        for row in batch:
            if row.external_id in taken:
                problems.add(
                    row.row,
                    _("the external_id %(id)s is in the project already: remove the row.")
                    % {"id": quoted(row.external_id)},
                )
    return rows, problems


def _store(project: Project, rows: Sequence[ItemRow], user: User | None) -> None:
    items = Item.objects.bulk_create(
        Item(
            project=project,
            external_id=row.external_id,
            instruction=row.instruction,
            history=row.history,
            reference=row.reference,
            category=row.category,
            language=row.language,
            metadata=row.metadata,
        )
        for row in rows
    )
    pairs = list(zip(items, rows, strict=True))
    Response.objects.bulk_create(
        (
            Response(item=item, system=response.system, text=response.text)
            for item, row in pairs
            for response in row.responses
        ),
        batch_size=BATCH,
    )
    # The items are new, so version 1 is free without the lock that `Checklist.write` takes item by item.
    written = [(item, row.checklist) for item, row in pairs if row.checklist]
    checklists = Checklist.objects.bulk_create(
        Checklist(
            item=item,
            version=1,
            policy=row.policy,
            created_by=user,
            state=Checklist.State.APPROVED if row.approved else Checklist.State.DRAFT,
            approved_by=user if row.approved else None,
            approved_at=timezone.now() if row.approved else None,
        )
        for item, row in written
    )
    Question.objects.bulk_create(
        (
            Question(checklist=checklist, position=position, text=text)
            for checklist, (_item, row) in zip(checklists, written, strict=True)
            for position, text in enumerate(row.questions, start=1)
        ),
        batch_size=BATCH,
    )


def _batches(rows: Sequence[ItemRow]) -> Iterator[list[ItemRow]]:
    """Groups of `BATCH` rows: what one query can name."""
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        yield batch

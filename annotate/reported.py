"""What annotators reported as wrong about checklists, for the people who mend them: without names."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from annotate.contents import CHECKLIST
from annotate.models import Annotation, Checklist, Project, Question


class Report(NamedTuple):
    """One question (or None for the checklist as a whole) that was reported `n` times, with the notes that say why."""

    checklist: Checklist
    question: Question | None
    n: int
    notes: list[str]


def reports_of(project: Project) -> list[Report]:
    """Everything that submitted labels report, the most often reported first. Three queries."""
    notes: dict[tuple[int, int | None], list[str]] = defaultdict(list)
    submitted = Annotation.objects.filter(task__round__project=project, state=Annotation.State.SUBMITTED)
    flagged = submitted.exclude(flags={}).filter(task__checklist__isnull=False).order_by("pk")
    for checklist, flags in flagged.values_list("task__checklist", "flags"):
        for name, note in flags.items():
            notes[checklist, None if name == CHECKLIST else int(name)].append(note.strip())
    checklists = Checklist.objects.select_related("item").in_bulk({checklist for checklist, _question in notes})
    questions = Question.objects.in_bulk({question for _checklist, question in notes if question is not None})
    found = [
        Report(checklists[pk], questions[question] if question else None, len(said), [note for note in said if note])
        for (pk, question), said in notes.items()
    ]
    return sorted(found, key=lambda report: (-report.n, report.checklist.pk, report.question is not None))

"""Runs, calls and verdicts as rows, without planning or asking anybody."""

from __future__ import annotations

from typing import Any

from annotate.models import Response, Round
from judging import recount
from judging.models import Call, Judge, Run, Verdict
from tests import build


def run_of(round: Round, method: str = "tick", judge: Judge | None = None, **fields: Any) -> Run:
    """A running run of this judge, or a new one, on this round."""
    judge = judge or build.judge(round.project)
    return Run.objects.create(
        project=round.project, judge=judge, method=method, round=round, prompt_version="v", **fields
    )


def call(run: Run, response: Response, **fields: Any) -> Call:
    fields.setdefault("state", "done")
    if fields.get("question"):
        fields.setdefault("checklist", fields["question"].checklist)
    position = run.calls.count() + 1
    made = Call.objects.create(run=run, position=position, item=response.item, response=response, **fields)
    recount.rebuild_run(run)
    return made


def verdict(run: Run, response: Response, state: str, *, repeat: int = 1, **fields: Any) -> Verdict:
    about = {name: fields[name] for name in ("question", "dimension") if name in fields}
    asked = call(run, response, **about, repeat=repeat)
    made = Verdict.objects.create(run=run, call=asked, response=response, state=state, repeat=repeat, **fields)
    recount.rebuild_run(run)
    return made

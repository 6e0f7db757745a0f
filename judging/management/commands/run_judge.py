"""A run of a judge, planned, estimated and carried out in the terminal."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from annotate.models import Project, Round
from judging import foreground, runs
from judging.estimate import Estimate, Plan, plan_of
from judging.models import Judge, Run
from judging.protocols import PROTOCOLS
from judging.templatetags.runs import dollars, duration

INCOMPLETE, REFUSED = 1, 2
BAR_SECONDS, LINE_SECONDS = 0.5, 10.0
PINNED = "pinned"
PAUSING = b"\nPausing: what is under way is still stored. Press Ctrl-C again to leave at once.\n"
LEAVING = b"\nLeft at once: what was under way is asked again by whoever goes on with the run.\n"


class Command(BaseCommand):
    help = (
        "Have judges judge a round, or items by a filter, in this terminal: the number of calls and the cost are shown "
        "first, and nothing is sent before it is agreed to. Ctrl-C pauses the run. The exit code is 0 where every call "
        "was answered, 1 where some failed or the run was paused, 2 where it was refused."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", help="the project's short name, as in its address")
        parser.add_argument("--judge", action="append", default=[], metavar="NAME", help="may be repeated")
        parser.add_argument("--protocol", default="", help=", ".join(PROTOCOLS))
        parser.add_argument("--round", metavar="NAME", help="judge the units of this round; without it, items")
        parser.add_argument("--category", default="", help="of the items, only this category")
        parser.add_argument("--language", default="", help="of the items, only this language")
        parser.add_argument("--sample", type=int, metavar="N", help="at most so many of the items, drawn by the seed")
        parser.add_argument("--repeats", type=int, default=1, metavar="N", help="ask everything so many times")
        parser.add_argument(
            "--checklists",
            default=PINNED,
            metavar="WHICH",
            help=f"{PINNED} by the round (the default), {Run.NEWEST_CHECKLIST} approved, or the name of a policy",
        )
        parser.add_argument("--short", action="store_true", help="ask for the verdict alone, without reasons first")
        parser.add_argument("--cap", type=_dollars, metavar="USD", help="let each run spend at most this much")
        parser.add_argument("--dry-run", action="store_true", help="show the plan and the first prompt, send nothing")
        parser.add_argument("--yes", action="store_true", help="start without asking")
        parser.add_argument("--resume", type=int, metavar="RUN", help="go on with this run; --cap raises its limit")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise _refused(f"There is no project {options['project']!r}: check its short name.")
        try:
            started = [_resumed(project, options)] if options["resume"] else self._planned(project, options)
        except runs.PlanError as error:
            raise _refused(str(error)) from error
        self._carry_out(project, started)

    def _planned(self, project: Project, options: dict[str, Any]) -> list[Run]:
        """The runs that were agreed to; none in a dry run."""
        if not options["judge"] or not options["protocol"]:
            raise _refused("Name a judge and a protocol: --judge NAME --protocol tick.")
        drafts = runs.draft_panel(
            project,
            [_judge(project, name) for name in dict.fromkeys(options["judge"])],
            options["protocol"],
            _round(project, options["round"]) if options["round"] else None,
            category=options["category"],
            language=options["language"],
            sample_size=options["sample"],
            checklist_policy="" if options["checklists"] == PINNED else options["checklists"],
            repeats=options["repeats"],
            analysis=not options["short"],
            spending_cap=options["cap"],
        )
        plan = plan_of(drafts)
        self._show(plan)
        if options["dry_run"]:
            self._show_prompt(plan)
            return []
        if not options["yes"]:
            _ask(f"Send {_calls(plan.all_calls)}? [y/N] ")
        return runs.start_panel(drafts)

    def _show(self, plan: Plan) -> None:
        units = f"{plan.units:,} unit{'s' if plan.units > 1 else ''}"
        each = " to each judge" if len(plan.estimates) > 1 else ""
        self.stdout.write(f"{_calls(plan.calls)}{each} about {units}.")
        for sentence in plan.left_out:
            self.stdout.write(sentence)
        for estimate in plan.estimates:
            self.stdout.write(f"\n{estimate.run.judge}: {_estimated(estimate)}")
            for sentence in estimate.assumptions:
                self.stdout.write(f"  {sentence}")
        self.stdout.write("")

    def _show_prompt(self, plan: Plan) -> None:
        self.stdout.write("The first prompt:")
        for message in plan.prompt:
            self.stdout.write(f"\n[{message['role']}]\n{message['content']}")
        self.stdout.write("\nNothing was sent: leave out --dry-run to start.")

    def _carry_out(self, project: Project, started: list[Run]) -> None:
        stop = threading.Event()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def pause(number: int, frame: Any) -> None:
            # Streams cannot be written to in the middle of being written to; and nobody can wait for threads here.
            os.write(2, LEAVING if stop.is_set() else PAUSING)
            if stop.is_set():
                os._exit(INCOMPLETE)
            stop.set()

        for number in before:
            signal.signal(number, pause)
        try:
            for run in started:
                if stop.is_set():
                    runs.pause(run, foreground.BY_HAND)
                self._work(run, stop)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        self._sum_up(project, started)

    def _work(self, run: Run, stop: threading.Event) -> None:
        self.stdout.write(f"{run}")
        if not sys.stderr.isatty():
            foreground.carry_out(run, stop, self._write_line, LINE_SECONDS)
            return
        with tqdm(total=run.progress()["total"], unit=" calls", dynamic_ncols=True) as bar:

            def draw(seen: Run) -> None:
                counts = seen.progress()
                bar.total, bar.n = counts["total"], counts["done"] + counts["failed"]
                bar.set_postfix_str(f"{counts['failed']:,} failed, {dollars(seen.cost())}")

            foreground.carry_out(run, stop, draw, BAR_SECONDS)

    def _write_line(self, run: Run) -> None:
        counts = run.progress()
        ended = counts["done"] + counts["failed"]
        self.stdout.write(f"{ended:,} of {_calls(counts['total'])}, {counts['failed']:,} failed, {dollars(run.cost())}")

    def _sum_up(self, project: Project, started: list[Run]) -> None:
        complete = True
        for run in started:
            run.refresh_from_db()
            self.stdout.write(f"{run}: {runs.summary(run)}; {dollars(run.cost())}.")
            failures = runs.failures(run)
            for reason, number in failures:
                self.stdout.write(f"  {number:,} × {reason}")
            if run.state == Run.State.PAUSED:
                self.stdout.write(f"It is paused. {run.pause_reason}")
                self.stdout.write(f"To go on: manage.py run_judge {project.slug} --resume {run.pk}")
            complete = complete and run.state == Run.State.FINISHED and not failures
        if not complete:
            raise CommandError("Not every call was answered.", returncode=INCOMPLETE)


def _resumed(project: Project, options: dict[str, Any]) -> Run:
    """A run that goes on: a paused one, or a running one that nobody works at. Raises PlanError."""
    run = Run.objects.select_related("judge").filter(project=project, pk=options["resume"]).first()
    if run is None:
        raise _refused(
            f"There is no run {options['resume']} in {project.slug}: its number is in the address of its page."
        )
    if options["cap"] is not None:
        runs.limit_spending(run, options["cap"])
    if run.state != Run.State.RUNNING and not runs.resume(run):
        raise _refused(f"Run {run.pk} is {run.state}: only a paused run can go on.")
    return run


def _judge(project: Project, name: str) -> Judge:
    judges = Judge.objects.filter(project=project, archived=False)
    judge = judges.filter(name=name).first()
    if judge is None:
        names = ", ".join(judges.values_list("name", flat=True)) or "none yet"
        raise _refused(f"There is no judge {name!r} in {project.slug}: choose from {names}.")
    return judge


def _round(project: Project, name: str) -> Round:
    round = Round.objects.filter(project=project, name=name).first()
    if round is None:
        names = ", ".join(project.rounds.for_labels().values_list("name", flat=True)) or "none yet"
        raise _refused(f"There is no round {name!r} in {project.slug}: choose from {names}.")
    return round


def _ask(question: str) -> None:
    """Raises CommandError unless the answer is yes."""
    try:
        answer = input(question)
    except EOFError:
        raise _refused("Nothing was sent: add --yes to start without being asked.") from None
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was sent.", returncode=INCOMPLETE)


def _estimated(estimate: Estimate) -> str:
    out = "unknown" if estimate.output_tokens is None else f"{estimate.output_tokens:,}"
    parts = [f"about {estimate.input_tokens:,} tokens in, {out} out"]
    if not estimate.priced:
        parts.append("no price is set")
    elif estimate.cost is None:
        parts.append(f"at most {dollars(estimate.most_cost)}")
    else:
        parts.append(f"about {dollars(estimate.cost)}, at most {dollars(estimate.most_cost)}")
    if estimate.seconds is not None:
        parts.append(f"about {duration(estimate.seconds)}")
    return "; ".join(parts)


def _calls(number: int) -> str:
    return f"{number:,} call{'' if number == 1 else 's'}"


def _dollars(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("nan")
    if not amount.is_finite() or not 0 <= amount < 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in US dollars: write a number such as 2.50")
    return amount


def _refused(sentence: str) -> CommandError:
    return CommandError(sentence, returncode=REFUSED)

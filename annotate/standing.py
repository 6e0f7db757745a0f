"""Where one annotator stands in a round: what waits for them there, or why nothing does. Every page says the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from django.utils import timezone
from django.utils.dateformat import format as formatted
from django.utils.timesince import timeuntil
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import assignment, training
from annotate.models import Assignment, Participation, Round, Task, User
from annotate.screen import progress_of
from annotate.training import Practice


class Reason(NamedTuple):
    """Why an annotator gets no task: in short, and what to do about it."""

    title: str
    text: str


@dataclass(frozen=True)
class Standing:
    """What a round holds for one annotator, counted in tasks: those that they have submitted of all that there are, as
    the screen says it, and those that could be theirs next."""

    round: Round
    submitted: int
    total: int
    available: int
    reason: Reason | None  # why none is, or none but those in hand
    practice: Practice | None = None  # that comes before the first task
    is_drawn: bool = True  # False before an experiment drew the annotator's arm: the round stands for all of them

    @property
    def goes_on(self) -> bool:
        """Whether the round has anything for them: a task, or practice, or feedback that they have not read."""
        return bool(self.available or (self.practice and (self.practice.feedback or not self.reason)))

    @property
    def has_begun(self) -> bool:
        return bool(self.submitted or (self.practice and (self.practice.done or self.practice.attempts)))

    @property
    def waiting(self) -> str:
        return waiting(self.available)


def standing_of(round: Round, user: User) -> Standing:
    done = progress_of(round, user)
    submitted, total = done["submitted"], done["total"]
    if training.is_asked_of(round, user):
        practice = training.look_at(round, user)
        return Standing(round, submitted, total, 0, _why_no_practice(round, user, practice), practice)
    part, available = assignment.participation(round, user), assignment.available(round, user)
    is_free = available and part.state == Participation.State.ACTIVE
    return Standing(round, submitted, total, available, None if is_free else _why_nothing(round, user, part))


def waiting(tasks: int) -> str:
    return ngettext("One task waits for you.", "%(n)d tasks wait for you.", tasks) % {"n": tasks}


def _why_nothing(round: Round, user: User, part: Participation) -> Reason:
    if round.state == Round.State.CLOSED:
        return Reason(_("This round is closed"), _("Thank you. What you submitted is kept."))
    if part.state != Participation.State.ACTIVE:
        return _stopped(part)
    free_at = assignment.next_release(round, user)
    if free_at is not None:
        here = timezone.localtime(free_at)
        text = _(
            "Other annotators hold the tasks that are left. One may be free for you at %(time)s (%(zone)s) at the "
            "earliest, in %(wait)s: who still works on a task holds it longer."
        )
        when = {"time": formatted(here, "H:i"), "zone": formatted(here, "T"), "wait": timeuntil(free_at)}
        return Reason(_("Everything is taken at the moment"), text % when)
    if not part.submitted:
        return Reason(
            _("Nothing is left to label"),
            _("Others have labelled the tasks of this round, apart from any that you skipped."),
        )
    return Reason(
        _("You have done everything in this round"), _("Thank you. There is nothing left for you to label here.")
    )


def why_surplus(task: Task, user: User) -> str:
    """Why what the user has just submitted about the task is kept and not counted."""
    state = assignment.participation(task.round, user).state
    skipped = Assignment.objects.filter(task=task, annotator=user).skipped()
    if state == Participation.State.REMOVED:
        return _("Kept, but not counted: you no longer take part in this round.")
    if not Round.objects.open().filter(pk=task.round_id).exists():
        return _("Kept, but not counted: the round was closed before you submitted.")
    if skipped.exists():
        return _("Kept, but not counted: you had skipped this task before you submitted.")
    if state == Participation.State.PAUSED:
        return _("Kept, but not counted: you are paused, and this task was no longer held for you.")
    return _("Kept, but not counted: others had taken this task before you submitted.")


def _stopped(part: Participation) -> Reason:
    if part.state == Participation.State.REMOVED:
        return Reason(
            _("You no longer take part in this round"),
            _("The researchers have ended your work here. Ask them if that surprises you."),
        )
    return Reason(
        _("You are paused in this round"),
        _(
            "The researchers have paused your work here. What you submitted is kept. What you have open you may still "
            "submit; if the task was taken by somebody else or freed by then, it is kept and not counted. Ask them "
            "when you can go on."
        ),
    )


def _why_no_practice(round: Round, user: User, practice: Practice) -> Reason | None:
    """Why the annotator, who has to practise first, cannot; None where they can."""
    if (part := training.stopped_in(round, user)) is not None:
        return _stopped(part)
    if not practice.total:
        return Reason(
            _("The practice is not ready yet"),
            _(
                "This round starts with practice tasks, and none is ready at the moment. Please tell a researcher, or "
                "come back later."
            ),
        )
    if not practice.left:
        return Reason(
            _("Practice not passed"),
            _(
                "You have used all attempts. Ask the researcher of the project: they can give you another one, or let "
                "you in."
            ),
        )
    return None

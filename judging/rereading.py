"""Stored replies read again with today's readers, without asking anybody: `manage.py reparse`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.utils.translation import gettext as _

from judging import claims, recount
from judging.faults import CallFailed
from judging.methods import setup_of
from judging.models import Call, Run, Verdict
from judging.protocols import PROTOCOLS, Protocol, Setup
from judging.runs import PlanError
from judging.texts import Texts

CHUNK = 200
ENDED = (Call.State.DONE, Call.State.FAILED)
NOTHING = "nothing"


class Waiting(Exception):
    """What the reply says now depends on another call, which has no reply to read."""


@dataclass
class Rereading:
    """What came of it.

    replies    how many were read
    changed    numbers of verdicts by what they said before and what they say now, in words
    waiting    calls that were left as they were: they need a second one that was not answered
    refused    calls that were left as they were, because today's reader finds fault with them; by its sentence
    """

    replies: int = 0
    changed: Counter[tuple[str, str]] = field(default_factory=Counter)
    waiting: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def reread(run: Run, *, dry_run: bool = False) -> Rereading:
    """Read every stored reply of a judging run that stands, and replace the verdicts that differ: those of a call and
    of the one that follows it at once, prompts and replies untouched. The verdicts and the cells of the run change
    together or not at all, and whoever starts the run again waits. Raises PlanError."""
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True, of=("self",))
        held = locked.select_related("judge", "project", "round").get(pk=run.pk)
        found = _read_again(held, dry_run=dry_run)
        if found.changed and not dry_run:
            recount.rebuild_run(held)
    return found


def _read_again(run: Run, *, dry_run: bool) -> Rereading:
    if run.kind != Run.Kind.JUDGING:
        raise PlanError(_("This run writes checklists: only the replies of judging runs can be read again."))
    if run.method not in PROTOCOLS:
        sentence = _("There is no protocol '%(name)s' any more: its replies cannot be read again.")
        raise PlanError(sentence % {"name": run.method})
    if run.state == Run.State.RUNNING:
        raise PlanError(_("The run is running: pause it first, or wait until it is finished."))
    protocol = PROTOCOLS[run.method]
    reader = Reader(run, protocol, setup_of(run, protocol), dry_run)
    for chain in _chains(run):
        reader.take(chain)
    return reader.found


def _chains(run: Run) -> Iterator[list[Call]]:
    """The calls of a run that hold a reply, each with those that follow it."""
    texts = Texts()
    replied = run.calls.filter(state__in=ENDED, follows=None).exclude(reply="")
    firsts = list(replied.order_by("position").values_list("pk", flat=True))
    for start in range(0, len(firsts), CHUNK):
        calls = list(Call.objects.filter(pk__in=firsts[start : start + CHUNK]).defer("prompt").order_by("position"))
        chains = ends = {call.pk: [call] for call in calls}
        while ends:
            followers = Call.objects.filter(follows__in=ends).defer("prompt")
            grown = [(ends[call.follows_id or 0], call) for call in followers]
            for chain, call in grown:
                call.follows = chain[-1]
                chain.append(call)
            calls += [call for _, call in grown]
            ends = {call.pk: chain for chain, call in grown}
        for call in calls:
            call.run = run
        texts.attach(calls)
        yield from chains.values()


@dataclass
class Reader:
    run: Run
    protocol: Protocol
    setup: Setup
    dry_run: bool
    found: Rereading = field(default_factory=Rereading)

    def take(self, chain: Sequence[Call]) -> None:
        """Read one call and those that follow it, and store what has changed."""
        self.found.replies += sum(bool(call.reply) for call in chain)
        try:
            now = list(self._verdicts(chain))
        except Waiting:
            self.found.waiting += 1
            return
        except CallFailed as failure:
            self.found.refused[failure.reason] += 1
            return
        stored = Verdict.objects.filter(call__in=chain)
        before, after = _by_subject(stored), _by_subject(now)
        changes = [
            _in_words(before.get(subject), after.get(subject))
            for subject in {**before, **after}
            if _said(before.get(subject)) != _said(after.get(subject))
        ]
        self.found.changed.update(changes)
        if changes and not self.dry_run:
            stored.delete()
            Verdict.objects.bulk_create(now)
            mended = Call.objects.filter(pk__in=[call.pk for call in chain], state=Call.State.FAILED)
            mended.update(state=Call.State.DONE, error="")

    def _verdicts(self, chain: Sequence[Call]) -> Iterator[Verdict]:
        """What the replies say now. Calls that are not needed any more say nothing. Raises Waiting and CallFailed."""
        if not all(call.reply and call.state in ENDED for call in chain):
            raise Waiting
        for call in chain:
            yield from claims.verdicts_of(call, self.protocol.read(call, self.setup))
            if self.protocol.follow_up(call, self.setup) is None:
                return
        raise Waiting


Subject = tuple[int, int | None, int | None, int | None]


def _by_subject(verdicts: Iterable[Verdict]) -> dict[Subject, Verdict]:
    """Verdicts of one chain by what they are about."""
    return {
        (verdict.response_id, verdict.other_id, verdict.question_id, verdict.dimension_id): verdict
        for verdict in verdicts
    }


def _said(verdict: Verdict | None) -> tuple[object, ...]:
    if verdict is None:
        return ()
    return verdict.state, verdict.score, verdict.choice, verdict.probability, verdict.captured


def _in_words(before: Verdict | None, after: Verdict | None) -> tuple[str, str]:
    said, says = _word(before), _word(after)
    return said, says if said != says else f"{says}, with another probability"


def _word(verdict: Verdict | None) -> str:
    if verdict is None:
        return NOTHING
    if verdict.score is not None:
        return f"score {verdict.score:g}"
    return verdict.choice or verdict.state

"""What a judging run judges: the units of a round or of chosen items, and what is left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from annotate.models import Checklist, Dimension, Item, Response
from judging.models import Run
from judging.protocols import PROTOCOLS, Protocol, Unit

Subject = tuple[Item, Response, Response | None, Checklist | None]
LeftOut = Counter[str]  # numbers by reason, a key of REASONS, OF_RESPONSES and OF_PAIRS

REASONS = {
    "no dimension checklist": ngettext_lazy(
        "%(n)s dimension is left out: it has no approved checklist with questions.",
        "%(n)s dimensions are left out: they have no approved checklist with questions.",
        "number",
    ),
    "no response": ngettext_lazy(
        "%(n)s item is left out: it has no response.",
        "%(n)s items are left out: they have no response.",
        "number",
    ),
    "no pair": ngettext_lazy(
        "%(n)s item is left out: it does not have two responses to compare.",
        "%(n)s items are left out: they do not have two responses to compare.",
        "number",
    ),
    "pair": ngettext_lazy(
        "%(n)s pair of the round is left out: this protocol judges single responses.",
        "%(n)s pairs of the round are left out: this protocol judges single responses.",
        "number",
    ),
    "single": ngettext_lazy(
        "%(n)s response of the round is left out: this protocol compares two responses.",
        "%(n)s responses of the round are left out: this protocol compares two responses.",
        "number",
    ),
}
OF_RESPONSES = {
    "no checklist": ngettext_lazy(
        "%(n)s response is left out: its item has no approved checklist.",
        "%(n)s responses are left out: their items have no approved checklist.",
        "number",
    ),
    "no checklist by the policy": ngettext_lazy(
        "%(n)s response is left out: its item has no approved checklist by the policy %(policy)s.",
        "%(n)s responses are left out: their items have no approved checklist by the policy %(policy)s.",
        "number",
    ),
    "no questions": ngettext_lazy(
        "%(n)s response is left out: the checklist of its item has no questions.",
        "%(n)s responses are left out: the checklists of their items have no questions.",
        "number",
    ),
}
OF_PAIRS = {
    "no checklist": ngettext_lazy(
        "%(n)s pair is left out: its item has no approved checklist.",
        "%(n)s pairs are left out: their items have no approved checklist.",
        "number",
    ),
    "no checklist by the policy": ngettext_lazy(
        "%(n)s pair is left out: its item has no approved checklist by the policy %(policy)s.",
        "%(n)s pairs are left out: their items have no approved checklist by the policy %(policy)s.",
        "number",
    ),
    "no questions": ngettext_lazy(
        "%(n)s pair is left out: the checklist of its item has no questions.",
        "%(n)s pairs are left out: the checklists of their items have no questions.",
        "number",
    ),
}


def units_of(run: Run) -> tuple[list[Unit], LeftOut]:
    """The units of a judging run, stored or not, those of an item next to each other; and what is left out.

    A unit of a round has the checklist that its task pins, unless the run chooses otherwise; where nothing is pinned,
    the item's newest approved one, by the policy of the run or of the round where one is chosen.
    """
    method = PROTOCOLS[run.method]
    subjects, left_out = _of_round(run, method) if run.round else _of_items(run, method)
    if method.by_dimension:
        return _by_dimension(run, method, subjects, left_out), left_out
    if not method.needs_checklist:
        return [Unit(item, response, other=other) for item, response, other, _ in subjects], left_out
    chosen = _checklists(run, subjects)
    units = []
    for item, response, other, pinned in subjects:
        checklist = pinned if pinned and not run.checklist_policy else chosen.get(item.pk)
        if checklist is None:
            left_out["no checklist"] += 1
        elif not checklist.questions.all():
            left_out["no questions"] += 1
        else:
            units.append(Unit(item, response, checklist, other))
    return units, left_out


def in_words(run: Run, left_out: LeftOut) -> list[str]:
    """What is left out and why, a sentence for each reason."""
    sentences = {**REASONS, **(OF_PAIRS if PROTOCOLS[run.method].pairs else OF_RESPONSES)}
    policy = _policy(run)
    if policy:
        sentences["no checklist"] = sentences["no checklist by the policy"]
    return [
        sentences[reason] % {"number": number, "n": f"{number:,}", "policy": policy}
        for reason, number in left_out.items()
    ]


def why_none(run: Run, left_out: LeftOut) -> str:
    """Why a run has no units, with the remedy."""
    method = PROTOCOLS[run.method]
    if left_out["no questions"]:
        if run.round:
            return _(
                "No checklist of an item of this round has a question: add some, or choose a protocol without a "
                "checklist."
            )
        return _(
            "No checklist of an item that is chosen has a question: add some, or choose a protocol without a checklist."
        )
    if left_out["no checklist"]:
        return _no_checklist(run)
    if left_out["single"]:
        return _("The units of this round are single responses, not pairs: judge items in place of the round.")
    if left_out["pair"]:
        return _("The units of this round are pairs: choose a protocol that compares two responses.")
    if run.round and not run.round.tasks.exists():
        return _("This round has no tasks yet: open it first.")
    if method.by_dimension and method.needs_checklist:
        return _("The project does not have a dimension with an approved checklist to judge by: add one first.")
    if method.by_dimension and not _dimensions(run):
        return _("The project does not have a dimension to judge by: add one first.")
    if left_out["no pair"]:
        return _("No chosen item has two responses to compare: widen the filter, or import more responses.")
    return _("No item matches the filter, or none has a response: widen it, or import items.")


def _no_checklist(run: Run) -> str:
    policy = _policy(run)
    if run.round and policy:
        sentence = _(
            "No item of this round has an approved checklist by the policy %(policy)s: approve some, or choose a "
            "protocol without one."
        )
    elif run.round:
        sentence = _("No item of this round has an approved checklist: approve some, or choose a protocol without one.")
    elif policy:
        sentence = _(
            "No item that is chosen has an approved checklist by the policy %(policy)s: approve some, or choose a "
            "protocol without one."
        )
    else:
        sentence = _(
            "No item that is chosen has an approved checklist: approve some, or choose a protocol without one."
        )
    return sentence % {"policy": policy}


def _of_round(run: Run, method: Protocol) -> tuple[list[Subject], LeftOut]:
    assert run.round is not None  # noqa: S101
    tasks = run.round.tasks.filter(response__isnull=False)
    fitting = (
        tasks.filter(other__isnull=not method.pairs)
        .select_related("item", "response", "other", "checklist")
        .prefetch_related("checklist__questions")
        .order_by("item_id", "response_id", "other_id")
    )
    subjects = [(task.item, task.response, task.other, task.checklist) for task in fitting if task.response]
    others = tasks.filter(other__isnull=method.pairs).count()
    return subjects, Counter({"single" if method.pairs else "pair": others} if others else {})


def _of_items(run: Run, method: Protocol) -> tuple[list[Subject], LeftOut]:
    """Of the chosen items every response, or every pair of responses."""
    items = Item.objects.filter(project=run.project).prefetch_related("responses")
    subjects: list[Subject] = []
    left_out: LeftOut = Counter()
    for item in items.chosen(run.category, run.language, run.sample_size, run.seed):
        responses = list(item.responses.all())
        for response in responses:
            response.item = item
        if method.pairs:
            subjects += [(item, response, other, None) for response, other in combinations(responses, 2)]
            left_out += Counter({"no pair": len(responses) < 2})
        else:
            subjects += [(item, response, None, None) for response in responses]
            left_out += Counter({"no response": not responses})
    return subjects, left_out


def _checklists(run: Run, subjects: Sequence[Subject]) -> dict[int, Checklist]:
    """The newest approved checklist, by the policy that is chosen, of every item that needs one; by item id."""
    pinned = not run.checklist_policy
    without = {item.pk: item for item, _, _, checklist in subjects if not (pinned and checklist)}
    policy = run.checklist_policy or (run.round.checklist_policy if run.round else "")
    if policy == Run.NEWEST_CHECKLIST:
        policy = ""
    return Checklist.objects.prefetch_related("questions").newest_approved(list(without.values()), policy)


def _by_dimension(run: Run, method: Protocol, subjects: Sequence[Subject], left_out: LeftOut) -> list[Unit]:
    dimensions = _dimensions(run)
    newest = Checklist.objects.prefetch_related("questions").newest_of_dimensions(dimensions)
    if method.needs_checklist:
        usable = [
            dimension for dimension in dimensions if dimension.pk in newest and newest[dimension.pk].questions.all()
        ]
        left_out += Counter({"no dimension checklist": len(dimensions) - len(usable)})
        dimensions = usable
    return [
        Unit(item, response, newest.get(dimension.pk), other, dimension)
        for item, response, other, _ in subjects
        for dimension in dimensions
    ]


def _dimensions(run: Run) -> list[Dimension]:
    return list(Dimension.objects.filter(project=run.project, archived=False))


def _policy(run: Run) -> str:
    """The policy that the run names, if it names one."""
    return "" if run.checklist_policy == Run.NEWEST_CHECKLIST else run.checklist_policy

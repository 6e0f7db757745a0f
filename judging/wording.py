"""The prompts that a project's judges are asked with: those in use, earlier ones, and what a judge gets to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from annotate.differences import Change, question_changes
from annotate.models import Checklist, Dimension, Item, Project, Response
from annotate.models.item import ItemQuerySet
from judging.models import Prompt, Run
from judging.prompts import Message, Template, parse, problem_with, template
from judging.protocols import PROTOCOLS, Protocol, Setup, Unit

ITEMS_OFFERED = 20
LONGEST_COMPARED = 20_000  # characters; a longer text may take seconds to compare with a built-in one, word by word


@dataclass(frozen=True)
class Wording:
    """A prompt that a protocol asks with."""

    name: str
    protocol: Protocol
    analysis: bool

    @property
    def title(self) -> str:
        if self.analysis:
            return str(self.protocol.title)
        return _("%(protocol)s (the verdict alone)") % {"protocol": self.protocol.title}

    @property
    def brought(self) -> Template:
        """The text that Concord brings."""
        return template(self.name)


def wordings() -> Iterator[Wording]:
    """All of them, in the order of the protocols. Prompts that write checklists are not among them."""
    for protocol in PROTOCOLS.values():
        yield Wording(protocol.template_name(), protocol, analysis=True)
        if protocol.analysis_optional:
            yield Wording(protocol.template_name(analysis=False), protocol, analysis=False)


def wording(name: str) -> Wording | None:
    return next((one for one in wordings() if one.name == name), None)


@dataclass(frozen=True)
class Version:
    """One text of a prompt: the project's own, or the one that Concord brings (`own` is None)."""

    version: str
    own: Prompt | None
    in_use: bool
    n_runs: int


@dataclass(frozen=True)
class Row:
    """A prompt with the version in use."""

    wording: Wording
    used: Version


def overview(project: Project) -> list[Row]:
    own = {prompt.name: prompt for prompt in _own(project).filter(in_use=True)}
    runs = _runs(project)
    rows = []
    for one in wordings():
        prompt = own.get(one.name)
        version = prompt.version if prompt else one.brought.version
        rows.append(Row(one, Version(version, prompt, True, runs.get(version, 0))))
    return rows


def versions(project: Project, one: Wording) -> list[Version]:
    """All texts of a prompt that the project had or has, the newest first, and the one that Concord brings."""
    own = list(_own(project).filter(name=one.name))
    runs = _runs(project)
    found = [Version(prompt.version, prompt, prompt.in_use, runs.get(prompt.version, 0)) for prompt in own]
    brought = one.brought.version
    return [*found, Version(brought, None, not any(prompt.in_use for prompt in own), runs.get(brought, 0))]


def changes(one: Wording, given: Template) -> list[Change]:
    """Line by line, how a text differs from the one that Concord brings; [] where they are the same, or too long to
    compare."""
    if given.version == one.brought.version or len(given.source) > LONGEST_COMPARED:
        return []
    return question_changes(one.brought.source.splitlines(), given.source.splitlines())


@dataclass(frozen=True)
class Preview:
    """A prompt filled in for one unit; or in `problem` why it is not.

    items      some to choose from, `item` among them
    follow_up  what the judge is asked after a first reply that decides nothing; "" where nothing is
    """

    items: Sequence[Item]
    item: Item | None = None
    response: Response | None = None
    responses: Sequence[Response] = ()
    messages: Sequence[Message] = ()
    follow_up: str = ""
    problem: str = ""


def preview(
    project: Project,
    one: Wording,
    source: str,
    *,
    item: int | None = None,
    external_id: str = "",
    response: int | None = None,
) -> Preview:
    """What a judge would read with this text, about a response of an item: the one with the external id where one is
    given, else the one with the id `item`, else the first that the protocol can judge."""
    fitting = _fitting(project, one.protocol)
    offered = list(fitting.order_by("external_id")[:ITEMS_OFFERED])
    everything = Item.objects.filter(project=project)
    if external_id:
        chosen = everything.filter(external_id=external_id).first()
        if chosen is None:
            problem = _("No item has the external id “%(external_id)s”: look it up under Items.")
            return Preview(offered, problem=problem % {"external_id": external_id})
    else:
        chosen = everything.filter(pk=item).first() if item else None
        chosen = chosen or (offered[0] if offered else None)
    if chosen is None:
        return Preview(offered, problem=_nothing(one.protocol))
    if chosen not in offered:
        offered.insert(0, chosen)
    responses = list(chosen.responses.order_by("system"))
    shown = Preview(offered, chosen, responses=responses)
    try:
        unit = _unit(chosen, responses, response, one.protocol)
    except Unfit as unfit:
        return replace(shown, problem=str(unfit))
    shown = replace(shown, response=unit.response)
    if problem := problem_with(one.name, source):
        return replace(shown, problem=problem)
    given = parse(one.name, source)
    call = next(iter(one.protocol.plan(unit, 1)))
    messages = one.protocol.messages(call, Setup(given, project, analysis=one.analysis))
    return replace(shown, messages=messages, follow_up=given.follow_up)


class Unfit(Exception):
    """A protocol cannot judge this; the message says why and what to do."""


def _unit(item: Item, responses: Sequence[Response], wanted: int | None, protocol: Protocol) -> Unit:
    """The unit of this response of the item, or of its first one. Raises Unfit."""
    if not responses:
        raise Unfit(_("This item has no response: choose another item."))
    response = next((one for one in responses if one.pk == wanted), responses[0])
    others = [one for one in responses if one != response]
    if protocol.pairs and not others:
        raise Unfit(_("This item has only one response, and two are compared here: choose another item."))
    dimension, checklist = None, None
    if protocol.by_dimension:
        dimension, checklist = _dimension(item.project, protocol)
    elif protocol.needs_checklist:
        checklist = Checklist.objects.prefetch_related("questions").newest_approved([item]).get(item.pk)
        if not (checklist and checklist.questions.all()):
            raise Unfit(_("This item has no approved checklist: choose another item, or approve one."))
    return Unit(item, response, checklist, others[0] if protocol.pairs else None, dimension)


def _dimension(project: Project, protocol: Protocol) -> tuple[Dimension, Checklist | None]:
    """The first dimension of the project that the protocol can judge by, with its checklist. Raises Unfit."""
    dimensions = list(Dimension.objects.filter(project=project, archived=False))
    newest = Checklist.objects.prefetch_related("questions").newest_of_dimensions(dimensions)
    for dimension in dimensions:
        checklist = newest.get(dimension.pk)
        if not protocol.needs_checklist or (checklist and checklist.questions.all()):
            return dimension, checklist
    if protocol.needs_checklist:
        raise Unfit(_("The project has no dimension with an approved checklist: add one first, under Checklists."))
    raise Unfit(_("The project has no dimension: add one first, under Checklists."))


def _fitting(project: Project, protocol: Protocol) -> ItemQuerySet:
    """The project's items that the protocol can judge."""
    items = (
        Item.objects.filter(project=project).annotate(n=Count("responses")).filter(n__gte=2 if protocol.pairs else 1)
    )
    if protocol.needs_checklist and not protocol.by_dimension:
        approved = Checklist.objects.approved().filter(item__project=project)
        items = items.filter(pk__in=approved.values("item"))
    return items


def _nothing(protocol: Protocol) -> str:
    with_checklist = protocol.needs_checklist and not protocol.by_dimension
    if protocol.pairs and with_checklist:
        return _(
            "The project has no item with two responses and an approved checklist: there is nothing to fill the prompt "
            "in for."
        )
    if protocol.pairs:
        return _("The project has no item with two responses: there is nothing to fill the prompt in for.")
    if with_checklist:
        return _(
            "The project has no item with a response and an approved checklist: there is nothing to fill the prompt in "
            "for."
        )
    return _("The project has no item with a response: there is nothing to fill the prompt in for.")


def _own(project: Project) -> QuerySet[Prompt]:
    return Prompt.objects.filter(project=project).select_related("created_by")


def _runs(project: Project) -> dict[str, int]:
    """Numbers of judging runs by the version of their prompt."""
    judging = Run.objects.filter(project=project, kind=Run.Kind.JUDGING).order_by()
    return dict(judging.values_list("prompt_version").annotate(Count("pk")))

"""Where a project stands and what to do next, for the overview and the list of projects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, F
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.models import Checklist, Experiment, Membership, Participation, Project, Response, Role, Round, User
from annotate.standing import Standing, standing_of, waiting


@dataclass(frozen=True)
class NextStep:
    """What to do next, in a sentence, and the button that leads there ("" where somebody else has to act)."""

    sentence: str
    action: str = ""
    url: str = ""


def counts_of(project: Project) -> dict[str, int]:
    """Numbers of items, responses, and checklists by state, and of the members who annotate."""
    by_state = dict(
        Checklist.objects.filter(item__project=project).values_list("state").annotate(n=Count("pk")).order_by()
    )
    return {
        "items": project.items.count(),
        "responses": Response.objects.filter(item__project=project).count(),
        **{state: by_state.get(state, 0) for state in Checklist.State.values},
        "annotators": project.memberships.filter(role=Role.ANNOTATOR).count(),
    }


def work_for(project: Project, user: User) -> list[Standing]:
    """Where this annotator stands in the open rounds of the project. Of an experiment that draws arms they see their
    own, and before the draw, which comes with the first task, one card that tells nothing of any."""
    found: list[Standing] = []
    asked: set[Experiment] = set()
    for round in project.rounds.open().for_labels().select_related("experiment"):
        experiment = round.experiment
        if experiment is None or not experiment.draws_arms:
            found.append(standing_of(round, user))
        elif experiment not in asked:
            asked.add(experiment)
            found += _in_experiment(experiment, user)
    return found


def _in_experiment(experiment: Experiment, user: User) -> list[Standing]:
    placed = experiment.placings.filter(annotator=user).select_related("round__experiment").first()
    if placed is not None:
        return [standing_of(placed.round, user)] if placed.round.state == Round.State.OPEN else []
    arms = [standing_of(arm, user) for arm in experiment.arms.open().select_related("experiment").order_by("pk")]
    going = next((arm for arm in arms if arm.goes_on), arms[0])
    return [replace(going, is_drawn=False)]


def worked_in(project: Project, user: User) -> list[Participation]:
    """The rounds in which this annotator has submitted anything, the newest first; closed ones too."""
    found = Participation.objects.filter(round__in=project.rounds.for_labels(), annotator=user, submitted__gt=0)
    return list(found.select_related("round__experiment").order_by("-round__created_at", "-round"))


def next_step(membership: Membership) -> NextStep:
    """The first thing that is missing on the way from items to agreement, as far as this member can mend it."""
    if membership.role == Role.ANNOTATOR:
        return _annotator_step(membership)
    project, curates = membership.project, membership.role == Role.CURATOR
    counts = counts_of(project)
    return (
        _material_step(project, counts, curates)
        or _round_step(project, counts, curates)
        or NextStep(
            _("Every round is complete. Read its agreement and export the labels."),
            _("To the rounds"),
            _to("rounds", project),
        )
    )


def _annotator_step(membership: Membership) -> NextStep:
    work = [one for one in work_for(membership.project, membership.user) if one.goes_on]
    if not work:
        return NextStep(_("Nothing waits for you at the moment."))
    tasks = sum(one.available for one in work)
    if not tasks:
        sentence = _("Practice waits for you.")
    elif all(one.is_drawn for one in work):
        sentence = waiting(tasks)
    else:  # a number may be another arm's
        sentence = _("Tasks wait for you.")
    return NextStep(sentence, _("To your tasks"), _to("project", membership.project))


def _material_step(project: Project, counts: dict[str, int], curates: bool) -> NextStep | None:
    """Items, then checklists for them."""
    if not counts["items"]:
        if curates:
            return NextStep(
                _("Import the instructions and the responses that are to be judged."),
                _("Import items"),
                _to("import_items", project),
            )
        return NextStep(_("There is nothing to judge yet: ask a curator to import items."))
    drafts = counts["draft"]
    if drafts and curates:
        sentence = ngettext("One draft checklist waits for review.", "%(n)d draft checklists wait for review.", drafts)
        return NextStep(sentence % {"n": drafts}, _("Review checklists"), _to("checklists", project))
    if not counts["approved"]:
        if curates:
            return NextStep(
                _("No item has a checklist yet. Let a model write them, then review what it wrote."),
                _("Generate checklists"),
                _to("generate", project),
            )
        if not project.rounds.for_labels().exists():
            return NextStep(
                _("No item has a checklist yet: ask a curator for them, or score without checklists."),
                _("Create a round"),
                _to("round_create", project),
            )
    return None


def _round_step(project: Project, counts: dict[str, int], curates: bool) -> NextStep | None:
    """A round, people for it, a judge beside them."""
    if not project.rounds.for_labels().exists():
        return NextStep(
            _("Create a round: it says what annotators are asked, and how many of them see each response."),
            _("Create a round"),
            _to("round_create", project),
        )
    drafts = project.rounds.filter(state=Round.State.DRAFT)
    going = (
        project.rounds.open()
        .for_labels()
        .with_progress()
        .filter(
            seats_submitted__lt=F("seats_total")  # type: ignore[misc]  # both are added by with_progress
        )
    )
    if drafts and not going:
        name = {"round": drafts[0].name}
        return NextStep(
            _("The round “%(round)s” is a draft: open it to let annotators in.") % name,
            _("To the round"),
            _to("round", project, drafts[0].pk),
        )
    if going and not counts["annotators"]:
        if curates:
            return NextStep(
                _("A round is open, but nobody annotates: invite annotators."),
                _("Invite annotators"),
                _to("members", project),
            )
        return NextStep(_("A round is open, but nobody annotates: ask a curator to invite annotators."))
    started = project.rounds.for_labels().about_responses().exclude(state=Round.State.DRAFT)
    if started and not project.runs.filter(round__isnull=False).exists():
        return NextStep(
            _("Let a judge label the same responses, to see how far it agrees with the people."),
            _("Start a judge run"),
            f"{_to('run_create', project)}?round={started[0].pk}",
        )
    if watched := going.about_responses():
        name = {"round": watched[0].name}
        return NextStep(
            _("Labels are coming in for “%(round)s”: watch how far they agree.") % name,
            _("See the agreement"),
            _to("agreement", project, watched[0].pk),
        )
    if going:
        name = {"round": going[0].name}
        return NextStep(
            _("People write checklists in “%(round)s”: read what they wrote.") % name,
            _("Read the labels"),
            _to("round_labels", project, going[0].pk),
        )
    return None


def _to(name: str, project: Project, *args: Any) -> str:
    return reverse(name, args=[project.slug, *args])

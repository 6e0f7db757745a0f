"""The annotation screen: one task, its form, autosave, submit, correct, skip, next.

Two doors lead to the same saves: `task` takes the form as a browser posts it, `task_save` what the script posts.

Nothing here may tell an annotator a system's name, somebody else's label, or a verdict: the context carries texts only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate import assignment, gold, labelling, training
from annotate.access import ANNOTATE, MemberRequest, members
from annotate.characters import printable
from annotate.contents import Content, InvalidLabel, doubt, read_content
from annotate.labelling import AlreadySubmitted, NoSeat, NotCorrectable, StaleSave
from annotate.models import Annotation, Project, Round, Task, User
from annotate.prepared import Prepared
from annotate.said import side_by_side
from annotate.screen import around, pace_of, progress_of, screen_of
from annotate.standing import standing_of, why_surplus
from annotate.views.saving import conflict, sent, version_of

SCREEN = "annotate/labels/task.html"
DRAFT, SUBMITTED = Annotation.State.DRAFT, Annotation.State.SUBMITTED
PACE_OF = 20  # annotations, the last ones


@require_safe
@never_cache
@members(*ANNOTATE)
def annotate(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Lead the annotator to the next task, or to practice where the round asks for it, or say why there is none."""
    round = get_object_or_404(project.rounds.exclude(state=Round.State.DRAFT), pk=pk)
    if round.is_training:
        leads_to = training.practised_for(round, request.user)
        return redirect("practice", project.slug, leads_to.pk) if leads_to else redirect("project", project.slug)
    if arm := _other_arm(round, request.user):
        return redirect("annotate", project.slug, arm.pk)
    task = assignment.next_task(round, request.user)
    if task is not None:
        return redirect("task", project.slug, task.pk)
    if training.is_asked_of(round, request.user):
        return redirect("practice", project.slug, round.pk)
    context = {"project": project, "round": round, "standing": standing_of(round, request.user)}
    return render(request, "annotate/labels/nothing.html", context)


@never_cache
@members(*ANNOTATE)
def task(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Show one task, or (POST) submit, save, correct or skip it and go on."""
    found = _task(request, _TASK_WITH_TEXTS, project, pk)
    try:
        annotation = assignment.said_of(found.pk, request.user)
    except Annotation.DoesNotExist:
        messages.info(request, _("That task was not given to you."))
        return redirect("annotate", project.slug, found.round_id)
    if request.method == "POST":
        return _act(request, project, found)
    held = True
    if annotation.state == DRAFT:
        held = assignment.renew(found, request.user)
    elif not _is_correctable(found, annotation):
        if not found.round.is_training:
            messages.info(request, _("You have submitted that task already."))
        return redirect("annotate", project.slug, found.round_id)
    return _page(request, _screen(request, project, found, annotation, Content.of(annotation)) | {"lost": not held})


@require_POST
@members(*ANNOTATE)
def task_save(request: MemberRequest, project: Project, pk: int) -> JsonResponse:
    """What the screen's script posts: the form, to be stored as a draft, submitted or corrected (`action`).

    Answers with the new version, and whether the task is still `held` for its annotator; with `ask`, a question about
    what was submitted; or with where to go `next`, with the `screen` of the next task and what to say there, where
    there is one. Otherwise with an error sentence, and where another version is stored with the `comparison` of both.
    """
    found = _task(request, _TASK_FOR_SAVING, project, pk)
    action = request.POST.get("action", "save")
    following = reverse("annotate", args=[project.slug, found.round_id])
    content = Content()
    try:
        content = read_content(found, request.POST)
        saved = _save(request, found, content, action)
    except InvalidLabel as error:
        return JsonResponse({"error": str(error)}, status=400)
    except NoSeat as error:
        return JsonResponse({"error": str(error)}, status=403)
    except StaleSave as error:
        return conflict(found, content, error)
    except (AlreadySubmitted, NotCorrectable) as error:
        return JsonResponse({"error": str(error), "next": following}, status=410)
    if action == "save" and saved.state == DRAFT:  # else a submission with its token came before
        return JsonResponse({"version": saved.version, "saved_at": saved.saved_at.isoformat(), "held": saved.held})
    if saved.state == DRAFT:
        return JsonResponse({"version": saved.version, "ask": doubt(found, content), "held": saved.held})
    level, sentence = _outcome(saved, action)
    reply = _following(request, project, found.round, sentence if level == messages.WARNING else "")
    if reply is None:
        _say(request, found, level, sentence)
        return JsonResponse({"next": following})
    return JsonResponse({**reply, "said": sentence})


def _following(request: MemberRequest, project: Project, round: Round, warning: str) -> dict[str, str] | None:
    """The next task's address and screen, so that it is there without another request."""
    taken = None if _other_arm(round, request.user) else assignment.take(round, request.user)
    if taken is None:
        return None
    content = Content.of(taken.annotation)
    context = _screen(request, project, taken.task, taken.annotation, content, taken.participation.submitted)
    screen = render_to_string(f"{SCREEN}#screen", context | {"warning": warning}, request)
    return {"next": context["action"], "screen": screen}


def _other_arm(round: Round, user: User) -> Round | None:
    """The arm that the annotator works in, where the round is another arm of an experiment that draws them."""
    if round.experiment is None or not round.experiment.draws_arms:
        return None
    arm = round.experiment.arm_of(user)
    return arm if arm != round else None


def _act(request: MemberRequest, project: Project, task: Task) -> HttpResponse:
    """What the form posts where there is no script."""
    action = request.POST.get("action", "submit")
    if action == "skip":
        if assignment.skip(task, request.user, printable(request.POST.get("reason", "")).strip()):
            messages.info(request, _("Skipped: somebody else will get that task."))
        return redirect("annotate", project.slug, task.round_id)
    content = Content()
    try:
        content = read_content(task, request.POST)
        saved = _save(request, task, content, action)
    except InvalidLabel as error:
        # What can be read stays on the screen; a value that cannot be read is not shown as one.
        return _again(request, project, task, error.content or content, error=str(error), status=400)
    except StaleSave as error:
        both = side_by_side(task, [content, Content.of(error.stored)])
        return _again(request, project, task, content, comparison=both, status=409)
    except NoSeat as error:
        return _again(request, project, task, content, error=str(error), status=403, over=True, corrects=False)
    except (AlreadySubmitted, NotCorrectable) as error:
        stored = assignment.said_of(task.pk, request.user)
        if replace(Content.of(stored), active_seconds=content.active_seconds) == content:
            messages.warning(request, str(error))
            return redirect("annotate", project.slug, task.round_id)
        corrects = _is_correctable(task, stored)
        return _again(request, project, task, content, error=str(error), status=410, over=True, corrects=corrects)
    if action == "save" and saved.state == DRAFT:
        messages.success(request, _("Saved as a draft."))
        return redirect("task", project.slug, task.pk)
    if saved.state == DRAFT:
        return _again(request, project, task, content, ask=doubt(task, content))
    _say(request, task, *_outcome(saved, action))
    return redirect("annotate", project.slug, task.round_id)


def _is_correctable(task: Task, annotation: Annotation) -> bool:
    counts = annotation.state == SUBMITTED and not annotation.surplus
    return counts and not task.round.is_training and task.round.state == Round.State.OPEN


def _save(request: MemberRequest, task: Task, content: Content, action: str) -> Annotation:
    # On a shared machine a form may outlive its writer's login, and somebody else's session would send it.
    if request.POST.get("annotator", str(request.user.pk)) != str(request.user.pk):
        raise NoSeat(_("Somebody else wrote this and is no longer logged in: log in as that person to save it."))
    if action == "correct":
        return labelling.correct(task, request.user, content, **sent(request))
    return labelling.save(task, request.user, content, **sent(request), submit=action == "submit")


def _say(request: MemberRequest, task: Task, level: int, sentence: str) -> None:
    """Tell it on the next page, unless that is the feedback on a practice task, which says more."""
    if level != messages.SUCCESS or not task.round.is_training:
        messages.add_message(request, level, sentence)


def _outcome(annotation: Annotation, action: str) -> tuple[int, str]:
    """What to tell about a submission or correction: a level of messages, and a sentence."""
    if annotation.surplus:
        return messages.WARNING, why_surplus(annotation.task, annotation.annotator)
    return messages.SUCCESS, _("Corrected.") if action == "correct" else _("Submitted.")


def _again(
    request: MemberRequest, project: Project, task: Task, content: Content, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The screen once more with what was sent, and what is wrong with it."""
    annotation = assignment.said_of(task.pk, request.user)
    lost = annotation.state == DRAFT and not assignment.holds(task, request.user)
    context = _screen(request, project, task, annotation, content) | {"lost": lost} | more
    if status == 400:  # the form was made from another version than the stored one, or will be refused again
        context["version"] = version_of(request)
    return _page(request, context, status)


def _page(request: MemberRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """The whole page: the screen of one task, and around it what stays from task to task."""
    return render(request, SCREEN, context | around(context["keys"], context["round"]), status=status)


def _screen(
    request: MemberRequest,
    project: Project,
    task: Task,
    annotation: Annotation,
    content: Content,
    submitted: int | None = None,
) -> dict[str, Any]:
    """The screen of a task in the annotator's hands: what it shows, where it sends, and how far they are; `submitted`
    is for who knows already how many tasks they have submitted."""
    mixed = task.round.gold_id is not None
    if annotation.state == SUBMITTED:
        done = _submitted_in(task.round.pk, request.user.pk, mixed=mixed)
        said = done.filter(submitted_at__lt=annotation.submitted_at)
        recent = list(said.values_list("task", "active_seconds")[:PACE_OF])
    else:
        recent = (_RECENT_MIXED if mixed else _RECENT)(round=task.round.pk, user=request.user.pk)
    return screen_of(task, request.user, content) | {
        "project": project,
        "action": reverse("task", args=[project.slug, task.pk]),
        "save_to": reverse("task_save", args=[project.slug, task.pk]),
        "start": reverse("annotate", args=[project.slug, task.round_id]),
        "last": reverse("task", args=[project.slug, recent[0][0]]) if recent else "",
        "version": annotation.version,
        "corrects": annotation.state == SUBMITTED,
        "progress": progress_of(task.round, request.user, submitted),
        "pace": pace_of([seconds for _task, seconds in recent]),
        **(training.screen_of(task, request.user) if task.round.is_training else {}),
    }


def _task(request: MemberRequest, tasks: Prepared[Task], project: Project, pk: int) -> Task:
    found = tasks.first(project=project.pk, pk=pk)
    if found is None:
        raise Http404(_("There is no such task in this project."))
    return gold.place(found, request.user)


_TASK_WITH_TEXTS = Prepared(
    lambda project, pk: Task.objects.with_texts().filter(round__project=project, pk=pk), project=int, pk=int
)
_TASK_FOR_SAVING = Prepared(
    lambda project, pk: Task.objects.for_saving().filter(round__project=project, pk=pk), project=int, pk=int
)


def _submitted_in(round: int, user: int, *, mixed: bool) -> QuerySet[Annotation]:
    """What the annotator has submitted while working in this round, and is counted; the newest first. `mixed`: gold
    units are mixed in."""
    said = Annotation.objects
    mine = said.said_in(round, user) if mixed else said.filter(task__round=round, annotator=user)
    return mine.filter(state=SUBMITTED, surplus=False).order_by("-submitted_at")


def _last(round: int, user: int, *, mixed: bool = False) -> QuerySet[Annotation, tuple[int, int]]:
    return _submitted_in(round, user, mixed=mixed).values_list("task", "active_seconds")[:PACE_OF]


_RECENT = Prepared(_last, round=int, user=int)
_RECENT_MIXED = Prepared(partial(_last, mixed=True), round=int, user=int)

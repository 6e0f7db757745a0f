"""Training sets: a researcher writes what is expected and lets people in; an annotator practises and reads feedback."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotate import labelling, supervision, training
from annotate.access import ANNOTATE, RESEARCH, MemberRequest, members
from annotate.addresses import number_in
from annotate.characters import printable
from annotate.comparing import rows_of
from annotate.contents import Content, InvalidLabel, read_content
from annotate.labelling import AlreadySubmitted, StaleSave
from annotate.models import Annotation, Comparison, Grant, Project, Round, Task, User
from annotate.said import side_by_side
from annotate.screen import around, screen_of
from annotate.standing import standing_of
from annotate.supervision import NotDone
from annotate.views.saving import conflict, sent, version_of

# -- the researcher's side -------------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
@members(*RESEARCH)
def training_set(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The tasks of a training set with and without a key, who took it, and (POST) one more attempt, the pass, or the
    way back for somebody who was stopped."""
    found = _training_set(project, pk)
    if request.method == "POST":
        if request.POST.get("action") == "resume":
            _resume(request, found)
        else:
            _grant(request, project, found)
        return redirect("training_set", project.slug, pk)
    context = {
        "project": project,
        "round": found,
        "tab": "rounds",
        "tasks": training.tasks_of(found),
        "people": training.people_of(found),
        "grants": found.grants.select_related("annotator", "granted_by"),
        "uses": training.uses_of(found),
    }
    return render(request, "annotate/training/set.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@members(*RESEARCH)
def training_key(request: MemberRequest, project: Project, pk: int, position: int) -> HttpResponse:
    """What is expected of one task, on the screen that annotators see; (POST) written without a script."""
    task = _task(project, pk, position)
    annotation = _written(task, request.user)
    if request.method != "POST":
        return _key_page(request, project, task, annotation, Content.of(annotation))
    content, again = Content(), {"version": version_of(request)}
    try:
        content = read_content(task, request.POST)
        saved = _store(request, task, content)
    except InvalidLabel as error:
        shown = error.content or content
        return _key_page(request, project, task, annotation, shown, 400, again | {"error": str(error)})
    except StaleSave as error:
        both = {"comparison": side_by_side(task, [content, Content.of(error.stored)]), "version": error.stored.version}
        return _key_page(request, project, task, annotation, content, 409, both)
    except AlreadySubmitted as error:
        messages.warning(request, str(error))
        return redirect("training_key", project.slug, pk, position)
    if saved.state == Annotation.State.DRAFT:
        messages.success(request, _("Saved as a draft."))
        return redirect("training_key", project.slug, pk, position)
    return redirect(_after_key(request, project, task))


@require_POST
@members(*RESEARCH)
def training_key_save(request: MemberRequest, project: Project, pk: int, position: int) -> JsonResponse:
    """What the screen's script posts; it answers as `task_save` does."""
    task = _task(project, pk, position)
    content = Content()
    try:
        content = read_content(task, request.POST)
        saved = _store(request, task, content)
    except InvalidLabel as error:
        return JsonResponse({"error": str(error)}, status=400)
    except StaleSave as error:
        return conflict(task, content, error)
    except AlreadySubmitted as error:
        here = reverse("training_key", args=[project.slug, pk, position])
        return JsonResponse({"error": str(error), "next": here}, status=410)
    if saved.state == Annotation.State.DRAFT:
        return JsonResponse({"version": saved.version, "saved_at": saved.saved_at.isoformat()})
    return JsonResponse({"next": _after_key(request, project, task)})


def _grant(request: MemberRequest, project: Project, round: Round) -> None:
    what, number = request.POST.get("action", ""), number_in(request.POST.get("annotator", ""))
    person = User.objects.filter(memberships__project=project, pk=number).first()
    if person is None or what not in Grant.What.values:
        messages.error(request, _("Choose a member of the project."))
        return
    reason = printable(request.POST.get("reason", "")).strip()
    training.grant(round, person, Grant.What(what), request.user, reason)
    name = {"name": person}
    if what == Grant.What.PASS:
        messages.success(request, _("%(name)s may go on to the rounds that ask for this training set.") % name)
    else:
        messages.success(request, _("%(name)s has one more attempt.") % name)


def _resume(request: MemberRequest, round: Round) -> None:
    number = number_in(request.POST.get("annotator", ""))
    person = User.objects.filter(participations__round=round, pk=number).first()
    try:
        if person is None:
            raise NotDone(_("Choose a member of the project."))
        supervision.resume(round, person, request.user)
        messages.success(request, _("%(name)s gets tasks again.") % {"name": person})
    except NotDone as error:
        messages.error(request, str(error))


def _store(request: MemberRequest, task: Task, content: Content) -> Annotation:
    _written(task, request.user)
    if request.POST.get("action") == "save":
        if task.key is not None:
            raise AlreadySubmitted(_("The expected answers of this task are written already: reload the page."))
        return labelling.save(task, request.user, content, **sent(request))
    return labelling.write_key(task, request.user, content, **sent(request))


def _written(task: Task, author: User) -> Annotation:
    """The key of the task, or as long as there is none the author's own draft of it."""
    if task.key is not None:
        return task.key
    return Annotation.objects.get_or_create(task=task, annotator=author)[0]


def _after_key(request: MemberRequest, project: Project, task: Task) -> str:
    """The next task without a key, or the list where every task has one."""
    messages.success(request, _("The expected answers are saved."))
    rest = Task.objects.filter(round=task.round_id, key=None).order_by("position")
    following = rest.filter(position__gt=task.position).first() or rest.first()
    if following is None:
        return reverse("training_set", args=[project.slug, task.round_id])
    return reverse("training_key", args=[project.slug, task.round_id, following.position])


def _key_page(
    request: MemberRequest,
    project: Project,
    task: Task,
    annotation: Annotation,
    content: Content,
    status: int = 200,
    more: dict[str, Any] | None = None,
) -> HttpResponse:
    context = screen_of(task, request.user, content)
    address = [project.slug, task.round_id, task.position]
    context |= {
        "project": project,
        "action": reverse("training_key", args=address),
        "save_to": reverse("training_key_save", args=address),
        "start": reverse("training_set", args=address[:2]),
        "version": annotation.version,
        "corrects": task.key_id is not None,
        "expects": {"number": task.position, "total": task.round.size},
        **around(context["keys"], task.round),
    }
    return render(request, "annotate/training/key.html", context | (more or {}), status=status)


def _training_set(project: Project, pk: int) -> Round:
    drafts = Round.State.DRAFT  # its tasks are made when it is opened
    return get_object_or_404(project.rounds.exclude(state=drafts), pk=pk, purpose=Round.Purpose.TRAINING)


def _task(project: Project, pk: int, position: int) -> Task:
    found = Task.objects.with_texts().select_related("key")
    return get_object_or_404(found, round=_training_set(project, pk), position=position)


# -- the annotator's side --------------------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@members(*ANNOTATE)
def practice(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Lead through the qualification of a round: the next task, the feedback on the last one, or how it went."""
    found = project.rounds.for_labels().exclude(state=Round.State.DRAFT).filter(qualification__isnull=False)
    round = get_object_or_404(found.select_related("qualification"), pk=pk)
    if request.method == "POST":
        if request.POST.get("action") == "again":
            training.try_again(round, request.user)
        else:
            training.see(round, request.user, number_in(request.POST.get("comparison", "")))
        return redirect("practice", project.slug, pk)
    now = training.practice_of(round, request.user)
    if now.feedback is not None:
        return _feedback(request, project, round, now, now.feedback)
    if not now.passed and not training.is_asked_of(round, request.user):
        return redirect("annotate", project.slug, pk)  # which says why there is nothing to do
    standing = standing_of(round, request.user)
    context = {"project": project, "round": round, "practice": now, "standing": standing}
    if now.following is not None and standing.reason is not None:
        return render(request, "annotate/labels/nothing.html", context)
    if now.following is not None:
        training.take(now.following, request.user)
        return redirect("task", project.slug, now.following.pk)
    return render(request, "annotate/training/practice.html", context)


def _feedback(
    request: MemberRequest, project: Project, round: Round, now: training.Practice, compared: Comparison
) -> HttpResponse:
    task = Task.objects.with_texts().get(pk=compared.annotation.task_id)
    context = screen_of(task, request.user, Content.from_json(compared.said)) | {
        "project": project,
        "round": round,
        "title": round.title,
        "practice": now,
        "number": training.number_of(compared),
        "compared": compared,
        "rows": rows_of(task, compared),
        "feedback": Content.from_json(compared.expected).comment,
    }
    return render(request, "annotate/training/feedback.html", context)

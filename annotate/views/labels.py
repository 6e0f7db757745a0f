"""The annotation screen: one task, its form, autosave, submit, skip, next.

Nothing here may tell an annotator a system's name, somebody else's label, or a verdict: the context carries texts only.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate import assignment, labelling
from annotate.access import ANNOTATE, MemberRequest, members
from annotate.keys import KEY_OF, KEYS, score_key
from annotate.labelling import AlreadySubmitted, Content, InvalidLabel, NoSeat, StaleSave
from annotate.models import Annotation, Answer, Assignment, Project, Round, Task


@require_safe
@never_cache
@members(*ANNOTATE)
def annotate(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Lead the annotator to the next task, or say why there is none."""
    round = get_object_or_404(Round.objects.exclude(state=Round.State.DRAFT), project=project, pk=pk)
    task = assignment.next_task(round, request.user)
    if task is not None:
        return redirect("task", project.slug, task.pk)
    context = {
        "project": project,
        "round": round,
        "progress": round.progress_of(request.user),
        "free_at": assignment.next_release(round, request.user),
    }
    return render(request, "annotate/labels/nothing.html", context)


@never_cache
@members(*ANNOTATE)
def task(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """Show one task, or (POST) submit, save or skip it and go on."""
    found = _task(project, pk)
    annotation = Annotation.objects.filter(task=found, annotator=request.user).first()
    if annotation is None:
        messages.info(request, "That task was not given to you. This is your next one.")
        return redirect("annotate", project.slug, found.round_id)
    if request.method == "POST":
        return _act(request, project, found, annotation)
    if annotation.state != Annotation.State.DRAFT:
        messages.info(request, "You have submitted that task already. This is your next one.")
        return redirect("annotate", project.slug, found.round_id)
    assignment.renew(found, request.user)
    return _screen(request, project, found, annotation.version, _content_of(annotation))


@require_POST
@members(*ANNOTATE)
def task_save(request: MemberRequest, project: Project, pk: int) -> JsonResponse:
    """What the screen's script posts: store the form as a draft, or submit it (`action=submit`).

    Answers with the new version, or with where to go next, or with an error sentence and what is stored.
    """
    found = _task(project, pk)
    submit = request.POST.get("action") == "submit"
    following = reverse("annotate", args=[project.slug, found.round_id])
    try:
        saved = labelling.save(
            found,
            request.user,
            labelling.read_content(found, request.POST),
            token=_token(request),
            version=_version(request),
            submit=submit,
        )
    except InvalidLabel as error:
        return JsonResponse({"error": str(error)}, status=400)
    except NoSeat as error:
        return JsonResponse({"error": str(error)}, status=403)
    except StaleSave as error:
        return JsonResponse(
            {"error": str(error), "version": error.stored.version, "stored": error.stored.content()},
            status=409,
        )
    except AlreadySubmitted as error:
        messages.info(request, str(error))
        return JsonResponse({"error": str(error), "next": following}, status=410)
    if submit:
        _say_submitted(request, saved)
        return JsonResponse({"next": following})
    return JsonResponse({"version": saved.version, "saved_at": saved.saved_at.isoformat()})


def _act(request: MemberRequest, project: Project, task: Task, annotation: Annotation) -> HttpResponse:
    action = request.POST.get("action", "submit")
    if action == "skip":
        if assignment.skip(task, request.user, request.POST.get("reason", "").strip()):
            messages.info(request, "Skipped: somebody else will get that task.")
        return redirect("annotate", project.slug, task.round_id)
    version = _version(request)
    content = Content()
    try:
        content = labelling.read_content(task, request.POST)
        saved = labelling.save(
            task, request.user, content, token=_token(request), version=version, submit=action == "submit"
        )
    except InvalidLabel as error:
        # What can be read stays on the screen; a value that cannot be read is not shown as one.
        return _screen(request, project, task, version, error.content or content, error=str(error), status=400)
    except StaleSave as error:
        return _screen(
            request,
            project,
            task,
            error.stored.version,
            content,
            stored=_content_of(error.stored),
            status=409,
        )
    except (NoSeat, AlreadySubmitted) as error:
        messages.warning(request, str(error))
        return redirect("annotate", project.slug, task.round_id)
    if action != "submit":
        messages.success(request, "Saved as a draft.")
        return redirect("task", project.slug, task.pk)
    _say_submitted(request, saved)
    return redirect("annotate", project.slug, task.round_id)


def _say_submitted(request: MemberRequest, annotation: Annotation) -> None:
    if annotation.surplus:
        messages.warning(
            request,
            "Kept, but not counted: others had filled this task, or the round was closed, before you submitted.",
        )
    else:
        messages.success(request, "Submitted.")


def _screen(
    request: MemberRequest,
    project: Project,
    task: Task,
    version: int,
    content: Content,
    *,
    error: str = "",
    stored: Content | None = None,
    status: int = 200,
) -> HttpResponse:
    round = task.round
    questions = list(task.checklist.questions.all()) if task.checklist else []
    answer_values = [value for value in Answer.Value if value != Answer.Value.NA or round.allow_na]
    context: dict[str, Any] = {
        "project": project,
        "round": round,
        "task": task,
        "item": task.item,
        "text": task.response.text if task.response else "",
        "questions": [
            {
                "id": question.pk,
                "text": question.text,
                "said": content.answers.get(question.pk, ""),
                "stored": stored.answers.get(question.pk, "") if stored else "",
            }
            for question in questions
        ],
        "answer_values": [(value.value, value.label, KEY_OF[value.value]) for value in answer_values],
        "scores": [(score, anchor, score_key(score)) for score, anchor in round.anchored_scores],
        "effects": [(effect.value, effect.label, KEY_OF[effect.value]) for effect in Annotation.Effect],
        "content": content,
        "stored": stored,
        "version": version,
        "error": error,
        "keys": KEYS,
        "progress": round.progress_of(request.user),
        "skip_allowed": Assignment.objects.filter(
            task=task, annotator=request.user, state=Assignment.State.LEASED
        ).exists(),
        "now": timezone.now(),
    }
    return render(request, "annotate/labels/task.html", context, status=status)


def _task(project: Project, pk: int) -> Task:
    return get_object_or_404(
        Task.objects.select_related("round", "item", "response", "checklist").prefetch_related("checklist__questions"),
        round__project=project,
        pk=pk,
    )


def _content_of(annotation: Annotation) -> Content:
    return Content(
        annotation.score,
        {answer.question_id: answer.value for answer in annotation.answers.all()},
        annotation.effect,
        annotation.comment,
        annotation.active_seconds,
    )


def _token(request: MemberRequest) -> str:
    return request.POST.get("token", "")[:64]


def _version(request: MemberRequest) -> int:
    """The version that the form was made from; -1, which is never current, where it cannot be read."""
    text = request.POST.get("version", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1

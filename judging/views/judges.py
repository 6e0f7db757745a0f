"""Judges of a project: listed, added, edited, tested, archived."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate.access import RESEARCH, MemberRequest, members
from annotate.models import Project
from judging import trial
from judging.forms import JudgeForm
from judging.models import Judge


@require_safe
@members(*RESEARCH)
def judges(request: MemberRequest, project: Project) -> HttpResponse:
    found = Judge.objects.filter(project=project).annotate(n_runs=Count("runs")).order_by("archived", "name")
    return render(request, "judging/judges.html", {"project": project, "judges": found})


@require_http_methods(["GET", "POST"])
@members(*RESEARCH)
def judge_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = JudgeForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        judge = form.save()
        messages.success(request, _("%(judge)s is added. Test it before you start a run.") % {"judge": judge.name})
        return redirect("judge", project.slug, judge.pk)
    return render(request, "judging/judge_create.html", {"project": project, "form": form})


@require_http_methods(["GET", "POST"])
@members(*RESEARCH)
def judge(request: MemberRequest, project: Project, pk: int) -> HttpResponse:
    """The judge's settings and its last test. With htmx, the part about the test alone."""
    judge = get_object_or_404(Judge, project=project, pk=pk)
    action = request.POST.get("action", "")
    if action == "test":
        trial.begin(judge)
        return redirect("judge", project.slug, judge.pk)
    if action in {"archive", "unarchive"}:
        judge.archived = action == "archive"
        judge.save(update_fields=["archived"])
        sentence = (
            _("%(judge)s is archived: no new run can choose it.") if judge.archived else _("%(judge)s is back in use.")
        )
        messages.success(request, sentence % {"judge": judge.name})
        return redirect("judges", project.slug)
    form = JudgeForm(request.POST or None, instance=judge, project=project)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("The judge is saved."))
        return redirect("judge", project.slug, judge.pk)
    # A form with mistakes has written them into its instance; the page speaks of the judge as it is stored.
    judge = Judge.objects.annotate(n_runs=Count("runs")).get(pk=judge.pk)
    context = {"project": project, "judge": judge, "form": form, "is_overdue": trial.is_overdue(judge)}
    part = "#test" if request.headers.get("HX-Request") else ""
    return render(request, f"judging/judge.html{part}", context)

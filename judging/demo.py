"""The judges of the demo, and a first run so that there is something to watch."""

from __future__ import annotations

from django.conf import settings

from annotate.models import Project, Round
from judging.models import Judge, Run
from judging.runs import plan_judging

PACKAGED = "SmolLM2 135M (packaged)"
# As its test finds them. The server would keep to a JSON schema too, but the model is worse for it: it fills the
# analysis with a stray word, while its free text gives a verdict with reasons that can be read, if often wrong ones.
ABILITIES = {"schema": False, "alternatives": 20, "usage": True}


def set_up(project: Project) -> None:
    """Point the packaged judge at its port, add a real judge where the environment has a key, start one run once."""
    packaged, _ = Judge.objects.update_or_create(
        project=project,
        name=PACKAGED,
        defaults={
            "base_url": f"http://127.0.0.1:{settings.MODEL_PORT}/v1",
            "model": "smollm2-135m-instruct",
            "is_weak": True,
            "concurrency": 1,  # of each of the two worker processes: the model has two slots
            "max_tokens": 200,
            "abilities": ABILITIES,
        },
    )
    if settings.OPENAI_API_KEY:
        Judge.objects.update_or_create(
            project=project,
            name=settings.OPENAI_MODEL,
            defaults={
                "base_url": settings.OPENAI_BASE_URL,
                "model": settings.OPENAI_MODEL,
                "key_source": Judge.KeySource.ENVIRONMENT,
            },
        )
    round = project.rounds.for_labels().filter(kind=Round.Kind.CHECK_THEN_SCORE).order_by("pk").first()
    if round is not None and not Run.objects.filter(project=project).exists():
        plan_judging(project, packaged, "tick", round)

from django.urls import URLPattern, path

from judging.views import agreement, comparison, exports, health, judges, prompts, runs, scores

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/judges/", judges.judges, name="judges"),
    path("projects/<slug:slug>/judges/new/", judges.judge_create, name="judge_create"),
    path("projects/<slug:slug>/judges/<int:pk>/", judges.judge, name="judge"),
    path("projects/<slug:slug>/prompts/", prompts.prompts, name="prompts"),
    path("projects/<slug:slug>/prompts/<slug:name>/", prompts.prompt, name="prompt"),
    path("projects/<slug:slug>/checklists/generate/", runs.generate, name="generate"),
    path("projects/<slug:slug>/runs/", runs.runs, name="runs"),
    path("projects/<slug:slug>/runs/new/", runs.run_create, name="run_create"),
    path("projects/<slug:slug>/runs/<int:pk>/", runs.run, name="run"),
    path("projects/<slug:slug>/runs/<int:pk>/progress/", runs.run_progress, name="run_progress"),
    path("projects/<slug:slug>/runs/<int:pk>/calls/<int:position>/", runs.call, name="call"),
    path("projects/<slug:slug>/runs/<int:pk>/verdicts.<str:format>", exports.export_verdicts, name="export_verdicts"),
    path("projects/<slug:slug>/runs/<int:pk>/comparison/", comparison.run_comparison, name="run_comparison"),
    path(
        "projects/<slug:slug>/runs/<int:pk>/comparison.<str:format>",
        comparison.export_comparison,
        name="export_comparison",
    ),
    path("projects/<slug:slug>/runs/<int:pk>/disagreements/", comparison.run_disagreements, name="run_disagreements"),
    path("projects/<slug:slug>/runs/<int:pk>/scores/", scores.run_scores, name="run_scores"),
    path("projects/<slug:slug>/runs/<int:pk>/scores.<str:format>", scores.export_scores, name="export_scores"),
    path(
        "projects/<slug:slug>/runs/<int:pk>/scores-weights.<str:format>",
        scores.export_scores_weights,
        name="export_scores_weights",
    ),
    path("projects/<slug:slug>/rounds/<int:pk>/agreement/", agreement.agreement, name="agreement"),
    path("projects/<slug:slug>/rounds/<int:pk>/judges/", comparison.round_judges, name="round_judges"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]

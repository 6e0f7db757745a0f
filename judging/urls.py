from django.urls import URLPattern, path

from judging.views import health

urlpatterns: list[URLPattern] = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]

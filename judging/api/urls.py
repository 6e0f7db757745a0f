from django.urls import path
from rest_framework.routers import SimpleRouter

from judging.api import views

router = SimpleRouter(use_regex_path=False)
router.register("projects/<slug:slug>/judges", views.JudgeViewSet, basename="judge")
router.register("projects/<slug:slug>/runs", views.RunViewSet, basename="run")

urlpatterns = [
    *router.urls,
    path(
        "projects/<slug:slug>/rounds/<int:pk>/agreement/",
        views.AgreementViewSet.as_view({"get": "retrieve"}),
        name="agreement",
    ),
]

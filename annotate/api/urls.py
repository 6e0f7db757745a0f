from django.urls import path
from rest_framework.routers import SimpleRouter

from annotate.api import views

router = SimpleRouter(use_regex_path=False)
for name, view_set in (
    ("items", views.ItemViewSet),
    ("responses", views.ResponseViewSet),
    ("experiments", views.ExperimentViewSet),
    ("rounds", views.RoundViewSet),
):
    router.register(f"projects/<slug:slug>/{name}", view_set, basename=name.removesuffix("s"))

urlpatterns = [
    path("projects/", views.ProjectListViewSet.as_view({"get": "list"}), name="project-list"),
    path("projects/<slug:slug>/", views.ProjectDetailViewSet.as_view({"get": "retrieve"}), name="project-detail"),
    *router.urls,
]

from django.contrib.auth.decorators import login_required
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import IsAuthenticated

import annotate.api.urls
import judging.api.urls

api = [
    path("schema/", SpectacularAPIView.as_view(permission_classes=[IsAuthenticated]), name="schema"),
    path(
        "docs/",
        login_required(
            SpectacularSwaggerSplitView.as_view(
                url_name="api:schema", permission_classes=[IsAuthenticated], template_name="api_docs.html"
            )
        ),
        name="docs",
    ),
    *annotate.api.urls.urlpatterns,
    *judging.api.urls.urlpatterns,
]

urlpatterns = [
    path("", include("annotate.urls")),
    path("", include("judging.urls")),
    path("api/", include((api, "api"))),
]

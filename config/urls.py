from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import IsAuthenticated

import annotate.api.reference
import annotate.api.urls
import judging.api.urls

api = [
    path("schema/", SpectacularAPIView.as_view(permission_classes=[IsAuthenticated]), name="schema"),
    path("docs/", annotate.api.reference.page, name="docs"),
    *annotate.api.urls.urlpatterns,
    *judging.api.urls.urlpatterns,
]

handler500 = "annotate.views.errors.server_error"

urlpatterns = [
    path("", include("annotate.urls")),
    path("", include("judging.urls")),
    path("api/", include((api, "api"))),
]

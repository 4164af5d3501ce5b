"""The control plane's paths; the data plane's are taken before Django (controlplane.asgi)."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("api/", include("controlplane.api.urls")),
    path("", include("controlplane.ui.urls")),
]

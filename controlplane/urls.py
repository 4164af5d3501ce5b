"""The control plane's paths; the data plane's are taken before Django (controlplane.asgi)."""

from __future__ import annotations

from django.urls import include, path

from controlplane.api.uplink import telemetry

handler500 = "controlplane.failures.failed"
urlpatterns = [
    path("api/dp/v1/telemetry", telemetry),
    path("api/", include("controlplane.api.urls")),
    path("", include("controlplane.ui.urls")),
]

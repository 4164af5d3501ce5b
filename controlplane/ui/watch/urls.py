"""Addresses of what is watched: the Overview, components, sessions, requests (04 §5)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui.watch import component_list, component_page, overview, requests, sessions

SESSION = "sessions/<slug:tenant>/<str:session>"

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("components", component_list.component_list, name="components"),
    path("components/<str:name>", component_page.component_page, name="component"),
    path("sessions", sessions.sessions, name="sessions"),
    path(SESSION, sessions.session, name="session"),
    path(f"{SESSION}/markers/<slug:marker>", sessions.original, name="original"),
    path(f"{SESSION}/texts/<slug:record>", sessions.texts, name="texts"),
    path("requests", requests.requests, name="requests"),
    path("requests/<slug:record>", requests.request_page, name="request"),
]

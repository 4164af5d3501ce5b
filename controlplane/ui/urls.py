"""The pages (04-controlplane-and-dashboard.md section 5)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui import keys, overview, signin, tenants

app_name = "ui"

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("login", signin.sign_in, name="login"),
    path("logout", signin.sign_out, name="logout"),
    path("theme", signin.choose_theme, name="theme"),
    path("tenants", tenants.tenants, name="tenants"),
    path("tenants/<slug:slug>", tenants.tenant, name="tenant"),
    path("tenants/<slug:slug>/document", tenants.save_document, name="document"),
    path("tenants/<slug:slug>/upstreams", tenants.choose_upstream, name="upstreams"),
    path("tenants/<slug:slug>/keys", keys.issue, name="keys"),
    path("tenants/<slug:slug>/keys/<slug:uid>/revoke", keys.revoke, name="revoke"),
]

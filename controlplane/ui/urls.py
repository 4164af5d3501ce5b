"""The pages (04-controlplane-and-dashboard.md 5)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui import (
    account_urls,
    component_list,
    component_page,
    config_urls,
    overview,
    signin,
    tenants,
    watch_urls,
)

app_name = "ui"

urlpatterns = [
    *account_urls.urlpatterns,
    *config_urls.urlpatterns,
    *watch_urls.urlpatterns,
    path("", overview.overview, name="overview"),
    path("components", component_list.component_list, name="components"),
    path("components/<str:name>", component_page.component_page, name="component"),
    path("login", signin.sign_in, name="login"),
    path("login/code", signin.give_code, name="login-code"),
    path("logout", signin.sign_out, name="logout"),
    path("theme", signin.choose_theme, name="theme"),
    path("tenants", tenants.tenants, name="tenants"),
    path("tenants/<slug:slug>", tenants.tenant, name="tenant"),
    path("tenants/<slug:slug>/limits", tenants.set_limits, name="limits"),
    path("tenants/<slug:slug>/upstreams", tenants.choose_upstream, name="upstreams"),
]

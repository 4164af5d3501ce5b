"""Addresses of tenants: connecting an agent, keys, limits, what is kept (04 §5.13, 8.7)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui.tenants import capture, connect, keys, life, pages

TENANT = "tenants/<slug:slug>"
KEY = f"{TENANT}/keys/<slug:uid>"
ORGANISATION = "members/<slug:place>"

urlpatterns = [
    path("connect", connect.connect, name="connect"),
    path("connect/<slug:slug>", connect.connect_tenant, name="connect-tenant"),
    path("connect/<slug:slug>/keys/<slug:uid>", connect.first_request, name="first-request"),
    path("new-tenant", life.create, name="new-tenant"),
    path("tenants", pages.tenants, name="tenants"),
    path(TENANT, pages.tenant, name="tenant"),
    path(f"{TENANT}/limits", pages.set_limits, name="limits"),
    path(f"{TENANT}/upstreams", pages.choose_upstream, name="upstreams"),
    path(f"{TENANT}/switch", life.switch, name="switch"),
    path(f"{TENANT}/texts/agree", capture.agree, name="agree-to-texts"),
    path(f"{TENANT}/texts/withdraw", capture.withdraw, name="withdraw-texts"),
    path(f"{TENANT}/texts/purge", capture.purge, name="purge-texts"),
    path(f"{TENANT}/keys", keys.issue, name="keys"),
    path(f"{KEY}/rotate", keys.rotate, name="rotate"),
    path(f"{KEY}/revoke", keys.revoke, name="revoke"),
    path(f"{TENANT}/agent-keys", keys.bind, name="agent-keys"),
    path(f"{TENANT}/agent-keys/<slug:binding>/unbind", keys.unbind, name="unbind"),
    path(f"{ORGANISATION}/texts/allow", capture.open_organisation, name="allow-texts"),
    path(f"{ORGANISATION}/texts/forbid", capture.close_organisation, name="forbid-texts"),
]

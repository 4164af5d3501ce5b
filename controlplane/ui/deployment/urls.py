"""Addresses of what the deployment is made of (04 §1.2, 5.11, 5.12, 5.14, 5.15)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui.deployment import audit, held_secrets, nodes, prices, system, upstreams

urlpatterns = [
    path("nodes", nodes.nodes, name="nodes"),
    path("nodes/<str:node>", nodes.node, name="node"),
    path("nodes/<str:node>/remove", nodes.remove, name="remove-node"),
    path("upstreams", upstreams.upstreams, name="upstream-list"),
    path("upstreams/<slug:upstream>", upstreams.change, name="upstream"),
    path("secrets", held_secrets.secrets, name="secrets"),
    path("secrets/<slug:secret>", held_secrets.replace, name="secret"),
    path("secrets/<slug:secret>/remove", held_secrets.remove, name="remove-secret"),
    path("prices", prices.prices, name="prices"),
    path("audit", audit.audit, name="audit"),
    path("system", system.system, name="system"),
]

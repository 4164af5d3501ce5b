from __future__ import annotations

from django.apps import AppConfig

from dataplane.core.config import resource


class AccountsConfig(AppConfig):
    name = "controlplane.accounts"

    def ready(self) -> None:
        from controlplane.accounts import published
        from controlplane.fleet import bodies

        bodies.register(resource.AUTH_INDEX, published.auth_shard)
        bodies.register(resource.NODE, published.node_body)

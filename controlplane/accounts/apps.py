from __future__ import annotations

from django.apps import AppConfig

from dataplane.core import resource


class AccountsConfig(AppConfig):
    name = "controlplane.accounts"

    def ready(self) -> None:
        from controlplane.accounts import published
        from controlplane.accounts.actions import next_expiry, retire_expired
        from controlplane.accounts.held_keys import held_keys
        from controlplane.fleet import bodies, upkeep

        bodies.register(resource.AUTH_INDEX, published.auth_shard)
        bodies.register(resource.NODE, published.node_body)
        upkeep.register(held_keys.refresh)
        upkeep.register(retire_expired, next_expiry)

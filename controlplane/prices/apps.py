from __future__ import annotations

from django.apps import AppConfig

from dataplane.core import resource


class PricesConfig(AppConfig):
    name = "controlplane.prices"

    def ready(self) -> None:
        from controlplane.fleet import bodies
        from controlplane.prices import published

        bodies.register(resource.PRICES, published.prices_body)

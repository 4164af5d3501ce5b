"""The card in force as nodes see it (03 section 9.1)."""

from __future__ import annotations

from controlplane.prices.entries import models_of
from controlplane.prices.queries import entries_in_force
from dataplane.core.config import resource


def prices_body(_name: str) -> bytes:
    return resource.encode(resource.PricesBody(models=models_of(entries_in_force())))

"""The card in force as nodes see it (03 §9.1)."""

from __future__ import annotations

from controlplane.prices.entries import models_of
from controlplane.prices.queries import card_in_force, entries_of
from dataplane.core import resource


def prices_body(_name: str) -> bytes:
    card = card_in_force()
    models = models_of(entries_of(card)) if card else {}
    return resource.encode(resource.PricesBody(models, card.version if card else 0))

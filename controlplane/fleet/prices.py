"""The price card of the deployment: the packaged one, until a page edits it."""

from __future__ import annotations

from dataplane.core.config import resource
from dataplane.core.prices import DEFAULT_PRICES


def default_prices(_name: str) -> bytes:
    return resource.encode(resource.PricesBody(models=DEFAULT_PRICES))

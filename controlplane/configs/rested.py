"""What `cold_cache` would have spared a tenant, as its document and its Overview say it."""

from __future__ import annotations

from fractions import Fraction

from django.core.cache import cache

from controlplane.accounts.models import Tenant
from controlplane.configs.models import EffectiveRevision
from controlplane.prices.entries import models_of
from controlplane.prices.queries import entries_in_force
from controlplane.telemetry.queries.resting import resting
from dataplane.core.config.deployment import Rested
from dataplane.core.prices.money import PriceCard, Rates, Sale

LEAST_USD = Fraction(1, 100)
KEPT_S = 60  # an editor checks at every pause in typing, and a week changes slowly


def rested(tenant: str) -> Rested | None:
    """None where less than a cent would have been spared. tenant: its uid."""
    known = cache.get(f"rested.{tenant}")
    if known is None:
        known = (_rested(tenant),)
        cache.set(f"rested.{tenant}", known, KEPT_S)
    found: Rested | None = known[0]
    return found


def rested_under(tenant: Tenant) -> Rested | None:
    """The same for a tenant whose document in force leaves the key off, None for any other."""
    revision = EffectiveRevision.objects.filter(tenant=tenant).first()
    document = revision.effective if revision else {}
    keys = (document.get("components", {}).get(name, {}) for name in document.get("pipeline", ()))
    if all(each.get("cold_cache") is not False for each in keys):
        return None
    return rested(tenant.uid)


def _rested(tenant: str) -> Rested | None:
    card = PriceCard(models_of(entries_in_force()))

    def price_of(model: str, at: float) -> Rates | None:
        return card.rates(model, Sale(at=at))

    week = resting(tenant, price_of)
    found = week.spared
    if found.usd < LEAST_USD:
        return None
    return Rested(
        f"{float(found.usd):,.2f}",
        found.rests,
        week.sessions,
        found.tokens,
        unpriced=found.unpriced,
        is_whole=week.is_whole,
    )

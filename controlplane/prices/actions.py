"""Put a new version of the price card in force (04 §1.7, 5.14).

History keeps its price: a node prices what it sees with the card of that moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction

from controlplane.audit.actions import Actor, Subject, record
from controlplane.fleet.actions import DEFAULT, publish
from controlplane.prices.entries import Entry, amount, models_of
from controlplane.prices.models import Price, PriceCard
from controlplane.prices.queries import card_in_force
from dataplane.core import resource

EMPTY = "A new deployment starts without lines of its own"


class StaleCardError(Exception):
    """Somebody saved another version since the author opened this one."""


@transaction.atomic
def save_card(
    entries: Sequence[Entry], message: str, by: Actor | None, *, based_on: int | None = None
) -> PriceCard:
    """A new version in force and published; PriceError for a wrong entry: then nothing changes.

    based_on: the version that the author started from; StaleCardError when it is not in force.
    """
    head = PriceCard.objects.select_for_update().first()
    version = head.version if head else 0
    if based_on is not None and based_on != version:
        raise StaleCardError
    body = resource.encode(resource.PricesBody(models=models_of(entries)))
    label = by.actor_label if by else "system"
    card = PriceCard.objects.create(
        version=version + 1,
        content_hash=hashlib.sha256(body).hexdigest(),
        author_label=label,
        message=message.strip(),
    )
    Price.objects.bulk_create(_row(card, entry) for entry in entries)
    before = {"version": version, "content_hash": head.content_hash} if head else None
    after = {"version": card.version, "content_hash": card.content_hash, "message": card.message}
    record("price.save", Subject(card.uid, str(card)), by, before=before, after=after)
    publish([(resource.PRICES, DEFAULT)], by=label)
    return card


@transaction.atomic
def ensure_card() -> PriceCard:
    """The card in force; an empty one as the first version of a new deployment."""
    return card_in_force() or save_card([], EMPTY, None)


def _row(card: PriceCard, entry: Entry) -> Price:
    return Price(
        card=card,
        match=entry.match,
        input=amount(entry.input),
        output=amount(entry.output),
        cache_read=_stated(entry.cache_read),
        cache_write=_stated(entry.cache_write),
        cache_write_1h=_stated(entry.cache_write_1h),
        window=entry.window,
        cache_minimum=entry.cache_minimum,
        note=entry.note,
        estimate=entry.estimate,
    )


def _stated(text: str) -> Decimal | None:
    return amount(text) if text.strip() else None

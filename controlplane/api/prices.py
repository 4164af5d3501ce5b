"""What providers charge, version by version (04 §5.14, 6.3)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status
from pydantic import BaseModel, StringConstraints

from controlplane.api import record_schemas as schemas
from controlplane.api.access import deployment, plain
from controlplane.api.conditions import quoted, unchanged_since
from controlplane.api.documents import Paging
from controlplane.api.operations import operation
from controlplane.api.paging import Page, Slice
from controlplane.api.refusals import RefusedError, not_found
from controlplane.api.schemas import ms
from controlplane.api.sent import NO_CONTROL
from controlplane.prices import queries
from controlplane.prices.actions import StaleCardError, save_card
from controlplane.prices.entries import Entry
from controlplane.prices.models import PriceCard
from dataplane.core.prices.money import PriceError

router = Router(tags=["prices"])
READ, WRITE = "telemetry:read", "price:write"
CURRENT = "current"


@operation(
    router, "GET", "/price-cards", scope=READ, tenancy="deployment", listed=True,
    response={200: Page[schemas.PriceCardOut]},
)  # fmt: skip
def list_price_cards(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """Every version, the one in force first."""
    head = queries.card_in_force()
    found = Slice(PriceCard.objects.all(), limit=paging.limit, cursor=paging.cursor)
    return {"items": [_card(row, head) for row in found.rows], **found.cursors}


class Wanted(BaseModel):
    model: Annotated[str, StringConstraints(min_length=1, max_length=120, pattern=NO_CONTROL)]


@operation(
    router, "GET", "/price-cards/match", scope=READ, tenancy="deployment",
    response={200: schemas.MatchOut},
)  # fmt: skip
def match_price(request: HttpRequest, wanted: Query[Wanted]) -> schemas.MatchOut:
    """Which entry prices a model now, and why it is that one."""
    found = queries.find(wanted.model)
    return schemas.MatchOut(model=wanted.model, match=found.match, how=found.how)


@operation(
    router, "GET", "/price-cards/{uid}", scope=READ, tenancy="deployment",
    response={200: schemas.PriceCardText},
)  # fmt: skip
def get_price_card(request: HttpRequest, uid: str, response: HttpResponse) -> dict[str, Any]:
    """One version with its entries, by uid; "current" is the one in force."""
    return _text(_found(uid), response)


@operation(
    router, "POST", "/price-cards", scope=WRITE, tenancy="deployment", conditional=True,
    response={201: schemas.PriceCardText},
)  # fmt: skip
def add_price_card(request: HttpRequest, body: schemas.NewPriceCard, response: HttpResponse) -> Any:
    """A new version in force, based on the one that If-Match names. History keeps its prices."""
    entries = [Entry(**entry.model_dump()) for entry in body.entries]
    return Status(201, _text(_saved(request, entries, body.message), response))


@operation(
    router, "POST", "/price-cards/{uid}/activate", scope=WRITE, tenancy="deployment",
    conditional=True, response={201: schemas.PriceCardText},
)  # fmt: skip
def activate_price_card(
    request: HttpRequest, uid: str, body: schemas.Activation, response: HttpResponse
) -> Any:
    """The entries of an earlier version in force again, as a new version."""
    deployment(request, WRITE)
    entries = queries.entries_of(_found(uid))
    return Status(201, _text(_saved(request, entries, body.message), response))


def _saved(request: HttpRequest, entries: list[Entry], message: str) -> PriceCard:
    by = deployment(request, WRITE).principal
    head = queries.card_in_force()
    unchanged_since(request, _etag(head))
    try:
        return save_card(entries, message, by, based_on=head.version if head else 0)
    except StaleCardError:
        unchanged_since(request, _etag(queries.card_in_force()))
        raise
    except PriceError as refused:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        raise RefusedError(status, "price.invalid", str(refused)) from None


def _found(uid: str) -> PriceCard:
    named = PriceCard.objects.filter(uid=plain(uid)).first()
    found = queries.card_in_force() if uid == CURRENT else named
    if found is None:
        raise not_found()
    return found


def _etag(card: PriceCard | None) -> str:
    return f"p{card.version if card else 0}"


def _card(card: PriceCard, head: PriceCard | None) -> dict[str, Any]:
    return {
        "uid": card.uid,
        "version": card.version,
        "etag": _etag(card),
        "content_hash": card.content_hash,
        "author": card.author_label,
        "message": card.message,
        "created_at": ms(card.created_at),
        "is_in_force": card == head,
    }


def _text(card: PriceCard, response: HttpResponse) -> dict[str, Any]:
    response.headers["ETag"] = quoted(_etag(card))
    names = Entry.__slots__
    entries = [{n: getattr(entry, n) for n in names} for entry in queries.entries_of(card)]
    return {**_card(card, queries.card_in_force()), "entries": entries}

"""The names by which clients go on with, and fetch, what the provider keeps (ADR 0027)."""

from __future__ import annotations

import logging

from dataplane.adapters import logs
from dataplane.adapters.drive import drive
from dataplane.adapters.ticket import Ticket
from dataplane.core import chain
from dataplane.core.effects import Scope
from dataplane.core.exchange import Exchange
from dataplane.core.expand.relay import Relay

log = logging.getLogger("headrace.proxy")


async def link(exchange: Exchange, relay: Relay, ticket: Ticket) -> None:
    """Keep by which id an answer is gone on with, before the client learns how it ended."""
    shown = relay.shown_as or relay.ended_as
    try:
        kept = await drive(exchange.ended(shown, relay.ended_as, relay.handed_over), ticket.perform)
    except Exception as error:  # noqa: BLE001  logged below
        logs.fault(log, "cg.response_link_failed route=%s", error, ticket.route.name)
        return
    if not kept:
        tenant = ticket.record.tenant or "local"
        log.warning("cg.response_link_failed tenant=%s the store refused it", tenant)


async def find_fetched(ticket: Ticket) -> str:
    """Fetch the response that ended an answer by the id that its client was shown.

    Returns that id; "" where it is the provider's own.
    """
    shown, record = ticket.route.fetched, ticket.record
    if not shown or not ticket.persists:
        return ""
    scope = Scope(record.tenant, ticket.principal, "")
    found = await drive(chain.followed(scope, shown, record.at), ticket.perform)
    if found is None or found.ended in {"", shown}:
        return ""
    ticket.route = ticket.route.of(found.ended)
    return shown

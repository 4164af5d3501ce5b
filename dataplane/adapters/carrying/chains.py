"""The names by which clients go on with, and fetch, what the provider keeps (ADR 0027)."""

from __future__ import annotations

import logging

from dataplane.adapters.drive import drive
from dataplane.adapters.figures import logs
from dataplane.adapters.ticket import Ticket
from dataplane.core.effects import Scope
from dataplane.core.exchange import Exchange
from dataplane.core.expand.relay import Relay
from dataplane.core.session import chain
from dataplane.core.wire.decode import NoMessagesError, decode
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import UnparseableError

# A request that goes on with what is kept brings little; what is larger would stop the event loop.
_LARGEST_READ = 1 << 20
_NAMES_ONE = b'"previous_response_id"'
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


def _asker(ticket: Ticket) -> chain.Asker:
    record = ticket.record
    scope = Scope(record.tenant, ticket.principal, "")
    return chain.Asker(scope, record.at, ticket.tenant.plan.is_shared)


async def renamed(ticket: Ticket, body: bytes) -> bytes:
    """The body of a request that is about a response, to count it or to compact it, with the one
    that ended the answer in the place of the one that its client was shown.
    """
    is_about_one = ticket.route.is_about_a_response and _NAMES_ONE in body
    if not (is_about_one and ticket.persists) or len(body) > _LARGEST_READ:
        return body
    try:
        conversation = decode(Dialect.OPENAI_RESPONSES, body)
    except (UnparseableError, NoMessagesError):
        return body
    found = await drive(chain.joined(_asker(ticket), conversation), ticket.perform)
    return chain.continuing(conversation, found)


async def find_fetched(ticket: Ticket) -> str:
    """Fetch the response that ended an answer by the id that its client was shown.

    Returns that id; "" where it is the provider's own.
    """
    shown = ticket.route.fetched
    if not shown or not ticket.persists:
        return ""
    found = await drive(chain.followed(_asker(ticket), shown), ticket.perform)
    if found is None or found.ended in {"", shown}:
        return ""
    ticket.route = ticket.route.of(found.ended)
    return shown

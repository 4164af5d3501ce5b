"""Recovery rounds of one request: what is asked next, and what came of it.

Source: 03-proxy-and-recovery.md 4.4; 00-start-here.md 2 (row 27).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dataplane.adapters.drive import drive
from dataplane.core.effects import Effect
from dataplane.core.exchange import Exchange
from dataplane.core.expand.relay import Answer, Deliver, Outcome, Relay

Perform = Callable[[Effect], Awaitable[Any]]


async def next_body(exchange: Exchange, verdict: Answer, relay: Relay, perform: Perform) -> bytes:
    """The request that gives the model what it asked for."""
    results = await drive(exchange.answer(verdict.calls), perform)
    items = relay.continuation(results)
    return exchange.continuation(items, is_last=verdict.is_last, container=verdict.container)


async def book(exchange: Exchange, heard: Deliver | Answer | None, perform: Perform) -> None:
    """Count what a continuation gave back, unless nothing came of it. heard: None where the client
    did not stay to the end, though the provider has the originals.
    """
    if not (isinstance(heard, Deliver) and heard.outcome is Outcome.NEXT_FAILED):
        await drive(exchange.taken(), perform)

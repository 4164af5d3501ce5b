"""Builders for what a store is asked: short texts with their true marker ids."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from dataplane.adapters.stores.originals import Store, StoreLimits
from dataplane.core.effects import (
    Commit,
    Committed,
    FrozenDecision,
    OpenTurn,
    Payload,
    Reach,
    Recall,
    Recalled,
    Scope,
    SessionView,
)

ALICE = Scope(tenant="acme", principal="alice", session="s1")
BOB = Scope(tenant="acme", principal="bob", session="s2")
ELSEWHERE = Scope(tenant="globex", principal="alice", session="s1")
TTL_S = 10_000
LIMITS = StoreLimits(
    ttl_s=TTL_S, max_entries=1000, max_sessions=100, max_bytes=1 << 20, max_payload_bytes=1 << 16
)
NOW = 1_000_000.0
MUCH_LATER = NOW + 2 * TTL_S  # past the expiry and every grace


def limits(**changes: int) -> StoreLimits:
    return replace(LIMITS, **changes)


def marker(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def payload(text: str, *, renews: bool = False) -> Payload:
    return Payload(marker(text), text.encode(), renews)


def decision(text: str, component: str = "mask", replacement: str | None = None) -> FrozenDecision:
    """The decision to replace `text` by its marker; its key is the text itself."""
    written = replacement if replacement is not None else f"[masked] <<cg:{marker(text)}>>"
    return FrozenDecision(component, text, written, (marker(text),))


async def stash(
    store: Store, *texts: str, scope: Scope = ALICE, at: float = NOW, renews: bool = False
) -> Committed:
    payloads = tuple(payload(text, renews=renews) for text in texts)
    return await store.commit(Commit(scope, at, payloads, ()))


async def freeze(store: Store, *texts: str, scope: Scope = ALICE, at: float = NOW) -> Committed:
    """Stash the texts and remember that they were replaced."""
    payloads = tuple(payload(text) for text in texts)
    decisions = tuple(decision(text) for text in texts)
    return await store.commit(Commit(scope, at, payloads, decisions))


async def turn(
    store: Store,
    *,
    scope: Scope = ALICE,
    at: float = NOW,
    messages: int = 1,
    ttl_s: int = 300,
    offered: bool = False,
    reach: Reach = "auto",
) -> SessionView:
    wanted = OpenTurn(scope, messages, at, ttl_s, offered, reach=reach)
    return await store.open_turn(wanted)


async def recall(
    store: Store,
    marker_id: str,
    *,
    scope: Scope = ALICE,
    at: float = NOW,
    keep: bool = True,
    emitted: bool = False,
    reach: Reach = "auto",
) -> Recalled:
    return await store.recall(Recall(scope, marker_id, at, keep, emitted, reach=reach))

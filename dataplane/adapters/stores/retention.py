"""How long a store keeps things and how many: the rules that every backend shares.

Nothing here reads a clock: `at` is the time (s) of the request at hand, which may be virtual
and may differ between sessions. Source: 03-proxy-and-recovery.md 4.3, 5.3 and 5.4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dataplane.adapters.stores.originals import StoreLimits
from dataplane.core.effects import OpenTurn, PastTurn
from dataplane.core.session.lifetime import COLD_MARGIN_S

LEDGER_ROWS = 1_000_000
LEDGER_RETENTION_S = 30 * 86_400.0
OWNED_IDS = 4096  # per principal and per session, the newest
CACHED_EVERY_S = COLD_MARGIN_S  # how far behind the record of a cached thread may be
# Of two sessions that asked for one text within that long of each other, the tenant learns.
ASKED_BACK_WITHIN_S = 86_400.0
_MINTED = re.compile(r"[0-9a-f]{16}(?:[0-9a-f]{8})?")


def could_be_minted(marker_id: str) -> bool:
    """True for the two shapes an id of ours can have: 16 or 24 lower hex characters."""
    return _MINTED.fullmatch(marker_id) is not None


@dataclass(frozen=True, slots=True)
class Retention:
    """When an entry is renewed and when it is really gone.

    grace_s: added to every recorded expiry. floor_s, share: a renewal is written when the last
    one is at least floor_s and share of the TTL ago.
    """

    grace_s: float
    floor_s: float
    share: float

    def renewal_is_due(self, touched: float, at: float, ttl_s: float) -> bool:
        return at - touched >= max(self.floor_s, ttl_s * self.share)

    def is_live(self, expires: float, at: float) -> bool:
        return at < expires + self.grace_s


# A renewal in memory costs nothing and cannot be lost by a crash.
EXACT = Retention(grace_s=0.0, floor_s=0.0, share=0.0)
# A durable renewal costs a write, so it is batched; the grace covers one that a crash lost.
BATCHED = Retention(grace_s=120.0, floor_s=60.0, share=1 / 20)


@dataclass(frozen=True, slots=True)
class Fill:
    """What a tenant's store holds, by class: payloads and pinned are exempt from eviction."""

    payloads: int = 0
    payload_bytes: int = 0
    pinned: int = 0
    overflow: int = 0
    kept: int = 0


def reserve_capacity(limits: StoreLimits) -> int:
    """How many originals may be held; they are refused, never evicted."""
    return limits.max_entries // 2


def kept_capacity(limits: StoreLimits) -> int:
    """The share that always stays evictable, and the most content keys kept verbatim."""
    return max(1, limits.max_entries // 4)


def _has_protected_room(limits: StoreLimits, fill: Fill) -> bool:
    return fill.payloads + fill.pinned < limits.max_entries - kept_capacity(limits)


def admits_payload(limits: StoreLimits, fill: Fill, size: int) -> bool:
    """Whether a new original of `size` bytes fits the reserve."""
    return (
        fill.payloads < reserve_capacity(limits)
        and _has_protected_room(limits, fill)
        and fill.payload_bytes + size <= limits.max_bytes
    )


def admits_pin(limits: StoreLimits, fill: Fill) -> bool:
    """Whether a new decision is pinned; over the cap it is an ordinary, evictable entry."""
    return fill.pinned < limits.max_entries // 2 and _has_protected_room(limits, fill)


def overflow_excess(limits: StoreLimits, fill: Fill) -> int:
    """How many unpinned decisions must go so that the whole fits max_entries."""
    room = limits.max_entries - fill.payloads - fill.pinned - fill.kept
    return max(0, fill.overflow - max(0, room))


def previous_turn(own: PastTurn | None, alias: PastTurn | None) -> PastTurn | None:
    """The turn before: the session's own, with the later clock and the longer lifetime of its
    alias, since one conversation may arrive under both names.

    An alias says nothing else. Conversations that begin with the same words share one, so neither
    the transcript nor what was offered to its model need be this one's.
    """
    return _moved_on(own, alias) if alias else own


def turn_record(previous: PastTurn | None, wanted: OpenTurn) -> PastTurn:
    """What is remembered of this turn: the lifetime only widens, `offered` only turns on."""
    if previous is None:
        return PastTurn(wanted.messages, wanted.at, wanted.ttl_s, wanted.offered)
    return PastTurn(
        wanted.messages,
        wanted.at,
        max(previous.ttl_s, wanted.ttl_s),
        previous.offered or wanted.offered,
        previous.cached_at,
    )


def alias_record(alias: PastTurn | None, record: PastTurn) -> PastTurn:
    """What the alias remembers of a turn recorded under the session's own name: the clock and the
    lifetime.
    """
    return _moved_on(alias, record)


def _moved_on(turn: PastTurn | None, other: PastTurn) -> PastTurn:
    """A turn, or an empty one, that knows the other's clock, lifetime and cached answers."""
    known = turn or PastTurn(0, other.at, other.ttl_s, offered=False)
    return known._replace(
        at=max(known.at, other.at),
        ttl_s=max(known.ttl_s, other.ttl_s),
        cached_at=max(known.cached_at, other.cached_at),
    )

"""Every reason for which a thread is not kept alive, and the first one that applies.

Source: 03-proxy-and-recovery.md 7.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import msgspec

from dataplane.core.config.document import Cache
from dataplane.core.effects import OpenTurn, PastTurn
from dataplane.core.keepalive.economics import break_even, prefix_of, projected_usd
from dataplane.core.port.signals import Gate
from dataplane.core.prices.money import Rates
from dataplane.core.session.lifetime import ANTHROPIC_TTL_S
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import Member, UnparseableError, members, outline
from dataplane.core.wire.usage import Usage

BODY_MAX_BYTES = 8 << 20

# Asked when a request has ended: what is turned away leaves nothing in memory.
KILL_SWITCH = Gate("kill_switch", "HEADRACE_KEEPALIVE is off in this process.")
DRAINING = Gate("draining", "The process is ending.")
NO_AUDIT_SINK = Gate("no_audit_sink", "Nobody is told of requests, so no ping could be accounted.")
DIALECT = Gate("dialect", "The provider's dialect has no explicit cache breakpoints.")
NOT_SUCCESS = Gate("not_success", "The last answer was an error, or broke off.")
FIRST_REQUEST = Gate("first_request", "The thread has had one request only.")
USAGE_UNKNOWN = Gate("usage_unknown", "The last answer did not say what it used.")
NO_CACHE_ACTIVITY = Gate("no_cache_activity", "The last request neither read nor wrote the cache.")
LONG_LIFETIME = Gate("long_lifetime", "The prefix was asked to be kept for an hour anyway.")
BODY_TOO_LARGE = Gate("body_too_large", "The body is larger than 8 MiB.")
THINKING_ENABLED = Gate(
    "thinking_enabled", "A thinking budget does not go with an answer of one token."
)
PREFIX_BELOW_MIN = Gate("prefix_below_min", "The cached prefix is below the minimum.")
PRICE_UNKNOWN = Gate("price_unknown", "The price card does not know the model.")
TOO_EXPENSIVE = Gate("too_expensive", "A ping would cost more than it may.")
CANNOT_PAY = Gate("cannot_pay", "A ping costs as much as writing the prefix again.")
NO_PINGS_ALLOWED = Gate("no_pings_allowed", "The document allows no ping, or no idle time.")
STOPPED_AFTER_WRITE = Gate(
    "stopped_after_write", "A ping of the tenant wrote the cache; a new configuration clears it."
)
NO_ROOM = Gate("no_room", "What this process may keep is spent; the longest deadline went.")

# Asked when a ping is due, or when something changed in between; what is turned away is released.
CONSENT_WITHDRAWN = Gate("consent_withdrawn", "The document does not ask for pings any more.")
CONFIGURATION_CHANGED = Gate("configuration_changed", "The document pings in another way now.")
TENANT_GONE = Gate("tenant_gone", "The tenant was disabled or removed.")
TOKEN_REVOKED = Gate("token_revoked", "The credential that the session came with is gone.")
CREDENTIAL_MISSING = Gate("credential_missing", "The held provider key cannot be read.")
NEWER_REQUEST = Gate("newer_request", "The thread went on elsewhere, or its record was not found.")
CACHE_EXPIRED = Gate("cache_expired", "The provider's copy has run out: a ping would write it.")
REFUSED_BY_PROVIDER = Gate("refused_by_provider", "The provider refused the ping.")
PINGS_SPENT = Gate("pings_spent", "Every ping that the document allows was sent.")
FAULT = Gate("fault", "A fault of ours while a ping was sent; the log has it.")
DEADLINE = Gate("deadline", "The time for which anything may be kept is over.")

# Only this one leaves the thread in memory: a later ping may find room.
NO_SLACK = Gate("no_slack", "What is left of the tenant's limits is reserved for requests.")

GATES = (
    KILL_SWITCH, DRAINING, NO_AUDIT_SINK, DIALECT, NOT_SUCCESS, FIRST_REQUEST, USAGE_UNKNOWN,
    NO_CACHE_ACTIVITY, LONG_LIFETIME, BODY_TOO_LARGE, THINKING_ENABLED, PREFIX_BELOW_MIN,
    PRICE_UNKNOWN, TOO_EXPENSIVE, CANNOT_PAY, NO_PINGS_ALLOWED, STOPPED_AFTER_WRITE, NO_ROOM,
    CONSENT_WITHDRAWN, CONFIGURATION_CHANGED, TENANT_GONE, TOKEN_REVOKED, CREDENTIAL_MISSING,
    NEWER_REQUEST, CACHE_EXPIRED, REFUSED_BY_PROVIDER, PINGS_SPENT, FAULT, DEADLINE, NO_SLACK,
)  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """A request that has ended. turn: as it was recorded, None for a body without messages.

    usage: of its last round, None for unknown. rates: of the model that answered. sent: the body
    that went out last. members: of that body; UnparseableError.
    """

    dialect: Dialect
    succeeded: bool
    turn: OpenTurn | None
    previous: PastTurn | None
    usage: Usage | None
    rates: Rates | None
    sent: bytes

    @cached_property
    def members(self) -> dict[str, Member]:
        """Looked for once: a body has megabytes, and the gates and the ping both read it."""
        return outline(self.sent)[0]


def closed_gate(ended: Ended, cache: Cache) -> Gate | None:
    """The first gate that a request does not pass, None when its thread may be kept alive."""
    return next(_closed(ended, cache), None)


def _closed(ended: Ended, cache: Cache) -> Iterator[Gate]:
    if not cache.keepalive_max_pings or not cache.keepalive_idle_seconds:
        yield NO_PINGS_ALLOWED
    if ended.dialect is not Dialect.ANTHROPIC:
        yield DIALECT
    if not ended.succeeded or ended.turn is None:
        yield NOT_SUCCESS
    if ended.previous is None:
        yield FIRST_REQUEST
    yield from _closed_by_price(ended.usage, ended.rates, cache)
    yield from _closed_by_body(ended)


def _closed_by_price(usage: Usage | None, rates: Rates | None, cache: Cache) -> Iterator[Gate]:
    if usage is None:
        yield USAGE_UNKNOWN
        return
    prefix = prefix_of(usage)
    if not prefix:
        yield NO_CACHE_ACTIVITY
    if prefix < cache.keepalive_min_prefix_tokens:
        yield PREFIX_BELOW_MIN
    if rates is None:
        yield PRICE_UNKNOWN
        return
    if projected_usd(usage, rates) > Fraction(cache.keepalive_max_usd_per_ping):
        yield TOO_EXPENSIVE
    chance = break_even(usage, rates)
    if chance is None or chance >= 1:
        yield CANNOT_PAY


def _closed_by_body(ended: Ended) -> Iterator[Gate]:
    if ended.turn is not None and ended.turn.ttl_s > ANTHROPIC_TTL_S:
        yield LONG_LIFETIME
    if len(ended.sent) > BODY_MAX_BYTES:
        yield BODY_TOO_LARGE
    elif _thinks(ended):
        yield THINKING_ENABLED


def _thinks(ended: Ended) -> bool:
    """True when thinking is on with a budget of its own; adaptive thinking has none."""
    thinking = ended.members.get("thinking")
    if thinking is None:
        return False
    try:
        kind = members(ended.sent, thinking.value)["type"].value
        return bool(msgspec.json.decode(ended.sent[kind.start : kind.end]) == "enabled")
    except (UnparseableError, KeyError, msgspec.DecodeError):
        return False

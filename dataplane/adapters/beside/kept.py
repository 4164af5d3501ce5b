"""What is kept of a thread after its last request, so that its prefix can be kept alive.

This is the only place where a caller's credential outlives its request. Body and credential are
masked, and overwritten when they go; a key that we hold is not kept but read again for each ping.
Source: 03-proxy-and-recovery.md 7.3.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from dataplane.adapters.beside.masked import Masked
from dataplane.adapters.ticket import Ticket
from dataplane.core.config.document import Cache
from dataplane.core.door.identity import AUTH_SLOTS
from dataplane.core.effects import OpenTurn, Scope
from dataplane.core.keepalive.economics import prefix_of
from dataplane.core.keepalive.gates import Ended
from dataplane.core.keepalive.idle import Idle, from_request
from dataplane.core.keepalive.ping import ping_body
from dataplane.core.record import Record
from dataplane.core.resource import Upstream

Header = tuple[bytes, bytes]
Key = tuple[str, str, str]
_NAMED = (b"content-type", b"anthropic-version", b"anthropic-beta")
_LINE = b"\r\n"


@dataclass(frozen=True, slots=True)
class Warm:
    """A prefix of so many tokens that pings have kept alive."""

    tenant: str
    prefix: int
    idle: Idle

    def is_rescue(self, at: float) -> bool:
        """Whether a request that starts then (seconds) finds it alive thanks to the pings."""
        return self.idle.would_have_expired(at) and self.idle.is_alive(at)


@dataclass(slots=True, eq=False)
class Kept:
    """One thread. tracked_at: the last start that the store knows of, seconds.

    prefix: tokens that the provider holds. digest: of the credential that the session came with,
    "" where none is asked for. body: of the ping; secret: the caller's own credential, as header
    lines.
    """

    turn: OpenTurn
    cache: Cache
    idle: Idle
    tracked_at: float
    prefix: int
    of: Record
    upstream: Upstream
    url: str
    digest: str
    headers: tuple[Header, ...]
    body: Masked
    secret: Masked
    pinging: asyncio.Task[None] | None = None

    @property
    def key(self) -> Key:
        return key_of(self.turn.scope)

    @property
    def tenant(self) -> str:
        return self.turn.scope.tenant

    @property
    def warm(self) -> Warm:
        return Warm(self.tenant, self.prefix, self.idle)

    @property
    def size(self) -> int:
        return len(self.body) + len(self.secret)

    def wipe(self) -> None:
        self.body.wipe()
        self.secret.wipe()

    def record(self, request_id: str, at: float) -> Record:
        """What is known of a ping when it starts."""
        last = self.of
        return Record(
            request_id,
            last.tenant,
            last.route,
            last.dialect,
            at,
            session=last.session,
            thread=last.thread,
            model=last.model,
            snapshot=last.snapshot,
            variant=last.variant,
            arm=last.arm,
            rounds=1,
            address=last.address,
            ping="failed",
        )


def key_of(scope: Scope) -> Key:
    return scope.tenant, scope.session_key, scope.thread


def kept_of(ticket: Ticket, ended: Ended, digest: str) -> Kept:
    """ended: a request that passed every gate. Raises UnparseableError."""
    assert ended.turn is not None  # noqa: S101  a gate of its own
    assert ended.usage is not None  # noqa: S101  likewise
    cache, at = ticket.tenant.plan.cache, ended.turn.at
    headers = ticket.upstream_headers(forwards_clock=False)
    return Kept(
        ended.turn,
        cache,
        from_request(at, cache.keepalive_idle_seconds, cache.keepalive_max_pings),
        at,
        prefix_of(ended.usage),
        ticket.record,
        ticket.upstream,
        ticket.url,
        digest,
        tuple(each for each in headers if each[0] in _NAMED),
        Masked(ping_body(ended.sent, ended.members)),
        Masked(b"" if ticket.credential.is_held else written(headers)),
    )


def written(headers: list[Header]) -> bytes:
    """The credentials among these headers, as lines."""
    return _LINE.join(name + b":" + value for name, value in headers if name in AUTH_SLOTS)


def read(lines: bytes | bytearray) -> list[Header]:
    """Such lines as headers again."""
    parts = (line.partition(b":") for line in bytes(lines).split(_LINE) if line)
    return [(name, value) for name, _, value in parts]

"""Which headers pass, in both directions (03-proxy-and-recovery.md 1.8, 2.9)."""

from __future__ import annotations

import re
from functools import lru_cache

from dataplane.core.door.credential import CredentialPlan
from dataplane.core.door.identity import TOKEN_HEADER, Headers, holds_key

_HOP_BY_HOP = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
_NEVER_UP = _HOP_BY_HOP | {
    TOKEN_HEADER,
    b"host",
    b"content-length",
    b"cookie",
    b"expect",
    b"forwarded",
    b"via",
    b"x-real-ip",
}
_NEVER_UP_PREFIXES = (b"x-context-guru-", b"x-forwarded-", b"proxy-")
# The server that carries the answer states its own date and name.
_NEVER_DOWN = _HOP_BY_HOP | {
    b"alt-svc",
    b"date",
    b"server",
    b"set-cookie",
    b"strict-transport-security",
}
# What proxies in front need to be told, or they collect a stream and deliver it in one piece.
_UNBUFFERED = ((b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no"))
CLOCK_HEADER = b"x-headrace-now"
# Control characters, which no server writes: with them the whole answer would be lost.
_UNWRITABLE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


def _named_in_connection(headers: Headers) -> frozenset[bytes]:
    named: set[bytes] = set()
    for name, value in headers:
        if name == b"connection":
            named.update(word.strip().lower() for word in value.split(b","))
    return frozenset(named)


def upstream_headers(
    headers: Headers, credential: CredentialPlan, *, coding: bytes | None, forwards_clock: bool
) -> list[tuple[bytes, bytes]]:
    """The caller's headers as the provider may see them, order and duplicates kept.

    A header in which one of our keys stands, whatever its name, stays here.

    coding: the one that an answer which will be read here may have, None for the caller's own
    wish. forwards_clock: test clock mode. Content-Length and Host are set by the client for the
    body in hand.
    """
    own = _not_up(credential.drops, is_read=coding is not None, forwards_clock=forwards_clock)
    dropped = own | _named_in_connection(headers)
    kept = [
        (name, value)
        for name, value in headers
        if name not in dropped and not name.startswith(_NEVER_UP_PREFIXES) and not holds_key(value)
    ]
    if coding is not None:
        kept.append((b"accept-encoding", coding))
    if credential.adds is not None:
        kept.append(credential.adds)
    return kept


@lru_cache(maxsize=64)
def _not_up(drops: frozenset[bytes], *, is_read: bool, forwards_clock: bool) -> frozenset[bytes]:
    """drops: of the credential. is_read: the answer is, here."""
    dropped = _NEVER_UP | drops
    if is_read:
        dropped |= {b"accept-encoding"}
    return dropped if forwards_clock else dropped | {CLOCK_HEADER}


def client_headers(
    headers: Headers, *, changed: bool, streams: bool = False
) -> list[tuple[bytes, bytes]]:
    """The provider's headers as the client may see them.

    changed: the body is not, or may not be, the provider's own, so its length and coding are not
    either. streams: the body is an event stream, which nobody on the way may hold back.
    """
    dropped = _NEVER_DOWN | _named_in_connection(headers)
    if changed:
        dropped |= {b"content-length", b"content-encoding"}
    if streams:
        dropped |= {b"content-length", b"cache-control", b"x-accel-buffering"}
    lowered = ((name.lower(), value) for name, value in headers)
    kept = [
        (name, value)
        for name, value in lowered
        if name not in dropped and not _UNWRITABLE.search(value)
    ]
    return kept + list(_UNBUFFERED) if streams else kept

"""GET /expand?id=: one original, whole or page by page, for the session that owns it.

Source: 03-proxy-and-recovery.md 1.2; 05-scoped-recovery-and-image-offload.md A6 to A8.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import msgspec

from dataplane.adapters.door.admission import Admission
from dataplane.adapters.http import Call, RefusedError
from dataplane.adapters.parts import Parts
from dataplane.core.door.refusal import PAGE, PAGE_SCHEMA
from dataplane.core.effects import Found, Recall, Recalled, Scope
from dataplane.core.expand.excerpts import excerpt_of
from dataplane.core.expand.pages import PAGE_BYTES, SMALLEST_BYTES, RangeError, page_of
from dataplane.core.session.naming import usable

QUERY_MAX_CHARS = 1024
_UNREADABLE = (Found.LOST, Found.STORE_ERROR, Found.DECRYPT_ERROR)
_REFUSED_AS = {
    Found.EXPIRED: "expired",
    Found.DELETED: "deleted",
    **dict.fromkeys(_UNREADABLE, "recovery_unavailable"),
}
_NOT_STORED = (b"cache-control", b"no-store")


class PageWish(NamedTuple):
    """limit: bytes, 0 for the largest page. query: "" for an exact page."""

    offset: int
    limit: int
    query: str


async def expand(parts: Parts, call: Call) -> None:
    """The whole original as it is, or a page of it as JSON where any word of that is said."""
    found = parse_qs(call.query, keep_blank_values=True)
    query = {name: values[-1] for name, values in found.items()}
    is_page = _wants_page(call, query)
    if is_page:
        call.family = PAGE
    if call.method != "GET":
        raise RefusedError("method_not_allowed")
    with parts.door.admitted(call) as admission:
        wish = _page_wish(query) if is_page else None
        recalled = await _recalled(parts, admission, query)
        original = _original(parts, recalled, admission.tenant.body.tenant)
        if wish is None:
            await _respond_whole(call, original)
            return
        page = await asyncio.to_thread(_page, original, wish)
        facts = {
            "schema_version": PAGE_SCHEMA,
            "handle": query.get("id", ""),
            "source_id": recalled.component or "unknown",
            **page,
            "original_sha256": hashlib.sha256(original).hexdigest(),
            "total_bytes": len(original),
        }
        headers = [(b"content-type", b"application/json"), _NOT_STORED]
        await call.respond(200, msgspec.json.encode(facts), headers)


def _wants_page(call: Call, query: Mapping[str, str]) -> bool:
    if query.keys() & {"offset", "limit", "query"} or query.get("format") == "page":
        return True
    accepted = (kind.partition(";")[0].strip() for kind in call.header(b"accept").split(","))
    return "application/json" in map(str.lower, accepted)


def _page_wish(query: Mapping[str, str]) -> PageWish:
    offset, limit = query.get("offset", "0"), query.get("limit", "0")
    wanted = query.get("query", "")
    numbers = (offset.removeprefix("-"), limit.removeprefix("-"))
    if not all(n.isascii() and n.isdecimal() and len(n) <= len(str(1 << 53)) for n in numbers):
        raise RefusedError("invalid_request")
    if len(wanted) > QUERY_MAX_CHARS:
        raise RefusedError("invalid_request")
    wish = PageWish(int(offset), int(limit), wanted)
    if wish.offset < 0 or (wish.limit and not SMALLEST_BYTES <= wish.limit <= PAGE_BYTES):
        raise RefusedError("invalid_range")
    return wish


async def _recalled(parts: Parts, admission: Admission, query: Mapping[str, str]) -> Recalled:
    tenant, call = admission.tenant.body.tenant, admission.call
    session = usable(call.header(b"x-context-guru-session") or query.get("session", ""))
    if not session or not parts.store.backend_for(tenant).persists:
        return Recalled(Found.NEVER_MINTED)
    scope = Scope(tenant, admission.principal.name, session)
    shared = admission.tenant.plan.is_shared
    wanted = Recall(scope, query.get("id", ""), admission.at, keep=False, shared=shared)
    return await parts.store.recall(wanted)


def _original(parts: Parts, recalled: Recalled, tenant: str) -> bytes:
    """What was found, or the refusal that says why there is nothing."""
    if recalled.original is not None:
        return recalled.original
    if recalled.found in _REFUSED_AS:
        parts.telemetry.unresolved(recalled.found.value, tenant)
    # One answer for unknown, foreign and sessionless: it must not tell which ids exist.
    raise RefusedError(_REFUSED_AS.get(recalled.found, "not_found"), tenant=tenant)


def _page(original: bytes, wish: PageWish) -> dict[str, Any]:
    try:
        page = page_of(original, offset=wish.offset, limit=wish.limit)
        if not wish.query:
            return {"kind": "original_page", **page._asdict()}
        if wish.offset:
            raise RefusedError("invalid_range")
        text = excerpt_of(original, wish.query, limit=wish.limit or PAGE_BYTES)
    except RangeError:
        raise RefusedError("invalid_range") from None
    except UnicodeDecodeError:
        raise RefusedError("not_text") from None
    # 0 is no page to go on with: it says that exact paging starts there, without the query.
    return {"kind": "excerpt", "text": text, "offset": 0, "next_offset": 0, "complete": False}


async def _respond_whole(call: Call, original: bytes) -> None:
    digest = hashlib.sha256(original).hexdigest()
    await call.respond(
        200,
        original,
        [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"etag", f'"sha256:{digest}"'.encode()),
            (b"x-cg-original-sha256", digest.encode()),
            (b"x-cg-total-bytes", b"%d" % len(original)),
            (b"x-content-type-options", b"nosniff"),
            (b"content-security-policy", b"sandbox"),
            _NOT_STORED,
        ],
    )

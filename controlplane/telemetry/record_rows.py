"""A reported request as rows of the tables (04 section 1.6)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from controlplane.telemetry.inserting import Row
from controlplane.telemetry.queries.losses import MISSING
from controlplane.telemetry.queries.requests import request_uid
from controlplane.telemetry.runs import packed
from controlplane.telemetry.usd import nano
from dataplane.core.uplink import Batch, RequestRow

LONGEST = {"session": 128, "thread": 128, "model": 128, "error_type": 64}
MARKER_MAX = 64


def storable(row: RequestRow) -> RequestRow:
    """With the text of clients as every database takes it: without NUL, and cut to its column."""
    changed: dict[str, Any] = {}
    for name, most in LONGEST.items():
        said = getattr(row, name)
        if (kept := _text(said, most)) != said:
            changed[name] = kept
    if row.recoveries:
        changed["recoveries"] = [
            replace(call, id=_text(call.id, MARKER_MAX)) for call in row.recoveries
        ]
    return replace(row, **changed) if changed else row


def _text(said: str, most: int) -> str:
    return said.replace("\0", "\N{REPLACEMENT CHARACTER}")[:most]


def uid_of(row: RequestRow) -> str:
    return request_uid(row.request_id)


def missing_in(row: RequestRow) -> int:
    return sum(call.found in MISSING for call in row.recoveries)


def malformed_in(row: RequestRow) -> int:
    return sum(call.found == "malformed" for call in row.recoveries)


def accounting(row: RequestRow) -> str:
    """complete, estimated (its output is what was delivered of an answer that was cut), partial
    (its price is unknown) or missing (what it used is unknown).
    """
    if not row.usage_known:
        return "missing"
    if row.cost_usd is None:
        return "partial"
    return "estimated" if row.usage_estimated else "complete"


def cost_of(row: RequestRow) -> Decimal | None:
    return None if row.cost_usd is None else Decimal(row.cost_usd)


def saved_of(row: RequestRow) -> Decimal | None:
    return None if row.saved_usd is None else Decimal(row.saved_usd)


def request_row(row: RequestRow, batch: Batch, *, at: int, turn: int) -> Row:
    """Columns of RequestRecord. at: ms, by our clock."""
    return {
        "uid": uid_of(row),
        "at": at,
        "node_at": row.at,
        "tenant_uid": row.tenant,
        "session_uid": row.session,
        "thread": row.thread,
        "turn": turn,
        "node_id": batch.node_id,
        "boot_id": batch.boot_id,
        "route": row.route,
        "provider": row.provider,
        "model": row.model,
        "effective_hash": row.snapshot,
        "variant": row.variant,
        "arm": row.arm,
        "origin": row.origin,
        **_outcome(row),
        **_tokens(row),
        "added_ms": row.added_ms,
        "upstream_ms": row.upstream_ms,
        "first_byte_ms": row.first_byte_ms,
        "serve_ms": row.serve_ms,
        "expands": row.expands,
        "expand_tokens": row.expand_tokens,
        "expand_missing": missing_in(row),
        "expand_malformed": malformed_in(row),
        "recoveries": _recoveries(row),
        "captured": row.captured,
        "texts_left_out": row.texts_left_out,
        "runs": packed(row.components),
    }


def _recoveries(row: RequestRow) -> str:
    if not row.recoveries:
        return "[]"
    return json.dumps([{"id": call.id, "found": call.found} for call in row.recoveries])


def _outcome(row: RequestRow) -> dict[str, Any]:
    return {
        "status": row.status,
        "outcome": row.outcome,
        "error_code": row.error_type,
        "bypassed": row.bypassed,
        "cache_phase": row.cache_phase,
        "pristine_resend": row.pristine_resend,
        "streamed": row.streamed,
        "sse_buffered": row.buffered,
        "compacted": row.compacted,
        "rewrite_failed": row.rewrite_failed,
        "ending": row.ending,
        "rounds": row.rounds,
        "reverts": sum(each.reverted for each in row.components),
    }


def _tokens(row: RequestRow) -> dict[str, Any]:
    return {
        "shaped": row.shaped,
        "tokens_before": row.tokens_before,
        "tokens_after": row.tokens_after,
        "attempted_tokens": row.attempted,
        "saved_unique": row.saved_unique,
        "cold_held": row.cold_held,
        "fresh_input": row.fresh_input,
        "cache_read": row.cache_read,
        "cache_write": row.cache_write,
        "cache_write_1h": row.cache_write_1h,
        "output": row.output,
        "cost_usd": nano(cost_of(row)),
        "saved_usd": nano(saved_of(row)),
        "accounting": accounting(row),
        "priced_by": row.priced_by[:32],
        "usage_miss": row.usage_miss,
    }

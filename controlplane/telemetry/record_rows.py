"""A reported request as rows of the tables (04 §1.6)."""

from __future__ import annotations

import json
from decimal import Decimal
from operator import attrgetter
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
    if "\0" in said:
        said = said.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return said[:most]


def uid_of(row: RequestRow) -> str:
    return request_uid(row.request_id)


def missing_in(row: RequestRow) -> int:
    return sum([call.found in MISSING for call in row.recoveries])


def malformed_in(row: RequestRow) -> int:
    return sum([call.found == "malformed" for call in row.recoveries])


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


_SAME = (
    *("thread", "route", "provider", "model", "variant", "arm", "origin", "status", "outcome"),
    *("bypassed", "cache_phase", "pristine_resend", "streamed", "compacted", "rewrite_failed"),
    *("ending", "rounds", "shaped", "tokens_before", "tokens_after", "saved_unique", "cold_held"),
    *("fresh_input", "cache_read", "cache_write", "cache_write_1h", "output", "usage_miss"),
    *("added_ms", "upstream_ms", "first_byte_ms", "serve_ms", "expands", "expand_tokens"),
    *("captured", "texts_left_out"),
)
# Column to the field of a report that it takes over as it is; one call reads them all.
_TAKEN_OVER = {
    **{name: name for name in _SAME},
    "node_at": "at",
    "tenant_uid": "tenant",
    "session_uid": "session",
    "effective_hash": "snapshot",
    "error_code": "error_type",
    "sse_buffered": "buffered",
    "attempted_tokens": "attempted",
}
_taken_over = attrgetter(*_TAKEN_OVER.values())


def request_row(row: RequestRow, batch: Batch, *, at: int, turn: int) -> Row:
    """Columns of RequestRecord. at: ms, by our clock."""
    return {
        **dict(zip(_TAKEN_OVER, _taken_over(row), strict=True)),
        "uid": uid_of(row),
        "at": at,
        "turn": turn,
        "node_id": batch.node_id,
        "boot_id": batch.boot_id,
        "reverts": sum([each.reverted for each in row.components]),
        "cost_usd": nano(cost_of(row)),
        "saved_usd": nano(saved_of(row)),
        "accounting": accounting(row),
        "priced_by": row.priced_by[:32],
        "expand_missing": missing_in(row),
        "expand_malformed": malformed_in(row),
        "recoveries": _recoveries(row),
        "runs": packed(row.components),
    }


def _recoveries(row: RequestRow) -> str:
    if not row.recoveries:
        return "[]"
    return json.dumps([{"id": call.id, "found": call.found} for call in row.recoveries])

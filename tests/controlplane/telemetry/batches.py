"""Batches as a node would send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dataplane.core.uplink import (
    Batch,
    ComponentDelta,
    ComponentRow,
    Delta,
    MarkerRow,
    RecoveryRow,
    RequestRow,
)

NOW = 1_800_000_000_000
BUCKET = NOW - NOW % 10_000
MARKER = "91c9568c40c8d8d1"


def row(number: int, **changed: Any) -> RequestRow:
    """A request of session s1 on which mask removed 400 of 1000 tokens."""
    fields: dict[str, Any] = {
        "request_id": f"R{number:025}",
        "at": NOW,
        "route": "messages",
        "provider": "anthropic",
        "tenant": "ten_orchid",
        "session": "s1",
        "model": "claude",
        "status": 200,
        "shaped": True,
        "tokens_before": 1000,
        "tokens_after": 600,
        "attempted": 900,
        "saved_unique": 400,
        "usage_known": True,
        "fresh_input": 10,
        "cache_read": 20,
        "output": 5,
        "cost_usd": "0.004900",
        "added_ms": 3.0,
        "components": [
            ComponentRow(
                "mask", "offload", acted=True, mutated=True, saved=400, saved_unique=400,
                duration_ms=2.0, gates={"cached_prefix": 2}, events={},
            )
        ],
        **changed,
    }  # fmt: skip
    return RequestRow(**fields)


def lost(number: int, **changed: Any) -> RequestRow:
    """A request whose recovery call found nothing, after it had been minted before."""
    return row(number, recoveries=[RecoveryRow(MARKER, "expired")], **changed)


def delta(requests: int = 1, **changed: Any) -> Delta:
    """What so many of those requests come to."""
    fields: dict[str, Any] = {
        "bucket_at": BUCKET,
        "tenant": "ten_orchid",
        "counts": {
            "all_requests": requests,
            "requests": requests,
            "tokens_before": 1000 * requests,
            "tokens_after": 600 * requests,
            "saved_tokens_unique": 400 * requests,
            "priced_requests": requests,
            "a_newer_counter": requests,
        },
        "components": {
            "mask": ComponentDelta(
                counts={"runs": requests, "acted": requests, "saved_tokens": 400 * requests},
                gates={"cached_prefix": 2 * requests},
                gate_requests={"cached_prefix": requests},
                duration_ms=2.0 * requests,
                spread={12: requests},
            )
        },
        "billed_usd": f"{0.0049 * requests:.6f}",
        "added": {13: requests},
        **changed,
    }
    return Delta(**fields)


def batch(
    seq: int,
    rows: Sequence[RequestRow] = (),
    deltas: Sequence[Delta] | None = None,
    **changed: Any,
) -> Batch:
    """With the counters of its rows, if none are given."""
    moved = [delta(len(rows))] if deltas is None and rows else list(deltas or ())
    fields: dict[str, Any] = {"node_id": "node-a", "boot_id": "boot-1", "sent_at": NOW, **changed}
    return Batch(seq=seq, rows=list(rows), deltas=moved, **fields)


def minted(marker_id: str = MARKER) -> list[MarkerRow]:
    return [MarkerRow(marker_id, "mask", 400)]


def written(one: Batch) -> bytes:
    return msgspec.json.encode(one)

"""Rows as the ingest writes them, for pages that show them."""

from __future__ import annotations

from typing import Any

from controlplane.telemetry.models import (
    ComponentBucket,
    MarkerRecord,
    NodeStream,
    RequestRecord,
    SessionRecord,
    SignalBucket,
    TrafficBucket,
)
from controlplane.telemetry.queries.windows import now_ms
from controlplane.telemetry.resolutions import RESOLUTIONS, bucket_of

MARKER = "c9f0f895fb98ab91"
IMAGE = "<img src=x onerror=alert(1)>"
BREAKS_OUT = '"><svg onload=alert(2)>'


def a_session(tenant: str, session: str = "s1", *, turns: int = 3, **said: Any) -> SessionRecord:
    """A conversation of some turns: the first took a text out."""
    now = now_ms()
    for turn in range(1, turns + 1):
        run = {
            "kind": "offload",
            "acted": turn == 1,
            "mutated": turn == 1,
            "saved": 6014,
            "gates": {"within_keep_recent": 1},
            "events": {"markers": 1},
        }
        at = now - (turns - turn) * 60_000
        a_request(tenant, session, turn, at=at, runs={"mask": run})
    MarkerRecord.objects.create(
        tenant_uid=tenant,
        marker_id=MARKER if session == "s1" else f"{turns:016x}",
        session_uid=session,
        component="mask",
        saved_tokens=6014,
        created_at=now,
    )
    fields: dict[str, Any] = {
        "first_at": now - turns * 60_000,
        "last_at": now,
        "requests": turns,
        "tokens_before": 90_000,
        "tokens_after": 60_000,
        "saved_unique": 6014,
        "cache_read": 40_000,
        "cost_usd": "0.25",
        "priced": turns,
        "model_names": "claude-sonnet-4-5",
    }
    return SessionRecord.objects.create(
        tenant_uid=tenant, session_uid=session, **{**fields, **said}
    )


def a_request(tenant: str, session: str, turn: int, **said: Any) -> RequestRecord:
    fields: dict[str, Any] = {
        "uid": f"01kb{RequestRecord.objects.count():022d}",
        "at": now_ms(),
        "node_at": now_ms(),
        "tenant_uid": tenant,
        "session_uid": session,
        "turn": turn,
        "node_id": "node-b",
        "boot_id": "boot-1",
        "route": "messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "status": 200,
        "outcome": "ok",
        "shaped": True,
        "tokens_before": 30_000,
        "tokens_after": 20_000,
        "fresh_input": 1_000,
        "cache_read": 18_000,
        "output": 500,
        "cost_usd": "0.0831",
        "accounting": "complete",
        "cache_phase": "warm",
        "serve_ms": 1200.0,
    }
    return RequestRecord.objects.create(**{**fields, **said})


def traffic(tenant: str, **counted: Any) -> None:
    """What a node reported of this moment; names without a column are kept by their name."""
    now = now_ms()  # one moment for all: two may lie in different hours
    a_stream("node-a", first_at=now - 60_000)
    columns = {field.name for field in TrafficBucket._meta.get_fields()}
    for resolution_s in RESOLUTIONS:
        TrafficBucket.objects.create(
            resolution_s=resolution_s,
            bucket_at=bucket_of(now, resolution_s),
            tenant_uid=tenant,
            counts={name: n for name, n in counted.items() if name not in columns},
            **{name: n for name, n in counted.items() if name in columns},
        )


BUSY: dict[str, Any] = {
    "requests": 18_402,
    "shaped": 16_204,
    "sessions": 612,
    "tokens_before": 1_440_000_000,
    "tokens_after": 1_213_000_000,
    "attempted_tokens": 561_000_000,
    "saved_unique": 17_400_000,
    "fresh_input": 21_400_000,
    "cache_read": 1_089_900_000,
    "cache_write": 96_800_000,
    "cache_write_1h": 8_200_000,
    "output": 9_600_000,
    "cost_usd": "611.28",
    "saved_usd": "85.39",
    "priced": 18_402,
    "expands": 214,
    "bypassed:observe": 2_073,
}


def a_run(tenant: str, component: str = "mask", **counted: int) -> None:
    """What one component did just now."""
    place = {"tenant_uid": tenant, "component": component}
    now = now_ms()
    for resolution_s in RESOLUTIONS:
        at = {"resolution_s": resolution_s, "bucket_at": bucket_of(now, resolution_s)}
        ComponentBucket.objects.create(**at, **place, **counted)
        SignalBucket.objects.create(
            **at, **place, signal="below_min_tokens", kind="gate", n=40_213, requests=9_000
        )


def a_stream(node: str, **said: Any) -> NodeStream:
    """A process of the node that reports."""
    fields: dict[str, Any] = {"boot_id": "boot-1", "first_at": 1, "last_at": now_ms()}
    key = {"node_id": node, "boot_id": {**fields, **said}["boot_id"]}
    return NodeStream.objects.update_or_create(**key, defaults={**fields, **said})[0]

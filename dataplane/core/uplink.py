"""What a node reports: one row per finished request, and how far its counters moved.

Numbers, names and ids; text of a conversation only in a TextRow, for a tenant who agreed to it.
Fields are only ever added; a reader keeps counter names that it does not know.
Source: 03-proxy-and-recovery.md 9.9; 04-controlplane-and-dashboard.md 1.6, 6.6, 8.7.
"""

from __future__ import annotations

import msgspec

BATCH_MAX_BYTES = 1 << 20
BUCKET_S = 10


class RejectedError(Exception):
    """The receiver will never take this batch; sending it again would be in vain."""


class MarkerRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A marker in this request that the node had not reported yet. saved: tokens."""

    id: str
    component: str
    saved: int = 0


class RecoveryRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One recovery call. found: a value of dataplane.core.effects.Found."""

    id: str
    found: str


class ComponentRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one component did to the request. saved, saved_unique: tokens."""

    component: str
    kind: str
    acted: bool = False
    acted_replay: bool = False
    mutated: bool = False
    reverted: bool = False
    skipped: bool = False
    discarded: int = 0
    saved: int = 0
    saved_unique: int = 0
    duration_ms: float = 0.0
    error: str = ""
    gates: dict[str, int] = {}
    events: dict[str, int] = {}


class TextRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text that the pipeline changed, as dataplane.core.rewritten lets it leave.

    path: of its message in the body. components: in the order they changed it. redactions: how
    many values were taken out of both. is_cut: only the beginning is here.
    """

    path: str
    before: str
    after: str
    before_tokens: int = 0
    after_tokens: int = 0
    components: list[str] = []
    redactions: int = 0
    is_cut: bool = False


class RequestRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One finished client request. at: ms since the epoch; durations in ms, None for unmeasured.

    origin: agent, or keepalive for a ping of ours, which is spend and no request.
    cost_usd, saved_usd: decimal numbers, None for unknown. usage_known: the four tiers were
    reported. usage_miss: why they were not. replayed: decisions of earlier turns that were
    applied again. captured: the tenant agreed that changed texts are kept. texts_left_out: how many
    found no room.
    """

    request_id: str
    at: int
    route: str
    provider: str
    tenant: str = ""
    session: str = ""
    thread: str = ""
    model: str = ""
    snapshot: str = ""
    variant: str = ""
    arm: str = "base"
    origin: str = "agent"
    status: int = 0
    outcome: str = "ok"
    error_type: str = ""
    bypassed: str = ""
    cache_phase: str = ""
    pristine_resend: str = ""
    streamed: bool = False
    buffered: bool = False
    compacted: bool = False
    rewrite_failed: bool = False
    rounds: int = 0
    shaped: bool = False
    tokens_before: int = 0
    tokens_after: int = 0
    attempted: int = 0
    saved_unique: int = 0
    usage_known: bool = False
    usage_miss: str = ""
    fresh_input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    cost_usd: str | None = None
    saved_usd: str | None = None
    added_ms: float | None = None
    upstream_ms: float | None = None
    first_byte_ms: float | None = None
    serve_ms: float = 0.0
    expands: int = 0
    expand_tokens: int = 0
    replayed: int = 0
    components: list[ComponentRow] = []
    minted: list[MarkerRow] = []
    recoveries: list[RecoveryRow] = []
    captured: bool = False
    texts: list[TextRow] = []
    texts_left_out: int = 0


class ComponentDelta(msgspec.Struct, omit_defaults=True):
    """How far one component's counters moved. counts: by the field names of /stats.

    gate_requests, event_requests: on how many requests it was raised. spread: runs by the slot
    of their duration.
    """

    counts: dict[str, int] = {}
    gates: dict[str, int] = {}
    events: dict[str, int] = {}
    gate_requests: dict[str, int] = {}
    event_requests: dict[str, int] = {}
    duration_ms: float = 0.0
    spread: dict[int, int] = {}


class Delta(msgspec.Struct, omit_defaults=True):
    """How far the counters of one tenant and arm moved within BUCKET_S. bucket_at: ms.

    counts: by the names of dataplane.adapters.totals. pings_usd: a part of billed_usd.
    rescued_usd: what requests did not pay because pings had kept their prefix. added, upstream:
    requests by slot.
    """

    bucket_at: int
    tenant: str = ""
    arm: str = "base"
    counts: dict[str, int] = {}
    unresolved: dict[str, int] = {}
    bypassed: dict[str, int] = {}
    refused: dict[str, int] = {}
    components: dict[str, ComponentDelta] = {}
    billed_usd: str = "0"
    saved_usd: str = "0"
    pings_usd: str = "0"
    rescued_usd: str = "0"
    added: dict[int, int] = {}
    upstream: dict[int, int] = {}


class Batch(msgspec.Struct, omit_defaults=True):
    """One report. seq: from 1, one more with each batch of a boot. sent_at: ms, of this attempt.

    dropped: rows that found no room since the batch before; their counters are in the deltas.
    claimed: requests counted since the start, those of this batch included.
    """

    node_id: str
    boot_id: str
    seq: int
    sent_at: int
    claimed: int = 0
    dropped: int = 0
    rows: list[RequestRow] = []
    deltas: list[Delta] = []


_decoder = msgspec.json.Decoder(Batch)


def decode(body: bytes) -> Batch:
    """Raises msgspec.DecodeError for what is no batch."""
    return _decoder.decode(body)

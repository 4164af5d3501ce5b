"""What a node reports: one row per finished request, and how far its counters moved.

Numbers, names and ids; text of a conversation only in a TextRow, for a tenant who agreed to it.
Fields are only ever added; a reader keeps counter names that it does not know. Every number has
bounds within which each database holds it and sums of it: a row past them is left out alone.
Source: 03-proxy-and-recovery.md 9.9; 04-controlplane-and-dashboard.md 1.6, 6.6, 8.7.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import msgspec

BATCH_MAX_BYTES = 1 << 20
BUCKET_S = 10

T = TypeVar("T")
Moment = Annotated[int, msgspec.Meta(ge=0, le=10**14)]  # ms since the epoch: a date has a year
Few = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Figure = Annotated[int, msgspec.Meta(ge=-(10**13), le=10**13)]
Number = Annotated[int, msgspec.Meta(ge=0, le=10**15)]  # of a batch, or added up since a start
Milliseconds = Annotated[float, msgspec.Meta(ge=-1e13, le=1e13)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e11)]


class RejectedError(Exception):
    """The receiver will never take this batch; sending it again would be in vain."""


class MarkerRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A marker in this request that the node had not reported yet. saved: tokens."""

    id: str
    component: str
    saved: Figure = 0


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
    discarded: Few = 0
    saved: Figure = 0
    saved_unique: Figure = 0
    duration_ms: Milliseconds = 0.0
    error: str = ""
    gates: dict[str, Figure] = {}
    events: dict[str, Figure] = {}


class TextRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text that the pipeline changed, as dataplane.core.pipeline.rewritten lets it leave.

    path: of its message in the body. components: in the order they changed it. redactions: how
    many values were taken out of both. is_cut: only the beginning is here.
    """

    path: str
    before: str
    after: str
    before_tokens: Few = 0
    after_tokens: Few = 0
    components: list[str] = []
    redactions: Few = 0
    is_cut: bool = False


class RequestRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One finished client request. at: ms since the epoch; durations in ms, None for unmeasured.

    origin: agent, or keepalive for a ping of ours, which is spend and no request. cost_usd,
    saved_usd: decimal numbers, None for unknown; priced_by: by whose price. usage_known: the four
    tiers were reported. usage_estimated: the answer was cut, and its output is what was delivered.
    usage_miss: why they were not. replayed: decisions of earlier turns that were applied again.
    captured: the tenant agreed that changed texts are kept. texts_left_out: how many found no room.
    cold_held: tokens that cold_cache would have removed from an expired cache.
    ending: what became of recovery calls that were not answered here.
    """

    request_id: str
    at: Moment
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
    status: Few = 0
    outcome: str = "ok"
    error_type: str = ""
    bypassed: str = ""
    cache_phase: str = ""
    pristine_resend: str = ""
    streamed: bool = False
    buffered: bool = False
    compacted: bool = False
    rewrite_failed: bool = False
    ending: str = ""
    rounds: Few = 0
    shaped: bool = False
    tokens_before: Figure = 0
    tokens_after: Figure = 0
    attempted: Figure = 0
    saved_unique: Figure = 0
    cold_held: Figure = 0
    usage_known: bool = False
    usage_estimated: bool = False
    usage_miss: str = ""
    priced_by: str = ""
    fresh_input: Figure = 0
    cache_read: Figure = 0
    cache_write: Figure = 0
    cache_write_1h: Figure = 0
    output: Figure = 0
    cost_usd: str | None = None
    saved_usd: str | None = None
    added_ms: Milliseconds | None = None
    upstream_ms: Milliseconds | None = None
    first_byte_ms: Milliseconds | None = None
    serve_ms: Milliseconds = 0.0
    expands: Few = 0
    expand_tokens: Figure = 0
    replayed: Few = 0
    components: list[ComponentRow] = []
    minted: list[MarkerRow] = []
    recoveries: list[RecoveryRow] = []
    captured: bool = False
    texts: list[TextRow] = []
    texts_left_out: Few = 0


class ComponentDelta(msgspec.Struct, omit_defaults=True):
    """How far one component's counters moved. counts: by the field names of /stats.

    gate_requests, event_requests: on how many requests it was raised. spread: runs by the slot
    of their duration.
    """

    counts: dict[str, Figure] = {}
    gates: dict[str, Figure] = {}
    events: dict[str, Figure] = {}
    gate_requests: dict[str, Figure] = {}
    event_requests: dict[str, Figure] = {}
    duration_ms: Milliseconds = 0.0
    spread: dict[int, Figure] = {}


class Delta(msgspec.Struct, omit_defaults=True):
    """How far the counters of one tenant and arm moved within BUCKET_S. bucket_at: ms.

    counts: by the names of dataplane.adapters.figures.totals. pings_usd: a part of billed_usd.
    rescued_usd: what requests did not pay because pings had kept their prefix. added, upstream:
    requests by slot.
    """

    bucket_at: Moment
    tenant: str = ""
    arm: str = "base"
    counts: dict[str, Figure] = {}
    unresolved: dict[str, Figure] = {}
    bypassed: dict[str, Figure] = {}
    refused: dict[str, Figure] = {}
    components: dict[str, ComponentDelta] = {}
    billed_usd: str = "0"
    saved_usd: str = "0"
    pings_usd: str = "0"
    rescued_usd: str = "0"
    added: dict[int, Figure] = {}
    upstream: dict[int, Figure] = {}


class AnswerRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a node that starts from a bundle serves: its answer to one resource in it.

    As dataplane.core.resource.Ack, whose receiver such a node has not.
    """

    type: str
    name: str
    epoch: Number
    version: Number
    hash: str
    status: Literal["ack", "nack"] = "ack"
    serving: tuple[Number, Number] | None = None
    errors: list[dict[str, object]] = []
    build_ms: Milliseconds = 0.0
    applied_at: Seconds = 0.0


class UseRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the subject of a credential used it since the start of the process. Times in ms.

    session, model, status: of the first request, as dataplane.adapters.figures.arrivals has them.
    """

    principal: str
    tenant: str
    first_at: Moment
    last_at: Moment
    session: str = ""
    model: str = ""
    status: Few = 0


class Batch(msgspec.Struct, omit_defaults=True):
    """One report. seq: from 1, one more with each batch of a boot. sent_at: ms, of this attempt.

    dropped: rows that found no room since the batch before; their counters are in the deltas.
    claimed: requests counted since the start, those of this batch included. refused:
    pieces that `decode` left out. answers: of a node that follows nobody. uses: that are new or
    later than reported. gauges: of the process now, by the field names of /stats, and
    disk_used_permille, of the disk of its originals. is_last: the process ends in good order.
    """

    node_id: str
    boot_id: str
    seq: Number
    sent_at: Moment
    claimed: Number = 0
    dropped: Number = 0
    rows: list[RequestRow] = []
    deltas: list[Delta] = []
    refused: Few = 0
    answers: list[AnswerRow] = []
    uses: list[UseRow] = []
    gauges: dict[str, Number] = {}
    is_last: bool = False


_decoder = msgspec.json.Decoder(Batch)
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_pieces_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_PIECES: Mapping[str, type[msgspec.Struct]] = {
    "rows": RequestRow,
    "deltas": Delta,
    "answers": AnswerRow,
    "uses": UseRow,
}
_PIECE_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in _PIECES.items()}


def decode(body: bytes) -> Batch:
    """A batch without the rows and deltas that are none, or past their bounds; it says how many.

    Raises msgspec.DecodeError for what is no batch.
    """
    try:
        return _decoder.decode(body)
    except msgspec.ValidationError:
        return _piece_by_piece(body)


def _piece_by_piece(body: bytes) -> Batch:
    members = _members_decoder.decode(body)
    pieces = {name: _pieces_decoder.decode(members.pop(name, _NOTHING)) for name in _PIECE_DECODERS}
    batch = _decoder.decode(msgspec.json.encode(members))
    for name, decoder in _PIECE_DECODERS.items():
        found = _readable(decoder, pieces[name])
        setattr(batch, name, found)
        batch.refused += len(pieces[name]) - len(found)
    return batch


_NOTHING = msgspec.Raw(b"[]")


def _readable(decoder: msgspec.json.Decoder[T], pieces: list[msgspec.Raw]) -> list[T]:
    found = []
    for piece in pieces:
        with contextlib.suppress(msgspec.DecodeError, UnicodeError):
            found.append(decoder.decode(piece))
    return found

"""The top-level blocks `recovery` and `expand`.

Source: 05-scoped-recovery-and-image-offload.md A9.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import msgspec

from dataplane.core.effects import Reach
from dataplane.core.port.declaration import key

MAX_DEADLINE_MS = 5000
MAX_RETRIEVE_DEADLINE_MS = 30_000
SMALLEST_ADVISED_PAGE = 262_144
# Designed, and declared ahead of its behaviour.
scoped = partial(key, lacks="the interface of scoped recovery")
_TOKEN = "^[A-Za-z0-9._:/-]+$"  # noqa: S105  the grammar of a name


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one request of the recovery interface may cost; sizes may only be lowered."""

    deadline_ms: Annotated[int, key("Time for storing.", unit="ms", ge=1)] = 500
    retrieve_deadline_ms: Annotated[int, key("Time for reading.", unit="ms", ge=1)] = 5000
    request_bytes: Annotated[int, key("Largest request.", unit="bytes", ge=1, le=2_097_152)] = (
        2_097_152
    )
    segment_bytes: Annotated[int, key("Largest segment.", unit="bytes", ge=1, le=524_288)] = 524_288
    page_bytes: Annotated[
        int, key("Largest page that is read at once.", unit="bytes", ge=4, le=262_144)
    ] = 262_144
    receipt_bytes: Annotated[int, key("Largest receipt.", unit="bytes", ge=1, le=16_384)] = 16_384
    max_segments: Annotated[int, key("Segments of one request.", ge=1, le=256)] = 256
    max_manifest_items: Annotated[int, key("Items of one manifest.", ge=1, le=4096)] = 4096
    queue_depth: Annotated[int, key("Requests that may wait to store.", ge=1, le=16)] = 16
    retrieve_queue_depth: Annotated[int, key("Requests that may wait to read.", ge=1, le=16)] = 16
    quota_requests_per_minute: (
        Annotated[int, key("Requests of one tenant in a minute.", ge=1)] | None
    ) = None


class Quota(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one tenant may keep; not written: a quarter of what the node holds."""

    rows: Annotated[int, key("Rows that may be kept.", ge=1)] | None = None
    bytes: Annotated[int, key("Bytes that may be kept.", unit="bytes", ge=1)] | None = None


class Recovery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who gets an original back, and scoped recovery: a client hands in what it shows a model and
    gets smaller texts back.
    """

    sharing: Annotated[
        Literal["key", "tenant"],
        key("Who may open an original: the key that it was removed for, or all of the tenant."),
    ] = "key"
    keep_verbatim: Annotated[
        Reach,
        key(
            "Where a text stays whole once it was asked back: in its session, in the tenant, or "
            "there only when two sessions asked within a day."
        ),
    ] = "auto"
    enabled: Annotated[bool, scoped("Offer the recovery interface.")] = False
    mode: Annotated[
        Literal["record", "compress"], scoped("Record only, or hand out replacements as well.")
    ] = "record"
    retention_seconds: Annotated[
        int, scoped("How long originals are kept.", unit="s", ge=60, le=604_800)
    ] = 86_400
    max_retention_seconds: Annotated[
        int, scoped("Longest retention that a client may ask for.", unit="s", ge=60, le=2_592_000)
    ] = 604_800
    grace_seconds: Annotated[
        int, scoped("How long a name stays taken after its end.", unit="s", ge=0)
    ] = 604_800
    on_manifest_change: Annotated[
        Literal["reject", "rebaseline"], scoped("What follows when earlier items change.")
    ] = "reject"
    transforms: Annotated[
        list[str], scoped("Components that may shorten one text; the first that does wins.")
    ] = msgspec.field(default_factory=lambda: ["extract", "cmdfilter", "smartcrush", "collapse"])
    adopt_stashes: Annotated[bool, scoped("Take over originals that a marker points to.")] = True
    principal: Annotated[Literal["tenant", "token"], scoped("Who owns what is handed in.")] = (
        "tenant"
    )
    allowed_namespaces: (
        Annotated[
            list[Annotated[str, msgspec.Meta(pattern=_TOKEN, max_length=256)]],
            scoped("Namespaces that may be used; not written: all."),
        ]
        | None
    ) = None
    limits: Annotated[Limits, scoped("Bounds of one request.")] = Limits()
    quota: Annotated[Quota, scoped("Bounds of one tenant.")] = Quota()


class Expand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The recovery tool that the model calls."""

    tool_paging: Annotated[bool, key("Hand out large originals page by page.")] = False
    max_inline_bytes: Annotated[
        int,
        key("Originals above this are paged.", unit="bytes", ge=0, zero_means="none is paged"),
    ] = 0

"""The keys of a document that belong to no component, with their types, defaults and bounds.

Source: 04-controlplane-and-dashboard.md 2.2 and 2.8; 03-proxy-and-recovery.md
3.3, 4.2, 5.4 and 7.4.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

import msgspec

from dataplane.core.config.recovery_keys import Expand, Recovery
from dataplane.core.port.declaration import Refusal, key

Backend = Literal["memory", "sqlite", "redis"]
_MARKING = "the placement of breakpoints"


class Store(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where originals and session state are kept. What is None has a default by backend."""

    enabled: Annotated[
        bool, key("Keep originals, so that the model can ask for what was removed.")
    ] = True
    backend: Annotated[Backend, key("Where originals are kept.")] = "sqlite"
    ttl_seconds: (
        Annotated[int, key("How long an original is kept after it was last read.", unit="s", ge=60)]
        | None
    ) = None
    max_entries: (
        Annotated[int, key("Originals and decisions that one tenant may keep.", ge=16)] | None
    ) = None
    max_sessions: (
        Annotated[int, key("Sessions whose decisions are replayed unchanged.", ge=1)] | None
    ) = None
    stash_ttl_seconds: (
        Annotated[int, key("Lifetime of originals alone; at most ttl_seconds.", unit="s", ge=60)]
        | None
    ) = None
    stash_max_bytes: (
        Annotated[int, key("Bytes of originals that may be kept.", unit="bytes", ge=1)] | None
    ) = None


class Observe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Used in mode observe only: what the pipeline would do is measured beside the request."""

    max_queue: Annotated[int, key("Requests that may wait to be observed.", ge=1)] = 256
    workers: Annotated[int, key("Requests observed at the same time.", ge=1)] = 1


class Cache(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The provider's prompt cache: whether decisions respect it, and keeping it alive."""

    mode: Annotated[
        Literal["auto", "on", "off"],
        key("Whether decisions respect what the provider holds in its prompt cache."),
    ] = "auto"
    keepalive: Annotated[bool, key("Refresh the cached prefix of idle sessions with a ping.")] = (
        False
    )
    keepalive_idle_seconds: Annotated[
        int, key("Idle time before a ping.", unit="s", ge=0, le=299)
    ] = 280
    keepalive_max_pings: Annotated[int, key("Pings for one idle period.", ge=0)] = 2
    keepalive_min_prefix_tokens: Annotated[
        int, key("Smallest cached prefix worth a ping.", unit="tokens", ge=0)
    ] = 20_000
    keepalive_max_usd_per_ping: Annotated[
        Decimal, key("Most that one ping may cost.", unit="usd")
    ] = Decimal("0.25")
    head_ttl_1h: Annotated[
        bool, key("Ask for the one-hour lifetime on the head.", lacks=_MARKING)
    ] = False
    head_ttl_min_tokens: (
        Annotated[
            int,
            key("Smallest head worth the longer lifetime.", unit="tokens", ge=0, lacks=_MARKING),
        ]
        | None
    ) = None


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The top level, without `components`, whose keys come from the declarations."""

    preset: Annotated[str, key("The preset that fills in what is not written here.")] | None = None
    pipeline: (
        Annotated[list[str], key("The components that run, in this order; [] passes through.")]
        | None
    ) = None
    store: Annotated[Store, key("Where originals are kept.")] = Store()
    mode: Annotated[
        Literal["sync", "observe"],
        key("Change requests, or forward them unchanged and only measure."),
    ] = "sync"
    observe: Annotated[Observe, key("How mode observe measures.")] = Observe()
    cache: Annotated[Cache, key("How the provider's prompt cache is treated.")] = Cache()
    inject_expand: Annotated[
        Literal["auto", "always", "never"],
        key("When the recovery tool is offered to the model."),
    ] = "auto"
    recovery_require_path: Annotated[
        bool, key("Remove nothing from a request whose model could not ask for it again.")
    ] = True
    force_model: (
        Annotated[str, key("Send every request to this model, whatever it names.")] | None
    ) = None
    recovery: Annotated[Recovery, key("Who gets an original back.")] = Recovery()
    expand: Annotated[
        Expand, key("The recovery tool that the model calls.", lacks="paging of large originals")
    ] = Expand()


class PresetDocument(Document, frozen=True, forbid_unknown_fields=True):
    """The top level of a preset, which refines another one by `extends`, not by `preset`."""

    extends: Annotated[str, key("The preset that this one refines.")] | None = None


class StoreSizes(msgspec.Struct, frozen=True):
    """What a backend holds when the document does not say."""

    ttl_seconds: int
    max_entries: int
    max_sessions: int
    stash_max_bytes: int


STORE_SIZES: dict[str, StoreSizes] = {
    "memory": StoreSizes(1800, 1000, 100, 256 << 20),
    "sqlite": StoreSizes(86_400, 200_000, 10_000, 2 << 30),
    "redis": StoreSizes(86_400, 200_000, 10_000, 1 << 30),
}
REMOVED = {
    "responses_stream_expand": Refusal(
        "config.removed_key",
        "A streamed Responses answer is opened for the recovery tool like every other stream.",
        "Delete the key; inject_expand says for all dialects whether the tool is offered.",
    ),
}
UNAVAILABLE_VALUES = {
    "mode": {"async": "Compacting after the answer is designed but not part of this build."}
}

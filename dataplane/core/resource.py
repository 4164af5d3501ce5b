"""The resources that a control plane publishes and a node serves from.

One shape for both sides: the control plane encodes these, the node decodes them strictly.
Source: 03-proxy-and-recovery.md 9.1 to 9.5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

SCHEMA = 1
TENANT = "cg.tenant.v1"
AUTH_INDEX = "cg.authindex.v1"
NODE = "cg.node.v1"
PRICES = "cg.prices.v1"
TOKEN_KIND = "token"  # noqa: S105  the kind of an auth index entry, not a secret
AGENT_KEY_KIND = "agent_key"
OPERATOR_KIND = "operator"


class Envelope(msgspec.Struct, frozen=True):
    """What a node verifies before it applies a resource.

    (epoch, version) only ever grows per (type, name). hash: "sha256:" + hex of the exact body.
    """

    type: str
    name: str
    epoch: int
    version: int
    hash: str
    schema: int = SCHEMA
    issued_at: int = 0
    published_by: str = ""


class Resource(msgspec.Struct, frozen=True):
    """An envelope and the exact bytes it speaks of."""

    envelope: Envelope
    body: bytes


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a document that the proxy itself obeys, not a component (03 §9.1)."""

    mode: Literal["sync", "observe"] = "sync"
    force_model: str | None = None
    inject_expand: Literal["auto", "always", "never"] = "auto"
    recovery_require_path: bool = True
    cache_mode: Literal["auto", "on", "off"] = "auto"


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One effective revision of a tenant: the whole, preset-expanded document."""

    id: str
    config_version: int
    config_hash: str
    role: Literal["base", "candidate", "draining"]
    host: Host
    document: dict[str, Any]


class Kill(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Switches that act at the next request, whatever the document says."""

    bypass: bool = False
    no_new_offloads: bool = False
    observe: bool = False


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Per tenant; 0 is unlimited."""

    rpm: int = 0
    concurrency: int = 0


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    allow_request_overrides: bool = False
    allowed_components: list[str] | None = None
    content_capture: bool = False
    resend_pristine_on_400: bool = True


class TenantBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """cg.tenant.v1. upstreams: dialect ("anthropic", "openai") to the name of an upstream."""

    tenant: str
    slug: str
    label: str
    upstreams: dict[str, str]
    variants: list[Variant]
    status: Literal["active", "disabled", "purged"] = "active"
    status_reason: str = ""
    limits: Limits = Limits()
    policy: Policy = Policy()
    store: dict[str, Any] = {}
    cache: dict[str, Any] = {}
    kill: Kill = Kill()
    assignment: dict[str, Any] | None = None


# One auth index entry: sha256 hex of the credential, kind, tenant id, principal.
AuthEntry = tuple[str, str, str, str]


class Upstream(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One provider endpoint; a tenant selects it by name, never by URL.

    key_ref: the name of the key that we hold for it, key_env: the environment variable that holds
    it; both None where the caller's own is forwarded. header: where that key goes, None for the
    dialect's own slot. header_timeout_s: until the first byte of an answer, 0 is the node's own
    limit. allow_private: it may resolve to an address of a private network.
    """

    name: str
    dialect: Literal["anthropic", "openai", "bob"]
    base_url: str
    key_ref: str | None = None
    key_env: str | None = None
    header: str | None = None
    allow_server_state: bool = False
    wan_compression: bool = False
    proxy_url: str | None = None
    header_timeout_s: int = 0
    allow_private: bool = False


class NodeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """cg.node.v1: the upstream allow-list and the process kill switches."""

    upstreams: list[Upstream]
    kill: Kill = Kill()
    auth_stale_after_s: int = 0


class ModelPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """USD per million tokens as decimal text; window and minimum cacheable size in tokens."""

    input: str
    cache_read: str
    cache_write_5m: str
    output: str
    cache_write_1h: str | None = None
    window: int = 0
    cache_minimum: int = 1024


class PricesBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """cg.prices.v1: model name, or its prefix ending in "*", to price. version: of the card."""

    models: dict[str, ModelPrice]
    version: int = 0


def encode(body: msgspec.Struct | list[AuthEntry]) -> bytes:
    """The bytes that are served and hashed: keys sorted, no spaces, UTF-8."""
    return msgspec.json.encode(body, order="sorted")


def hash_of(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


class BundleError(ValueError):
    """A file that is not a bundle."""


class _Bundled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    envelope: Envelope
    body: str


class _Bundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    resources: list[_Bundled]


def bundle(resources: Sequence[Resource]) -> bytes:
    """One file that a node starts from: {"resources": [{"envelope": {…}, "body": "…"}]}.

    A body is the JSON text that its hash speaks of, as a JSON string, so that it survives to the
    byte; UnicodeDecodeError for a body that is not UTF-8.
    """
    bundled = [_Bundled(found.envelope, found.body.decode()) for found in resources]
    return msgspec.json.format(msgspec.json.encode(_Bundle(bundled)), indent=1) + b"\n"


def unbundle(raw: bytes) -> list[Resource]:
    """The resources of a bundle, in its order; BundleError says what does not fit.

    Bodies are not checked against their hashes here: a node does that to each it applies.
    """
    try:
        found = msgspec.json.decode(raw, type=_Bundle)
    except msgspec.MsgspecError as problem:
        raise BundleError(str(problem)) from problem
    return [Resource(one.envelope, one.body.encode()) for one in found.resources]


@dataclass(frozen=True, slots=True)
class Change:
    """A resource that is newer than what the node's cursor saw."""

    type: str
    name: str
    epoch: int
    version: int
    hash: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """The answer to discover: changes since the cursor, and resources that are gone.

    resync: the cursor was unknown and changes is the complete list.
    """

    cursor: int
    changes: Sequence[Change]
    removed: Sequence[tuple[str, str]] = ()
    resync: bool = False


@dataclass(frozen=True, slots=True)
class Ack:
    """A node's answer to one resource.

    status "nack" leaves the earlier version serving; errors are the problem objects of
    core.config.problems, or one {"code", "message"} of the transport. serving: the
    (epoch, version) that the node answers requests with now, None for none.
    """

    node_id: str
    boot_id: str
    type: str
    name: str
    epoch: int
    version: int
    hash: str
    status: Literal["ack", "nack"]
    serving: tuple[int, int] | None
    errors: Sequence[dict[str, Any]] = ()
    warnings: Sequence[dict[str, Any]] = field(default=())
    build_ms: float = 0.0
    applied_at: float = 0.0


class Source(Protocol):
    """Where a node learns of resources: a file, HTTP, or the control plane in this process."""

    async def discover(self, cursor: int | None, *, wait_s: float) -> Discovery:
        """Return at once when something changed, else after wait_s with nothing."""
        ...

    async def fetch(self, change: Change) -> Resource: ...

    async def ack(self, acks: Sequence[Ack]) -> None: ...

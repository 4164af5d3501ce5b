"""What this node serves: tenants, keys, upstreams and prices, swapped whole.

A resource is verified, compiled and written as last good before one reference is swapped; a
resource that fails leaves the earlier one serving. Nothing here is asked of a database.
Source: 03-proxy-and-recovery.md 9.3, 9.5, 9.6.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dataplane.adapters import failpoints
from dataplane.adapters.serving.lastgood import LastGood
from dataplane.adapters.stores import StoreUnavailableError
from dataplane.core import resource
from dataplane.core.components import components
from dataplane.core.config.check import Compiled, check_document
from dataplane.core.config.problems import ConfigError
from dataplane.core.prices.money import PriceCard, PriceError
from dataplane.core.resource import (
    Ack,
    Envelope,
    NodeBody,
    PricesBody,
    Resource,
    Source,
    TenantBody,
    Upstream,
    Variant,
)
from dataplane.core.serving.overrides import Ignored, Overrides, Wish
from dataplane.core.serving.plan import NOTHING_STOPPED, Plan, plan_of

log = logging.getLogger("headrace.snapshots")
POLL_S = 25
RETRY_S = 1.0
COMPILED_MAX = 512


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant at one version; a request holds on to it from its first to its last byte."""

    body: TenantBody
    version: tuple[int, int]
    hash: str
    plan: Plan
    variant: Variant | None
    overrides: Overrides

    def plan_for(self, wish: Wish, *, allowed: bool = False) -> tuple[Plan, Ignored | None]:
        """The plan that a request runs, and why it is not the one it asked for."""
        found = self.overrides.plan(wish, allowed=allowed) if any(wish) else self.plan
        return (self.plan, found) if isinstance(found, Ignored) else (found, None)


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom a credential belongs to."""

    tenant: str
    name: str
    kind: str


class NackError(Exception):
    """A resource that this node will not serve, with the problems to report."""

    def __init__(self, code: str, message: str, errors: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.errors = errors or [{"code": code, "severity": "error", "message": message}]


@dataclass
class Snapshots:
    """The served state, and the loop that keeps it current.

    started_at, contact_at: seconds, 0 for never. on_tenant: told of every tenant body that begins
    to serve; on_change: that something serves now, or no more. now: wall clock, seconds.
    nacks: refused resources, by code.
    """

    source: Source
    last_good: LastGood
    node_id: str
    boot_id: str
    on_tenant: Callable[[Tenant], None] = lambda _: None
    on_change: Callable[[], None] = lambda: None
    now: Callable[[], float] = time.time
    tenants: dict[str, Tenant] = field(default_factory=dict)
    upstreams: dict[str, Upstream] = field(default_factory=dict)
    price_card: PriceCard = field(default_factory=lambda: PriceCard({}))
    node: NodeBody | None = None
    contact_at: float = 0.0
    started_at: float = 0.0
    last_nack: str = ""
    nacks: Counter[str] = field(default_factory=Counter)
    _shards: dict[str, dict[str, Principal]] = field(default_factory=dict)
    _served: dict[tuple[str, str], Envelope] = field(default_factory=dict)
    _cursor: int | None = None
    _is_failing: bool = False

    @property
    def is_ready(self) -> bool:
        """Identity can be checked and upstreams are known."""
        return self.node is not None and bool(self._shards)

    @property
    def staleness_s(self) -> float | None:
        """Since the source last answered; None before its first answer."""
        if not self.contact_at:
            return None
        return round(max(0.0, self.now() - self.contact_at), 1)

    @property
    def auth_is_stale(self) -> bool:
        """The source was silent for longer than the operator lets keys be believed."""
        bound = self.node.auth_stale_after_s if self.node else 0
        return bool(bound) and self.now() - (self.contact_at or self.started_at) > bound

    def plan_for(
        self, tenant: Tenant, wish: Wish, *, allowed: bool = False
    ) -> tuple[Plan, Ignored | None]:
        """As the tenant's, with the switches that act on every tenant of this node.

        allowed: the wish counts whatever the tenant's policy says.
        """
        plan, ignored = tenant.plan_for(wish, allowed=allowed)
        kill = self.node.kill if self.node else NOTHING_STOPPED
        return (plan if kill == NOTHING_STOPPED else plan.stopped_by(kill)), ignored

    def principal(self, digest: str) -> Principal | None:
        """Whom the credential with this SHA-256 (hex) belongs to."""
        return self._shards.get(digest[:1], {}).get(digest)

    # ---- keeping current ----------------------------------------------------------------

    def restore(self) -> None:
        """Serve what was last good, before anyone is asked."""
        self.started_at = self.now()
        for saved in self.last_good.load():
            try:
                self._apply(saved)
            except NackError as error:
                log.warning("last-good %s is unusable: %s", saved.envelope.type, error)

    async def refresh(self, *, wait_s: float = 0) -> None:
        """One discovery: fetch and apply what is new, and answer for it."""
        found = await self.source.discover(self._cursor, wait_s=wait_s)
        self.contact_at = self.now()
        applied: list[Resource] = []
        try:
            acks = [await self._take(change, applied) for change in found.changes]
        finally:
            # Also when a later one could not be fetched: a restart must find what serves. And
            # together, because a flush takes its time: a thousand would delay a start by seconds.
            refused = await asyncio.to_thread(self.last_good.save, *applied) if applied else []
        unsaved = {(each.envelope.type, each.envelope.name) for each in refused}
        for kind, name in found.removed:
            self._remove(kind, name)
        if acks:
            told = [_told(ack, is_unsaved=(ack.type, ack.name) in unsaved) for ack in acks]
            await self.source.ack(told)
        self._cursor = found.cursor

    async def try_refresh(self, *, wait_s: float = 0) -> bool:
        """As refresh; False where that failed, which is said once and not at every try."""
        try:
            await self.refresh(wait_s=wait_s)
        except Exception as error:  # noqa: BLE001  logged
            if not self._is_failing:
                _log_failure(error)
            self._is_failing = True
            return False
        self._is_failing = False
        return True

    async def follow(self) -> None:
        """Refresh for ever; a source that fails is asked again, and what serves goes on."""
        while True:
            if not await self.try_refresh(wait_s=POLL_S):
                await asyncio.sleep(RETRY_S)

    async def _take(self, change: resource.Change, applied: list[Resource]) -> Ack:
        """Fetch and apply one change, and answer for it; applied: takes it, where it is new."""
        started = time.perf_counter()
        errors: list[dict[str, Any]] = []
        try:
            fetched = await self.source.fetch(change)
            if self._apply(fetched):
                applied.append(fetched)
        except NackError as error:
            errors, self.last_nack = error.errors, error.code
            self.nacks[error.code] += 1
            log.error("cg.snapshot_nack %s %s: %s", change.type, change.name, error.code)
        serving = self._served.get((change.type, change.name))
        return Ack(
            self.node_id,
            self.boot_id,
            change.type,
            change.name,
            change.epoch,
            change.version,
            change.hash,
            status="nack" if errors else "ack",
            serving=(serving.epoch, serving.version) if serving else None,
            errors=errors,
            build_ms=(time.perf_counter() - started) * 1000,
            applied_at=self.now(),
        )

    def _apply(self, fetched: Resource) -> bool:
        """Verify, compile and swap. False for what is served already. Raises NackError."""
        envelope = fetched.envelope
        key = (envelope.type, envelope.name)
        served = self._served.get(key)
        if served is not None and self._is_stale(envelope, served):
            return False
        if resource.hash_of(fetched.body) != envelope.hash:
            raise NackError("hash_mismatch", "The body is not the one that was announced.")
        if envelope.schema > resource.SCHEMA:
            raise NackError("config.schema_too_new", "This build does not know the schema.")
        apply = _APPLIERS.get(envelope.type)
        if apply is not None:
            apply(self, fetched)
        self._served[key] = envelope
        self.on_change()
        return True

    @staticmethod
    def _is_stale(envelope: Envelope, served: Envelope) -> bool:
        new, old = (envelope.epoch, envelope.version), (served.epoch, served.version)
        if new == old and envelope.hash == served.hash:
            return True
        if new <= old:
            raise NackError("version_regression", "A newer version is being served.")
        return False

    def _remove(self, kind: str, name: str) -> None:
        self._served.pop((kind, name), None)
        if kind == resource.TENANT:
            self.tenants.pop(name, None)
        elif kind == resource.AUTH_INDEX:
            self._shards[name] = {}
        self.last_good.forget(kind, name)
        self.on_change()

    # ---- one kind each ------------------------------------------------------------------

    def _apply_tenant(self, fetched: Resource) -> None:
        body = _decoded(fetched.body, TenantBody)
        base = next((variant for variant in body.variants if variant.role == "base"), None)
        plan = Plan(kill=body.kill) if base is None else _compiled(base, body)
        envelope = fetched.envelope
        overrides = Overrides(body, base, components())
        tenant = Tenant(
            body, (envelope.epoch, envelope.version), envelope.hash, plan, base, overrides
        )
        try:
            self.on_tenant(tenant)
        except StoreUnavailableError as error:
            raise NackError("store_unavailable", str(error)) from error
        failpoints.reached("snapshot_swap")
        self.tenants = {**self.tenants, body.tenant: tenant}

    def _apply_auth_index(self, fetched: Resource) -> None:
        entries = _decoded(fetched.body, list[resource.AuthEntry])
        shard = {digest: Principal(tenant, name, kind) for digest, kind, tenant, name in entries}
        self._shards = {**self._shards, fetched.envelope.name: shard}

    def _apply_node(self, fetched: Resource) -> None:
        self.node = _decoded(fetched.body, NodeBody)
        self.upstreams = {upstream.name: upstream for upstream in self.node.upstreams}

    def may_be_private(self, host: str) -> bool:
        """Whether a manager allows an upstream, or its proxy, of this host a private address."""
        found = (each for each in self.upstreams.values() if each.allow_private)
        addresses = (url for each in found for url in (each.base_url, each.proxy_url or ""))
        return any(urlsplit(url).hostname == host.rstrip(".") for url in addresses)

    def _apply_prices(self, fetched: Resource) -> None:
        try:
            body: PricesBody = _decoded(fetched.body, PricesBody)
            self.price_card = PriceCard(body.models, body.version)
        except PriceError as error:
            raise NackError("build_failed", str(error)) from error


_APPLIERS: dict[str, Callable[[Snapshots, Resource], None]] = {
    resource.TENANT: Snapshots._apply_tenant,
    resource.AUTH_INDEX: Snapshots._apply_auth_index,
    resource.NODE: Snapshots._apply_node,
    resource.PRICES: Snapshots._apply_prices,
}


def _log_failure(error: Exception) -> None:
    """A file or a server that is not there is said in one line, a fault of ours with its way."""
    is_outside = isinstance(error, OSError)
    log.error("cg.snapshot_refresh_failed %s", error, exc_info=None if is_outside else error)


def _told(ack: Ack, *, is_unsaved: bool) -> Ack:
    if not is_unsaved:
        return ack
    warning = {"code": "not_persisted", "message": "The state directory failed."}
    return replace(ack, warnings=(warning,))


def _decoded(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise NackError("build_failed", f"The body does not decode: {error}") from error


@lru_cache(maxsize=COMPILED_MAX)
def _checked(document: bytes) -> Compiled:
    """Tenants that run the same document share what is built from it. Raises ConfigError."""
    return check_document(msgspec.json.decode(document), components())


def _compiled(variant: Variant, body: TenantBody) -> Plan:
    """The plan of a variant. Raises NackError with every problem of its document."""
    try:
        compiled = _checked(msgspec.json.encode(variant.document))
    except ConfigError as error:
        problems = [msgspec.to_builtins(problem) for problem in error.problems]
        raise NackError(problems[0]["code"], "The document does not validate.", problems) from error
    return plan_of(compiled, variant.host, body.kill)

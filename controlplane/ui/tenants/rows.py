"""Tenants as rows and as one page, ready to show (04 §5.13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from controlplane.accounts.models import Tenant, Upstream, User
from controlplane.accounts.queries import chosen_upstreams, upstreams_by_dialect, visible_tenants
from controlplane.accounts.scopes import Scope
from controlplane.alarms.queries import tenants_with_loss
from controlplane.figures import numerals
from controlplane.figures.numerals import Figure
from controlplane.figures.scope import handle
from controlplane.telemetry.queries import State, Window, by_tenant, coverage


@dataclass(frozen=True, slots=True)
class TenantRow:
    handle: str
    label: str
    slug: str
    organisation: str
    document: str
    keys: Figure
    requests: Figure
    unique: Figure
    loss: str
    is_lost: bool
    disabled_reason: str
    is_disabled: bool


WINDOW_S = 30 * 86_400


def tenant_rows(user: User, reach: Scope, window: Window) -> tuple[TenantRow, ...]:
    """Every tenant that the person may see; the number of SQL queries does not grow with them.

    Figures are of the window, as every node reported them.
    """
    live = Count("keys", filter=Q(keys__revoked_at=None))
    tenants = list(
        visible_tenants(user)
        .select_related("document__head")
        .annotate(live_keys=live)
        .order_by("organisation__slug", "slug")
    )
    counted = Losses(by_tenant(reach, window), coverage(window).state, tenants_with_loss(reach))
    return tuple(_row(tenant, tenant.live_keys, tenants, counted) for tenant in tenants)


@dataclass(frozen=True, slots=True)
class Losses:
    """counts: by tenant; None for unknown. state: of all of them. open: uids of tenants with an
    alarm about a loss that is not resolved, whenever that was.
    """

    counts: Mapping[str, Mapping[str, int]] | None
    state: State
    open: frozenset[str]

    def of(self, tenant: str) -> Mapping[str, int] | None:
        return None if self.counts is None else self.counts.get(tenant, {})

    def said(self, tenant: str) -> tuple[str, bool]:
        """In words, and whether something is lost. Nothing is called safe on missing reports."""
        counts = self.of(tenant)
        if counts is None:
            return "unknown", False
        lost = counts.get("expand_missing", 0) + counts.get("stash_missing", 0)
        if lost:
            return f"{numerals.count(lost)} lost", True
        if tenant in self.open:
            return "an earlier loss is open", True
        if not counts.get("requests"):
            return "no data", False
        is_whole = self.state in (State.OK, State.ZERO)
        return ("nothing lost" if is_whole else "none known, reports are missing"), False


def _row(tenant: Tenant, live_keys: int, among: Sequence[Tenant], counted: Losses) -> TenantRow:
    counts = counted.of(tenant.uid)
    loss, is_lost = counted.said(tenant.uid)
    return TenantRow(
        handle=handle(tenant, among),
        label=tenant.label,
        slug=tenant.slug,
        organisation=tenant.organisation.name,
        document=_document(tenant),
        keys=numerals.count(live_keys),
        requests=_figure(counts, "requests"),
        unique=_figure(counts, "saved_unique"),
        loss=loss,
        is_lost=is_lost,
        disabled_reason=tenant.disabled_reason,
        is_disabled=tenant.disabled_at is not None,
    )


def _figure(counts: Mapping[str, int] | None, name: str) -> Figure:
    if counts is None:
        return numerals.UNKNOWN
    return numerals.count(counts[name]) if counts else numerals.NO_DATA


def _document(tenant: Tenant) -> str:
    head = getattr(getattr(tenant, "document", None), "head", None)
    return f"version {head.number}" if head else "follows the default"


@dataclass(frozen=True, slots=True)
class DialectRow:
    """Which upstream serves a dialect, and the names there are to choose from."""

    dialect: str
    label: str
    chosen: str
    names: tuple[str, ...]


def dialect_rows(tenant: Tenant) -> tuple[DialectRow, ...]:
    chosen, offered = chosen_upstreams(tenant), upstreams_by_dialect()
    return tuple(
        DialectRow(
            dialect,
            str(label),
            chosen[dialect].name if dialect in chosen else "",
            tuple(upstream.name for upstream in offered.get(dialect, ())),
        )
        for dialect, label in Upstream.Dialect.choices
        if dialect in offered or dialect in chosen
    )

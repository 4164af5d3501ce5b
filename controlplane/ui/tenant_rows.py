"""Tenants as rows and as one page, ready to show (04 section 5.13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from controlplane.accounts.models import Tenant, Upstream, User
from controlplane.accounts.queries import chosen_upstreams, upstreams_by_dialect, visible_tenants
from controlplane.configs.refused import placed
from controlplane.fleet import running
from controlplane.fleet.queries import Acknowledgement
from controlplane.ui import numerals, problem_rows
from controlplane.ui.figures import Stats, all_requests, whole
from controlplane.ui.numerals import Figure, plural
from controlplane.ui.scope import handle


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


def tenant_rows(user: User) -> tuple[TenantRow, ...]:
    """Every tenant that the person may see; the number of SQL queries does not grow with them."""
    live = Count("keys", filter=Q(keys__revoked_at=None))
    found = list(
        visible_tenants(user)
        .select_related("document__head")
        .annotate(live_keys=live)
        .order_by("organisation__slug", "slug")
    )
    return tuple(_row(tenant, tenant.live_keys, found) for tenant in found)


def _row(tenant: Tenant, live_keys: int, among: Sequence[Tenant]) -> TenantRow:
    stats = running.stats(tenant.uid) or {}
    loss, is_lost = _loss(stats)
    return TenantRow(
        handle=handle(tenant, among),
        label=tenant.label,
        slug=tenant.slug,
        organisation=tenant.organisation.name,
        document=_document(tenant),
        keys=numerals.count(live_keys),
        requests=numerals.count(all_requests(stats)),
        unique=numerals.count(whole(stats, "saved_tokens_unique")),
        loss=loss,
        is_lost=is_lost,
        disabled_reason=tenant.disabled_reason,
        is_disabled=tenant.disabled_at is not None,
    )


def _document(tenant: Tenant) -> str:
    head = getattr(getattr(tenant, "document", None), "head", None)
    return f"version {head.number}" if head else "follows the default"


def _loss(stats: Stats) -> tuple[str, bool]:
    missing = whole(stats, "expand_unresolved_missing")
    if missing is None or not all_requests(stats):
        return "no data", False
    return (f"{numerals.count(missing)} lost", True) if missing else ("nothing lost", False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the nodes say about the newest version: a chip, and problems when they refuse it.

    is_running: it may be called live.
    """

    word: str
    icon: str
    tone: str
    since: datetime | None = None
    sentence: str = ""
    problems: tuple[problem_rows.ProblemRow, ...] = ()

    @property
    def is_running(self) -> bool:
        return self.tone == "ok"


def answer_of(
    said: Acknowledgement, tenant: Tenant, *, own: int | None = None, source: str = ""
) -> Answer:
    """own, source: the version of its document that is read beside the answer, and its text."""
    if said.status == "ack":
        where = "this node" if said.nodes == 1 else plural(said.nodes, "node")
        return Answer(f"running on {where}", "ok", "ok", said.answered_at)
    if said.status == "pending":
        return Answer("waiting for a node", "wait", "quiet")
    serving = f"still serves version {said.serving}" if said.serving else "serves no version"
    return Answer(
        "refused by the node",
        "no",
        "alarm",
        said.answered_at,
        f"The node refused published version {said.version} and {serving}.",
        problem_rows.rows(placed(said.problems, tenant, own=own), source),
    )


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

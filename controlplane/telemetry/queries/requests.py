"""Single requests: the list with its filters, and everything known of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet

from controlplane.accounts.scopes import Scope
from controlplane.telemetry.models import RequestRecord
from controlplane.telemetry.queries.coverage import State, readable
from controlplane.telemetry.queries.paging import PAGE, Page, limited
from controlplane.telemetry.queries.reach import Reach, reach
from controlplane.telemetry.runs import raised, ran, unpacked
from dataplane.core.uplink import ComponentRow

REQUEST_PREFIX = "req_"


def request_uid(said: str) -> str:
    """The uid of a request that `x-context-guru-request-id` named, with the prefix or, as earlier
    releases did, without it.
    """
    found = said.strip().lower()
    return found if found.startswith(REQUEST_PREFIX) else REQUEST_PREFIX + found


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFilter:
    """Everything is optional. since inclusive, until exclusive, ms. tenant: its uid. request: as
    the header `x-context-guru-request-id` says it.

    gate, event: raised by `component` on the request. lost: an original could not be given back.
    """

    tenant: str = ""
    request: str = ""
    session: str = ""
    model: str = ""
    provider: str = ""
    arm: str = ""
    outcome: str = ""
    bypassed: str = ""
    accounting: str = ""
    component: str = ""
    gate: str = ""
    event: str = ""
    status: int | None = None
    since: int | None = None
    until: int | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True)
class RunRow:
    """What one component did. verdict: acted fresh, replayed, mutated only, skipped, reverted
    or discarded.
    """

    component: str
    kind: str
    verdict: str
    saved_gross: int
    saved_unique: int
    duration_ms: float
    discarded: int
    error: str
    gates: Mapping[str, int]
    events: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request as stored."""

    record: RequestRecord

    @property
    def runs(self) -> Sequence[RunRow]:
        """What its components did, in run order."""
        return [_run(row) for row in unpacked(self.record.runs)]

    @property
    def uid(self) -> str:
        return self.record.uid

    @property
    def saved_gross(self) -> int:
        return self.record.tokens_before - self.record.tokens_after

    @property
    def cost_usd(self) -> Decimal | None:
        """None for unknown: `accounting` says why."""
        known: Decimal | None = self.record.cost_usd
        return known

    @property
    def saved_usd(self) -> Decimal | None:
        known: Decimal | None = self.record.saved_usd
        return known


def requests(
    scope: Scope, wanted: RequestFilter, *, after: str = "", limit: int = PAGE
) -> Page[RequestRow]:
    """Newest first. after: the cursor of the page before."""
    reached = reach(scope, wanted.tenant)
    size = limited(limit)
    found = readable(lambda: list(_page(reached, wanted, after)[: size + 1]), None)
    if found is None:
        return Page((), "", State.UNKNOWN)
    rows = [RequestRow(record) for record in found[:size]]
    more = rows[-1].uid if len(found) > size else ""
    return Page(rows, more, State.OK if rows else State.NO_DATA)


def request(scope: Scope, uid: str) -> RequestRow | None:
    """One request with its runs; None for an unknown one and for a foreign one alike."""
    return readable(lambda: _request(reach(scope), uid), None)


def _request(reached: Reach, uid: str) -> RequestRow | None:
    record = RequestRecord.objects.filter(reached.rows, _named(uid)).first()
    if record is None:
        return None
    return RequestRow(record)


def _named(said: str) -> Q:
    return Q(uid__in={said, request_uid(said)})


def chosen(reached: Reach, wanted: RequestFilter) -> QuerySet[RequestRecord]:
    """The requests that the filter lets through, newest first."""
    exact = {
        "session_uid": wanted.session,
        "model": wanted.model,
        "provider": wanted.provider,
        "arm": wanted.arm,
        "outcome": wanted.outcome,
        "bypassed": wanted.bypassed,
        "accounting": wanted.accounting,
        "status": wanted.status,
        "at__gte": wanted.since,
        "at__lt": wanted.until,
    }
    narrowed = {name: value for name, value in exact.items() if value not in ("", None)}
    rows = RequestRecord.objects.filter(reached.rows, **narrowed)
    if wanted.request:
        rows = rows.filter(_named(wanted.request))
    if wanted.lost:
        rows = rows.filter(expand_missing__gt=0)
    if wanted.component:
        rows = rows.filter(ran(wanted.component))
        # One request after the other until a page is full.
        for kind, name in (("gates", wanted.gate), ("events", wanted.event)):
            rows = rows.filter(raised(wanted.component, kind, name)) if name else rows
    return rows.order_by(*("-at", "-id") if _is_ranged(wanted) else ("-id",))


def _is_ranged(wanted: RequestFilter) -> bool:
    """Within a stretch of time the order is that of time, which an index has."""
    return wanted.since is not None or wanted.until is not None


def _page(reached: Reach, wanted: RequestFilter, after: str) -> QuerySet[RequestRecord]:
    """The rows below the one with that uid, of all of them without one."""
    rows = chosen(reached, wanted)
    if not after:
        return rows
    last = RequestRecord.objects.filter(uid=after)
    return below(rows, wanted, at=last.values("at")[:1], pk=last.values("pk")[:1])


def below(
    rows: QuerySet[RequestRecord], wanted: RequestFilter, *, at: Any, pk: Any
) -> QuerySet[RequestRecord]:
    """Those of the chosen rows that stand below the one with that time and number."""
    if not _is_ranged(wanted):
        return rows.filter(pk__lt=pk)
    return rows.filter(Q(at__lt=at) | Q(pk__lt=pk), at__lte=at)


def _run(row: ComponentRow) -> RunRow:
    return RunRow(
        row.component,
        row.kind,
        verdict(row),
        row.saved,
        row.saved_unique,
        row.duration_ms,
        row.discarded,
        row.error,
        row.gates,
        row.events,
    )


def verdict(run: ComponentRow) -> str:
    if run.reverted:
        return "reverted"
    if run.acted:
        return "replayed" if run.acted_replay else "acted fresh"
    if run.discarded:
        return "discarded"
    return "mutated only" if run.mutated else "skipped"

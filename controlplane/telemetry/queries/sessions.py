"""Conversations: the list, the timeline of one, and the life of what was taken out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from django.db.models import Q, QuerySet

from controlplane.accounts.scopes import Scope
from controlplane.digits import whole
from controlplane.telemetry.models import MarkerRecord, RequestRecord, SessionRecord
from controlplane.telemetry.queries.coverage import State, readable
from controlplane.telemetry.queries.paging import PAGE, Page, limited
from controlplane.telemetry.queries.reach import Reach, reach
from controlplane.telemetry.queries.requests import RequestRow

TURNS_MAX = 200
MARKERS_MAX = 200
_SORTS = {"last": "last_at", "cost": "cost_usd", "turns": "requests"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Everything is optional; since inclusive, until exclusive (of the last activity), ms.

    search: the beginning of a session id. lost: an original could not be given back. sort: last,
    cost or turns; only `last` can be continued with a cursor.
    """

    tenant: str = ""
    search: str = ""
    model: str = ""
    arm: str = ""
    since: int | None = None
    until: int | None = None
    lost: bool = False
    sort: str = "last"


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One conversation as stored."""

    record: SessionRecord

    @property
    def saved_gross(self) -> int:
        return self.record.tokens_before - self.record.tokens_after

    @property
    def models(self) -> list[str]:
        return [name for name in self.record.model_names.split(",") if name]

    @property
    def cost_usd(self) -> Decimal | None:
        """None for unknown: nothing could be priced."""
        known = self.record.priced or not self.record.unpriced
        return self.record.cost_usd if known else None

    @property
    def saved_usd(self) -> Decimal | None:
        return None if self.cost_usd is None else self.record.saved_usd


@dataclass(frozen=True, slots=True)
class MarkerRow:
    """The life line of one marker, never its content."""

    record: MarkerRecord


@dataclass(frozen=True, slots=True)
class SessionDetail:
    """turns: oldest first, at most the last TURNS_MAX. idle_ms: before each turn, None for the
    first one known. markers: what was removed, newest first, at most MARKERS_MAX.
    """

    session: SessionRow
    turns: Sequence[RequestRow]
    idle_ms: Sequence[int | None]
    markers: Sequence[MarkerRow]


def sessions(
    scope: Scope, wanted: SessionFilter, *, after: str = "", limit: int = PAGE
) -> Page[SessionRow]:
    """after: the cursor of the page before."""
    reached, size = reach(scope, wanted.tenant), limited(limit)
    found = readable(lambda: list(_listed(reached, wanted, after)[: size + 1]), None)
    if found is None:
        return Page((), "", State.UNKNOWN)
    rows = [SessionRow(record) for record in found[:size]]
    more = _cursor(rows[-1].record) if len(found) > size and wanted.sort == "last" else ""
    return Page(rows, more, State.OK if rows else State.NO_DATA)


def session(scope: Scope, tenant: str, session_uid: str) -> SessionDetail | None:
    """One conversation; None for an unknown one and for a foreign one alike."""
    reached = reach(scope, tenant)
    if not reached.covers(tenant):
        return None
    return readable(lambda: _session(tenant, session_uid), None)


def marker(scope: Scope, tenant: str, marker_id: str) -> MarkerRow | None:
    if not reach(scope, tenant).covers(tenant):
        return None
    rows = MarkerRecord.objects.filter(tenant_uid=tenant, marker_id=marker_id)
    found = readable(rows.first, None)
    return None if found is None else MarkerRow(found)


def _listed(reached: Reach, wanted: SessionFilter, after: str) -> QuerySet[SessionRecord]:
    rows = SessionRecord.objects.filter(reached.rows)
    if wanted.search:
        # A range, where LIKE would read every row: ids are compared as they are.
        rows = rows.filter(
            session_uid__gte=wanted.search, session_uid__lt=wanted.search + "\U0010ffff"
        )
    if wanted.model:
        rows = rows.filter(model_names__contains=wanted.model)
    if wanted.arm:
        rows = rows.filter(arm=wanted.arm)
    if wanted.since is not None:
        rows = rows.filter(last_at__gte=wanted.since)
    if wanted.until is not None:
        rows = rows.filter(last_at__lt=wanted.until)
    if wanted.lost:
        rows = rows.filter(expand_missing__gt=0)
    return rows.filter(_older(after)).order_by(f"-{_SORTS[wanted.sort]}", "-id")


def _cursor(record: SessionRecord) -> str:
    return f"{record.last_at}.{record.tenant_uid}.{record.session_uid}"


def _older(after: str) -> Q:
    """Rows after the cursor; a session that has moved to the front meanwhile is not repeated."""
    moment, _, name = after.partition(".")
    tenant, _, session_uid = name.partition(".")
    at = whole(moment, None)
    if at is None:
        return Q()
    last = SessionRecord.objects.filter(tenant_uid=tenant, session_uid=session_uid).values("pk")
    return Q(last_at__lt=at) | Q(last_at=at, pk__lt=last[:1])


def _session(tenant: str, session_uid: str) -> SessionDetail | None:
    of_session = {"tenant_uid": tenant, "session_uid": session_uid}
    record = SessionRecord.objects.filter(**of_session).first()
    if record is None:
        return None
    newest = RequestRecord.objects.filter(**of_session).order_by("-id")[:TURNS_MAX]
    records = sorted(newest, key=lambda each: (each.at, each.pk))
    markers = MarkerRecord.objects.filter(**of_session).order_by("-id")[:MARKERS_MAX]
    return SessionDetail(
        SessionRow(record),
        [RequestRow(each) for each in records],
        _idle(records),
        [MarkerRow(each) for each in markers],
    )


def _idle(records: Sequence[RequestRecord]) -> list[int | None]:
    """From the end of the turn before to the start of each; threads of a session may overlap."""
    gaps: list[int | None] = [None] if records else []
    for before, turn in pairwise(records):
        gaps.append(max(0, turn.at - before.at - int(before.serve_ms)))
    return gaps

"""What a batch adds to the lives of sessions and of markers (04 §1.6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controlplane.telemetry.bucket_rows import Additions
from controlplane.telemetry.inserting import put
from controlplane.telemetry.models import MarkerRecord, SessionRecord
from controlplane.telemetry.queries.losses import MISSING
from controlplane.telemetry.record_rows import cost_of, malformed_in, missing_in, saved_of, uid_of
from dataplane.core.uplink import MarkerRow, RecoveryRow, RequestRow

NAMES_MAX = 300
At = tuple[int, RequestRow]  # ms by our clock, and the request


def turns(rows: Sequence[At], additions: Additions) -> list[int]:
    """The number of each request within its session, from 1; the sessions are brought up to date.

    Requests outside a session have number 0, and so have pings, which are spend of their session
    and no turn of it.
    """
    known = _sessions(row for _, row in rows)
    numbers = []
    for at, row in rows:
        if not row.session:
            numbers.append(0)
            continue
        name = (row.tenant, row.session)
        if row.origin != "agent":
            numbers.append(0)
            if name in known:
                known[name].cost_usd += cost_of(row) or 0
            continue
        if name not in known:
            known[name] = SessionRecord(
                tenant_uid=row.tenant,
                session_uid=row.session,
                arm=row.arm,
                effective_hash_first=row.snapshot,
                attempted_tokens=0,
                first_at=at,
                last_at=at,
            )
            additions.new_session(row.tenant, row.arm, at)
        _continue(known[name], row, at)
        numbers.append(known[name].requests)
    put(SessionRecord, known.values(), ("tenant_uid", "session_uid"))
    return numbers


def _sessions(rows: Iterable[RequestRow]) -> dict[tuple[str, str], SessionRecord]:
    names = {(row.tenant, row.session) for row in rows}
    found = SessionRecord.objects.filter(
        tenant_uid__in={tenant for tenant, _ in names},
        session_uid__in={session for _, session in names},
    )
    every = {(row.tenant_uid, row.session_uid): row for row in found}
    return {name: row for name, row in every.items() if name in names}


def _continue(session: SessionRecord, row: RequestRow, at: int) -> None:
    session.first_at = min(session.first_at, at)
    session.last_at = max(session.last_at, at)
    session.effective_hash_last = row.snapshot
    session.requests += 1
    session.tokens_before += row.tokens_before
    session.tokens_after += row.tokens_after
    if session.attempted_tokens is not None:
        session.attempted_tokens += row.attempted
    session.saved_unique += row.saved_unique
    session.fresh_input += row.fresh_input
    session.cache_read += row.cache_read
    session.cache_write += row.cache_write
    session.cache_write_1h += row.cache_write_1h
    session.output += row.output
    cost = cost_of(row)
    session.cost_usd += cost or 0
    session.saved_usd += saved_of(row) or 0
    session.priced += cost is not None
    session.unpriced += row.usage_known and cost is None
    session.errors += row.outcome != "ok"
    session.expands += row.expands
    session.expand_missing += missing_in(row)
    session.expand_malformed += malformed_in(row)
    names = session.model_names.split(",") if session.model_names else []
    if row.model and row.model not in names:
        session.model_names = ",".join([*names, row.model])[:NAMES_MAX]


def keep_markers(rows: Sequence[At]) -> None:
    """Bring the life line of every marker up to date that these requests name."""
    named = {(row.tenant, each.id) for _, row in rows for each in _named(row)}
    if not named:
        return
    found = MarkerRecord.objects.filter(
        tenant_uid__in={tenant for tenant, _ in named}, marker_id__in={one for _, one in named}
    )
    known = {(row.tenant_uid, row.marker_id): row for row in found}
    changed: dict[tuple[str, str], MarkerRecord] = {}
    for at, row in rows:
        for each in _named(row):
            name = (row.tenant, each.id)
            if not each.id or (isinstance(each, RecoveryRow) and not _is_ours(each, name, known)):
                continue
            marker = known.setdefault(name, MarkerRecord(tenant_uid=row.tenant, marker_id=each.id))
            _live(marker, each, row, at)
            changed[name] = marker
    put(MarkerRecord, changed.values(), ("tenant_uid", "marker_id"))


def _named(row: RequestRow) -> list[MarkerRow | RecoveryRow]:
    return [*row.minted, *row.recoveries]


def _is_ours(
    call: RecoveryRow, name: tuple[str, str], known: dict[tuple[str, str], MarkerRecord]
) -> bool:
    """An id that a model invented gets no life line."""
    return name in known or call.found == "resolved" or call.found in MISSING


def _live(marker: MarkerRecord, each: MarkerRow | RecoveryRow, row: RequestRow, at: int) -> None:
    if isinstance(each, MarkerRow):
        if marker.created_at is not None:
            marker.last_replayed_at = at
            return
        marker.created_at = at
        marker.session_uid, marker.request_uid = row.session, uid_of(row)
        marker.component, marker.saved_tokens = each.component, each.saved
    elif each.found == "resolved":
        marker.last_expanded_at = at
        marker.expands += 1
        marker.state = "expanded"
    elif each.found in MISSING:
        marker.last_expanded_at = at
        marker.state, marker.lost_cause = "missing", each.found
        marker.session_uid = marker.session_uid or row.session

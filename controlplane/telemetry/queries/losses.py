"""Originals that could not be given back: what the alarm of 04 §5.3 is made of."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.telemetry.models import MarkerRecord, RequestRecord

MISSING = ("expired", "lost", "store_error", "decrypt_error")


@dataclass(frozen=True, slots=True)
class Loss:
    """One unresolved recovery. position: to continue from. cause: one of MISSING."""

    position: int
    at: int
    tenant_uid: str
    node_id: str
    session_uid: str
    turn: int
    request_uid: str
    marker_id: str
    component: str
    saved_tokens: int | None
    cause: str
    arm: str
    effective_hash: str


def losses(after: int, *, limit: int = 200) -> list[Loss]:
    """Losses of all tenants that were stored after that position, oldest first.

    For the alarm rules, which act for nobody. Raises django.db.DatabaseError while the database
    cannot be read: an alarm must not take that for "nothing lost".
    """
    records = list(
        RequestRecord.objects.filter(pk__gt=after, expand_missing__gt=0).order_by("pk")[:limit]
    )
    known = _markers(records)
    return [
        _loss(record, call, known.get((record.tenant_uid, call["id"])))
        for record in records
        for call in record.recoveries
        if call["found"] in MISSING
    ]


def _markers(records: list[RequestRecord]) -> dict[tuple[str, str], MarkerRecord]:
    ids = {call["id"] for record in records for call in record.recoveries}
    found = MarkerRecord.objects.filter(marker_id__in=ids)
    return {(marker.tenant_uid, marker.marker_id): marker for marker in found}


def _loss(record: RequestRecord, call: dict[str, str], marker: MarkerRecord | None) -> Loss:
    return Loss(
        position=record.pk,
        at=record.at,
        tenant_uid=record.tenant_uid,
        node_id=record.node_id,
        session_uid=record.session_uid,
        turn=record.turn,
        request_uid=record.uid,
        marker_id=call["id"],
        component=marker.component if marker else "",
        saved_tokens=marker.saved_tokens if marker else None,
        cause=call["found"],
        arm=record.arm,
        effective_hash=record.effective_hash,
    )

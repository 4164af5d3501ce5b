"""When credentials were used: the uses that processes report, joined over all of them."""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.telemetry.inserting import put
from controlplane.telemetry.models import CredentialUse
from dataplane.core.uplink import UseRow


def keep_uses(shift: int, rows: Sequence[UseRow]) -> None:
    """In the transaction of the batch. shift: ms, to our clock."""
    names = [row.principal for row in rows]
    known = {use.principal: use for use in CredentialUse.objects.filter(principal__in=names)}
    put(
        CredentialUse,
        [_joined(known.get(row.principal), row, shift) for row in rows],
        ("principal",),
    )


def _joined(known: CredentialUse | None, row: UseRow, shift: int) -> CredentialUse:
    first_at, last_at = row.first_at + shift, row.last_at + shift
    found = CredentialUse(
        principal=row.principal[:64],
        tenant_uid=row.tenant[:32],
        first_at=first_at,
        last_at=last_at,
        session_uid=row.session.replace("\0", "")[:128],
        model=row.model.replace("\0", "")[:128],
        status=row.status,
    )
    if known is None:
        return found
    # A later process saw only what came after the first request, unless that named no model.
    if known.first_at <= first_at and known.model:
        found.session_uid, found.model = known.session_uid, known.model
        found.status = known.status
    found.first_at = min(known.first_at, first_at)
    found.last_at = max(known.last_at, last_at)
    return found

"""Take in what a node reports: one batch, one transaction, once (04 sections 1.6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from msgspec.structs import replace

from controlplane.databases import TELEMETRY, Turn, take_turn
from controlplane.telemetry import hooks
from controlplane.telemetry.bucket_rows import Additions
from controlplane.telemetry.captured import consented, text_rows
from controlplane.telemetry.inserting import insert
from controlplane.telemetry.live_rows import tell
from controlplane.telemetry.lives import At, keep_markers, turns
from controlplane.telemetry.models import ComponentRun, ContentBlob, RequestRecord
from controlplane.telemetry.record_rows import request_row, run_rows, storable, uid_of
from controlplane.telemetry.sequence import admitted, shift_of
from dataplane.core.uplink import Batch


def ingest(batch: Batch, *, received_at: int) -> bool:
    """False for a batch that was counted already. received_at: ms by our clock.

    Raises django.db.DatabaseError when nothing of it was stored; it may be given again.
    """
    with transaction.atomic(using=TELEMETRY):
        take_turn(Turn.REPORTS, TELEMETRY)  # or a stream would read past what is not committed yet
        if admitted(batch, received_at) is None:
            return False
        shift = shift_of(batch, received_at)
        deltas = [replace(delta, bucket_at=delta.bucket_at + shift) for delta in batch.deltas]
        additions = Additions()
        for delta in deltas:
            additions.add(delta)
        rows = [(row.at + shift, storable(row)) for row in consented(batch.rows)]
        _keep(batch, rows, additions)
        additions.write()
        tell(deltas, rows, now=received_at)
    hooks.written()
    return True


def _keep(batch: Batch, rows: Sequence[At], additions: Additions) -> None:
    """The rows of the batch's requests, and what follows from them."""
    if not rows:
        return
    numbers = turns(rows, additions)
    insert(
        RequestRecord,
        [
            request_row(row, batch, at=at, turn=turn)
            for (at, row), turn in zip(rows, numbers, strict=True)
        ],
    )
    uids = [uid_of(row) for _, row in rows]
    stored = RequestRecord.objects.filter(uid__in=uids).values_list("uid", "pk")
    numbers_of = dict(stored)
    insert(
        ComponentRun,
        [each for _, row in rows for each in run_rows(row, numbers_of[uid_of(row)])],
    )
    keep_markers(rows)
    insert(ContentBlob, list(text_rows([row for _, row in rows], numbers_of)))

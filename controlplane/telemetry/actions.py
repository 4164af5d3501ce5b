"""Take in what a node reports: one batch, one transaction, once (04 §1.6 and 7)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import msgspec
from django.db import transaction
from msgspec.structs import replace

from controlplane.audit.actions import Actor
from controlplane.databases import TELEMETRY, Turn, take_turn
from controlplane.fleet.actions import forget_node, record_acks
from controlplane.telemetry import hooks
from controlplane.telemetry.bucket_rows import Additions
from controlplane.telemetry.captured import consented, text_rows
from controlplane.telemetry.inserting import insert
from controlplane.telemetry.live_rows import tell
from controlplane.telemetry.lives import At, keep_markers, turns
from controlplane.telemetry.models import ContentBlob, NodeStream, RequestRecord
from controlplane.telemetry.record_rows import request_row, storable
from controlplane.telemetry.refusing import REFUSALS, all_but_the_refused
from controlplane.telemetry.sequence import admitted, note_refused, shift_of
from controlplane.telemetry.uses import keep_uses
from dataplane.core.resource import Ack
from dataplane.core.uplink import Batch, Delta

log = logging.getLogger("headrace.telemetry")


def ingest(batch: Batch, *, received_at: int) -> bool:
    """False for a batch that was counted already. received_at: ms by our clock.

    A row or delta that the database refuses is left out alone, counted and named. Raises
    django.db.DatabaseError when nothing of the batch was stored; it may be given again.
    """
    _note_answers(batch)
    with transaction.atomic(using=TELEMETRY):
        take_turn(Turn.REPORTS, TELEMETRY)  # or a stream would read past what is not committed yet
        stream = admitted(batch, received_at)
        if stream is None:
            return False
        shift = shift_of(batch, received_at)
        deltas = [replace(delta, bucket_at=delta.bucket_at + shift) for delta in batch.deltas]
        rows = [(row.at + shift, storable(row)) for row in consented(batch.rows)]
        refused = [
            *all_but_the_refused(rows, partial(_keep, batch, received_at)),
            *all_but_the_refused(deltas, partial(_count, received_at)),
            *all_but_the_refused(batch.uses, partial(keep_uses, shift)),
        ]
        note_refused(stream, batch, refused)
    if batch.rows or batch.deltas or batch.dropped:  # a sign of life alone wakes nobody
        hooks.written()
    return True


def remove_node(node_id: str, *, by: Actor | None) -> None:
    """A node that left and does not come back; what it reported stays in every figure."""
    NodeStream.objects.filter(node_id=node_id).delete()  # first, as this database may be away
    forget_node(node_id, by=by)


def _note_answers(batch: Batch) -> None:
    """What a node that follows nobody serves; telling it twice changes nothing, and what cannot be
    kept costs no row.
    """
    try:
        record_acks(_acks(batch), follows=False)
    except REFUSALS:
        log.warning("telemetry.answers_refused node=%s", batch.node_id, exc_info=True)


def _acks(batch: Batch) -> list[Ack]:
    told = [msgspec.structs.asdict(answer) for answer in batch.answers]
    return [Ack(node_id=batch.node_id, boot_id=batch.boot_id, **facts) for facts in told]


def _count(received_at: int, deltas: Sequence[Delta]) -> None:
    additions = Additions()
    for delta in deltas:
        additions.add(delta)
    additions.write()
    tell(deltas, (), now=received_at)


def _keep(batch: Batch, received_at: int, rows: Sequence[At]) -> None:
    """The rows of the batch's requests, and what follows from them."""
    additions = Additions()
    numbers = turns(rows, additions)
    additions.write()
    insert(
        RequestRecord,
        [
            request_row(row, batch, at=at, turn=turn)
            for (at, row), turn in zip(rows, numbers, strict=True)
        ],
    )
    keep_markers(rows)
    insert(ContentBlob, list(text_rows([row for _, row in rows])))
    tell((), rows, now=received_at)

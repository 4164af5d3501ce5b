"""Which batches arrived: each counts once, and one that never came is remembered as a gap."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from controlplane.telemetry.models import NodeStream, TelemetryGap
from dataplane.core.uplink import Batch

log = logging.getLogger("headrace.telemetry")
SKEW_MAX_MS = 30_000  # more than this apart, the node's clock does not place anything


def shift_of(batch: Batch, received_at: int) -> int:
    """What is added to the node's times: nothing while its clock is about right."""
    skew = batch.sent_at - received_at
    return -skew if abs(skew) > SKEW_MAX_MS else 0


def admitted(batch: Batch, received_at: int) -> NodeStream | None:
    """The stream that the batch continues; None for a batch that was counted already.

    A number below the newest one was either counted, or lies in a gap that it now fills.
    """
    stream, _ = NodeStream.objects.get_or_create(
        node_id=batch.node_id,
        boot_id=batch.boot_id,
        defaults={"first_at": received_at, "last_at": received_at},
    )
    if batch.seq > stream.seq + 1:
        _open_gap(stream, batch, received_at)
    elif batch.seq <= stream.seq and not _fill_gap(batch):
        NodeStream.objects.filter(pk=stream.pk).update(duplicates=stream.duplicates + 1)
        return None
    _advance(stream, batch, received_at)
    return stream


def _open_gap(stream: NodeStream, batch: Batch, received_at: int) -> None:
    TelemetryGap.objects.create(
        node_id=batch.node_id,
        boot_id=batch.boot_id,
        kind="batches",
        from_seq=stream.seq + 1,
        to_seq=batch.seq - 1,
        from_at=stream.last_at,
        to_at=received_at,
    )


def _fill_gap(batch: Batch) -> bool:
    """True when the batch lay in a gap; what remains of that on either side stays one."""
    gap = TelemetryGap.objects.filter(
        node_id=batch.node_id,
        boot_id=batch.boot_id,
        kind="batches",
        from_seq__lte=batch.seq,
        to_seq__gte=batch.seq,
    ).first()
    if gap is None:
        return False
    before, after = (gap.from_seq, batch.seq - 1), (batch.seq + 1, gap.to_seq)
    gap.delete()
    for from_seq, to_seq in (before, after):
        if from_seq <= to_seq:
            gap.pk, gap.from_seq, gap.to_seq = None, from_seq, to_seq
            gap.save(force_insert=True)
    return True


def _advance(stream: NodeStream, batch: Batch, received_at: int) -> None:
    shift = shift_of(batch, received_at)
    oldest = min((delta.bucket_at for delta in batch.deltas), default=batch.sent_at)
    stream.seq = max(stream.seq, batch.seq)
    stream.batches += 1
    stream.rows += len(batch.rows)
    stream.requests += sum(delta.counts.get("all_requests", 0) for delta in batch.deltas)
    stream.claimed = max(stream.claimed, batch.claimed)
    stream.dropped += batch.dropped
    stream.skew_ms = batch.sent_at - received_at
    stream.lag_ms = max(0, received_at - oldest - shift)
    if batch.dropped:
        TelemetryGap.objects.create(
            node_id=batch.node_id,
            boot_id=batch.boot_id,
            kind="rows",
            from_seq=batch.seq,
            to_seq=batch.seq,
            from_at=min(stream.last_at, received_at - stream.lag_ms),
            to_at=received_at,
            rows=batch.dropped,
        )
    stream.last_at = max(stream.last_at, received_at)
    stream.gauges = batch.gauges
    if batch.is_last:
        stream.stopped_at = stream.last_at
    stream.save()


def note_refused(stream: NodeStream, batch: Batch, reasons: Sequence[Exception]) -> None:
    """Remember that rows and deltas of a batch were left out: figures are a lower bound."""
    number = batch.refused + len(reasons)
    if not number:
        return
    log.error(
        "telemetry.rows_refused node=%s seq=%d past_bounds=%d by_database=%d %s",
        batch.node_id,
        batch.seq,
        batch.refused,
        len(reasons),
        ",".join(sorted({type(reason).__name__ for reason in reasons})),
    )
    stream.dropped += number
    stream.save(update_fields=["dropped"])
    TelemetryGap.objects.create(
        node_id=batch.node_id,
        boot_id=batch.boot_id,
        kind="refused",
        from_seq=batch.seq,
        to_seq=batch.seq,
        from_at=stream.last_at - stream.lag_ms,
        to_at=stream.last_at,
        rows=number,
    )

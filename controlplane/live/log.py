"""The durable log that every stream reads: rows of telemetry.LiveEvent, newest last (04 §1.6)."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max, Min

from controlplane.live.messages import Message
from controlplane.telemetry.models import LiveEvent


class LiveLog:
    """Reads; whoever changes something appends, in the transaction of the change."""

    def newest(self) -> int:
        return int(LiveEvent.objects.aggregate(seq=Max("seq"))["seq"] or 0)

    def oldest(self) -> int:
        return int(LiveEvent.objects.aggregate(seq=Min("seq"))["seq"] or 0)

    def since(self, seq: int, limit: int) -> Sequence[Message]:
        """The first `limit` messages after that number."""
        rows = LiveEvent.objects.filter(seq__gt=seq).order_by("seq")[:limit]
        return [
            Message(
                seq=row.seq,
                ts=row.at,
                topic=row.topic,
                type=row.type,
                key=row.key,
                data=row.payload,
                org=row.organisation,
                tenant=row.tenant_uid,
            )
            for row in rows
        ]

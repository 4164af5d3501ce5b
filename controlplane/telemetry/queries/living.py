"""Which processes live, as their reports tell."""

from __future__ import annotations

from controlplane.fleet.presence import Heard
from controlplane.telemetry.models import NodeStream
from controlplane.telemetry.queries.coverage import readable
from controlplane.telemetry.queries.windows import now_ms

ONLINE_MS = 30_000  # nodes report every few seconds, also when nothing happens


def heard(now: int | None = None) -> Heard:
    """Nobody while the telemetry database cannot be read. now: ms."""
    since = (now_ms() if now is None else now) - ONLINE_MS
    nobody: list[tuple[str, str, int, int | None]] = []
    fields = ("node_id", "boot_id", "last_at", "stopped_at")
    rows = readable(lambda: list(NodeStream.objects.values_list(*fields)), nobody)
    living = {(node, boot) for node, boot, at, stopped in rows if at >= since and not stopped}
    return Heard(frozenset(living), frozenset((node, boot) for node, boot, *_ in rows) - living)

"""Whoever is told of every request, keeping what it is told."""

from __future__ import annotations

from dataplane.core import uplink as wire


class Receiver:
    """A sink that keeps what it is sent; `refuses` is raised as often as it says."""

    def __init__(self, *refuses: Exception) -> None:
        self.batches: list[wire.Batch] = []
        self._refuses = list(refuses)

    async def send(self, body: bytes) -> None:
        assert len(body) <= wire.BATCH_MAX_BYTES
        if self._refuses:
            raise self._refuses.pop(0)
        self.batches.append(wire.decode(body))

    @property
    def rows(self) -> list[wire.RequestRow]:
        return [row for batch in self.batches for row in batch.rows]

    def counted(self, name: str) -> int:
        return sum(d.counts.get(name, 0) for batch in self.batches for d in batch.deltas)

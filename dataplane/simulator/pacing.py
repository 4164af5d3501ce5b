"""How an answer goes over the wire: network writes, pauses and where the connection is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dataplane.simulator.script import Round


@dataclass(frozen=True, slots=True)
class Write:
    """One network write. pause_ms: wait before it."""

    payload: bytes
    pause_ms: float = 0.0


def writes(events: Sequence[bytes], wanted: Round, *, gap_ms: float = 0.0) -> Iterator[Write]:
    """The writes of these events. gap_ms: pause between events where the round names none.

    A cut ends the writes early; that the connection is then closed is for the server to do.
    """
    gap = gap_ms if wanted.gap_ms is None else wanted.gap_ms
    left = wanted.cut_after_bytes
    for index, event in enumerate(events[: wanted.cut_after_events]):
        whole = event if left is None else event[:left]
        for number, piece in enumerate(_pieces(whole, wanted.chunk_bytes)):
            yield Write(piece, gap if index and not number else 0.0)
        if left is not None:
            left -= len(whole)
            if left <= 0:
                return


def _pieces(payload: bytes, size: int | None) -> Iterator[bytes]:
    step = size or max(1, len(payload))
    for start in range(0, len(payload), step):
        yield payload[start : start + step]

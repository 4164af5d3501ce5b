"""How much of a window was observed: figures without this would read as exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from django.db import DatabaseError
from django.db.models import Count, Max, Q, Sum

from controlplane.telemetry.models import NodeStream, TelemetryGap
from controlplane.telemetry.queries.windows import Window

T = TypeVar("T")
SILENT_MS = 30_000  # nodes report every few seconds, also when nothing happened


class State(StrEnum):
    """What may be said of a figure (04 §0.3)."""

    OK = "ok"
    ZERO = "zero"
    NO_DATA = "no_data"
    UNKNOWN = "unknown"
    PARTIAL = "partial"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Coverage:
    """nodes: that reported within the window; silent: of those, how many no longer do.

    lost_batches: counters and rows that never arrived. dropped_rows: rows alone. last_at: ms of
    the newest report, None for none. state: no_data, partial, unknown (the database cannot be
    read) or ok.
    """

    state: State
    nodes: int = 0
    silent: int = 0
    lost_batches: int = 0
    dropped_rows: int = 0
    last_at: int | None = None


NOTHING_READ = Coverage(State.UNKNOWN)


def coverage(window: Window) -> Coverage:
    """Of the whole deployment: whether a gap held something of a tenant, nobody can know."""
    return readable(lambda: _coverage(window), NOTHING_READ)


def readable(ask: Callable[[], T], otherwise: T) -> T:
    """The answer, or `otherwise` while the telemetry database is locked, broken or gone."""
    try:
        return ask()
    except DatabaseError:
        return otherwise


def state_of(covered: Coverage, *, seen: bool) -> State:
    """The state of figures read from a window. seen: something was counted in it."""
    if covered.state in (State.UNKNOWN, State.NO_DATA):
        return covered.state
    if covered.state is State.PARTIAL:
        return State.PARTIAL
    return State.OK if seen else State.ZERO


def _coverage(window: Window) -> Coverage:
    streams = NodeStream.objects.filter(last_at__gte=window.since, first_at__lt=window.until)
    quiet_since = min(window.until, window.now) - SILENT_MS
    heard = streams.aggregate(
        nodes=Count("node_id", distinct=True),
        # One that said good-bye owes no report.
        living=Count(
            "node_id",
            distinct=True,
            filter=Q(last_at__gte=quiet_since) | Q(stopped_at__isnull=False),
        ),
        last=Max("last_at"),
    )
    gaps = TelemetryGap.objects.filter(to_at__gte=window.since, from_at__lt=window.until)
    lost = gaps.aggregate(
        batches=Sum("to_seq") - Sum("from_seq") + Count("id", filter=Q(kind="batches")),
        rows=Sum("rows"),
    )
    nodes, silent = heard["nodes"], heard["nodes"] - heard["living"]
    batches, rows = lost["batches"] or 0, lost["rows"] or 0
    if not nodes and not batches:
        return Coverage(State.NO_DATA)
    whole = not (batches or rows or silent)
    return Coverage(
        State.OK if whole else State.PARTIAL, nodes, silent, batches, rows, heard["last"]
    )

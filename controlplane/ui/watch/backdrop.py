"""What stands behind every chart: when nodes reported at all, and what was changed meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime

from controlplane.configs.models import EffectiveRevision
from controlplane.telemetry.models import NodeStream
from controlplane.telemetry.queries import Window
from controlplane.telemetry.queries.coverage import readable
from controlplane.ui.watch.charts import Mark
from controlplane.ui.watch.looks import Look

LATE_MS = 15_000  # a report this much younger than a moment still speaks for it
MOST_MARKS = 12
TOLD = 4  # characters of a node's id beside a line; the table of nodes has all


def observed(window: Window) -> list[bool]:
    """For each step, whether a process that reports was alive in it."""
    step_ms = window.step_s * 1000
    nobody: list[tuple[int, int]] = []
    lives = readable(lambda: _lives(window), nobody)
    return [
        any(begun < at + step_ms and at <= seen + LATE_MS for begun, seen in lives)
        for at in window.steps
    ]


def _lives(window: Window) -> list[tuple[int, int]]:
    rows = NodeStream.objects.filter(last_at__gte=window.since - LATE_MS, first_at__lt=window.until)
    return list(rows.values_list("first_at", "last_at"))


def marks(look: Look) -> tuple[Mark, ...]:
    """Configurations that came into force and processes that began, oldest first."""
    none: list[Mark] = []
    found = [*_revisions(look), *readable(lambda: _restarts(look.window), none)]
    return tuple(sorted(found, key=lambda mark: mark.at)[-MOST_MARKS:])


def _revisions(look: Look) -> list[Mark]:
    since = datetime.fromtimestamp(look.window.since / 1000, UTC)
    shown = (look.scope.chosen,) if look.scope.chosen else tuple(look.scope.tenants)
    rows = (
        EffectiveRevision.objects.filter(tenant__in=shown, created_at__gte=since)
        .select_related("tenant")
        .order_by("-created_at")[:MOST_MARKS]
    )
    return [
        Mark(int(row.created_at.timestamp()), "accent", _revision(row, alone=bool(look.tenant)))
        for row in rows
    ]


def _revision(row: EffectiveRevision, *, alone: bool) -> str:
    return f"revision {row.number}" if alone else f"{row.tenant.label}, revision {row.number}"


def _restarts(window: Window) -> list[Mark]:
    rows = NodeStream.objects.filter(first_at__gte=window.since, first_at__lt=window.until)
    return [
        Mark(row.first_at // 1000, "event", f"node …{row.node_id[-TOLD:]} started")
        for row in rows.order_by("-first_at")[:MOST_MARKS]
    ]

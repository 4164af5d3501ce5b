"""Rules about how things are, not about how often something happened: shares, gauges, answers.

Each yields a sighting for as long as its condition holds.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Max, OuterRef, Subquery

from controlplane.alarms.models import Severity
from controlplane.alarms.sightings import Sighting
from controlplane.alarms.windows import Window
from controlplane.fleet import presence
from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.telemetry.models import NodeStream
from controlplane.telemetry.queries import gauges_by_node
from controlplane.telemetry.sequence import SKEW_MAX_MS
from dataplane.core import resource

SAMPLES_MIN = 20
FAILING, FAILING_BADLY, REFUSED, INVENTED = 0.1, 0.5, 0.1, 0.01
RESERVE_HIGH = 0.8
DISK_HIGH, DISK_FULL = 0.85, 0.95
SILENT_MS, GONE_MS, DAY_MS = 60_000, 600_000, 86_400_000


def shares(counted: list[Window], now: datetime) -> Iterator[Sighting]:
    """Providers that fail, requests that are refused, ids that nobody wrote."""
    for window in counted:
        for rule, part, whole, limit in _parts(window, now):
            if whole >= SAMPLES_MIN and part > limit * whole:
                graver = rule == "error_rate" and part > FAILING_BADLY * whole
                yield Sighting(
                    rule=rule,
                    tenant=window.tenant,
                    at=now,
                    severity=Severity.CRITICAL if graver else "",
                    detail=f"{part:,} of {whole:,}",
                )


def _parts(window: Window, now: datetime) -> Iterator[tuple[str, int, int, float]]:
    recent, quarter = now - timedelta(minutes=5), now - timedelta(minutes=15)
    yield (
        "error_rate",
        window.total("errors", since=recent),
        window.total("requests", since=recent),
        FAILING,
    )
    refused = window.total("refused", since=quarter)
    all_ = refused + window.total("requests", since=quarter)
    yield "refusal_rate", refused, all_, REFUSED
    invented = window.total("unresolved:never_minted", since=quarter)
    asked = invented + window.total("expands", since=quarter)
    yield "never_minted_rate", invented, asked, INVENTED


def silent(_counted: list[Window], now: datetime) -> Iterator[Sighting]:
    """Nodes that reported and do not any more; they do so every few seconds at rest.

    After a day it is no news, so that an alarm which somebody resolved is not opened again; one
    that nobody did stays open.
    """
    now_ms = int(now.timestamp() * 1000)
    newest = NodeStream.objects.values("node_id").annotate(
        heard_at=Max("last_at"), left_at=Max("stopped_at")
    )
    for row in newest.order_by("node_id"):
        quiet_ms = now_ms - row["heard_at"]
        if row["left_at"] != row["heard_at"] and quiet_ms > SILENT_MS:
            yield Sighting(
                rule="node_offline",
                at=now,
                node=row["node_id"],
                number=0 if quiet_ms > DAY_MS else 1,
                severity=Severity.CRITICAL if quiet_ms > GONE_MS else "",
                detail=f"last heard {quiet_ms // 60_000} min ago",
            )


def skewed(_counted: list[Window], now: datetime) -> Iterator[Sighting]:
    """Nodes heard within the last minute whose clock differs from ours by too much."""
    heard = NodeStream.objects.filter(last_at__gte=int(now.timestamp() * 1000) - SILENT_MS)
    newest = dict(heard.order_by("last_at").values_list("node_id", "skew_ms"))
    for node_id, skew_ms in newest.items():
        if abs(skew_ms) > SKEW_MAX_MS:
            side = "ahead" if skew_ms > 0 else "behind"
            detail = f"{abs(skew_ms) / 1000:,.0f} s {side}"
            yield Sighting(rule="node_skew", at=now, node=node_id, detail=detail)


def stores(_counted: list[Window], now: datetime) -> Iterator[Sighting]:
    """The stores and their disks, of every node that reported lately, and our own disk."""
    yield from _disk("the data directory", _used(), now)
    for node, said in gauges_by_node(int(now.timestamp() * 1000)).items():
        yield from _disk(f"the store of {node}", said.get("disk_used_permille", 0) / 1000, now)
        ratio = _reserve(said)
        if ratio > RESERVE_HIGH:
            yield Sighting(
                rule="store_reserve_high", at=now, node=node, detail=f"{ratio:.0%} of its limits"
            )


def _used() -> float:
    found = shutil.disk_usage(settings.ENVIRONMENT.data_dir)
    return found.used / (found.used + found.free)


def _disk(name: str, ratio: float, now: datetime) -> Iterator[Sighting]:
    if ratio > DISK_HIGH:
        severity = Severity.CRITICAL if ratio > DISK_FULL else ""
        yield Sighting(
            rule="disk_high", at=now, subject=name, severity=severity, detail=f"{ratio:.0%} used"
        )


def _reserve(said: Mapping[str, int]) -> float:
    """The fuller of the two limits of the store; 0 where it has none."""
    pairs = (("stash_live", "stash_capacity"), ("stash_bytes", "stash_max_bytes"))
    return max(
        (said.get(held, 0) / said[most] for held, most in pairs if said.get(most)), default=0
    )


def refusals(_counted: list[Window], now: datetime) -> Iterator[Sighting]:
    """Nodes that refused the newest version of a resource."""
    for ack in refused_newest():
        problem = ack.errors[0] if ack.errors else {}
        is_tenant = ack.type == resource.TENANT
        yield Sighting(
            rule="node_nack",
            tenant=ack.name if is_tenant else "",
            node=ack.node_id,
            subject="" if is_tenant else f"{ack.type} {ack.name}",
            at=now,
            cause=str(problem.get("code", ""))[:32],
            detail=f"version {ack.version}: {problem.get('message', 'no reason given')}"[:300],
        )


def refused_newest() -> list[NodeAck]:
    """By processes that may live; the last answer of each node to each of them."""
    newest = PublishedResource.objects.filter(type=OuterRef("type"), name=OuterRef("name"))
    found = list(
        NodeAck.objects.filter(status=NodeAck.Status.NACK)
        .annotate(newest=Subquery(newest.values("version")[:1]))
        .filter(version=F("newest"))
        .order_by("id")
    )
    living = presence.heard().of(found) if found else set()
    by_node = {(ack.node_id, ack.type, ack.name): ack for ack in found if ack.process in living}
    return list(by_node.values())

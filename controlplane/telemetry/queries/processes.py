"""What processes say of themselves, over all that report: gauges, and uses of credentials."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controlplane.telemetry.models import CredentialUse, NodeStream, TrafficBucket
from controlplane.telemetry.queries.coverage import readable
from controlplane.telemetry.queries.living import ONLINE_MS
from controlplane.telemetry.queries.windows import Window, now_ms

# Of a store that the processes of a node share: each of them says the same of it.
SHARED = ("stash_live", "stash_capacity", "stash_bytes", "stash_max_bytes", "disk_used_permille")
REFUSED = "refused:"


@dataclass(frozen=True, slots=True)
class Gauges:
    """values: summed over nodes, without those that nobody said. processes: that said them."""

    values: Mapping[str, int]
    processes: int


def gauges(now: int | None = None) -> Gauges:
    """Of every process that reported lately."""
    nothing: list[tuple[str, Mapping[str, int]]] = []
    said = readable(lambda: _said(now), nothing)
    total: Counter[str] = Counter()
    for each in _by_node(said).values():
        total.update(each)
    return Gauges(dict(total), len(said))


def gauges_by_node(now: int | None = None) -> Mapping[str, Mapping[str, int]]:
    """Of every node that reported lately. Raises DatabaseError. now: ms."""
    return _by_node(_said(now))


def _said(now: int | None) -> list[tuple[str, Mapping[str, int]]]:
    since = (now_ms() if now is None else now) - ONLINE_MS
    rows = NodeStream.objects.filter(last_at__gte=since, stopped_at=None)
    return list(rows.order_by("node_id").values_list("node_id", "gauges"))


def _by_node(said: Iterable[tuple[str, Mapping[str, int]]]) -> Mapping[str, Counter[str]]:
    nodes: dict[str, Counter[str]] = defaultdict(Counter)
    for node, values in said:
        for name, value in values.items():
            before = nodes[node][name]
            nodes[node][name] = max(before, value) if name in SHARED else before + value
    return nodes


def uses(principals: Iterable[str]) -> Mapping[str, CredentialUse]:
    """By principal; one statement. None of those while telemetry cannot be read."""
    rows = CredentialUse.objects.filter(principal__in=list(principals))
    nobody: list[CredentialUse] = []
    return {use.principal: use for use in readable(lambda: list(rows), nobody)}


def turned_away(tenant_uid: str, window: Window) -> Mapping[str, int]:
    """Requests of the tenant that were refused, by reason."""
    rows = TrafficBucket.objects.filter(window.rows, tenant_uid=tenant_uid)
    nothing: list[Mapping[str, int]] = []
    found: Counter[str] = Counter()
    for counts in readable(lambda: list(rows.values_list("counts", flat=True)), nothing):
        found.update({k: n for k, n in counts.items() if k.startswith(REFUSED)})
    return {name.removeprefix(REFUSED): number for name, number in found.items()}

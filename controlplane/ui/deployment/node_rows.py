"""Nodes and what they run, ready to show (04 §5.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from controlplane.figures.numerals import MINUS, NO_DATA, UNKNOWN, Figure, count, plural, span
from controlplane.fleet.bundles import hashes
from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.telemetry.queries import NodeRow
from controlplane.ui.frame.moments import at
from controlplane.ui.frame.verdicts import Verdict
from dataplane.core import resource

STATES = {
    "synced": Verdict("synced", "ok", "ok"),
    "pending": Verdict("pending", "wait", "quiet"),
    "stale": Verdict("stale", "watch", "watch"),
    "nacked": Verdict("refused", "no", "alarm"),
    "apart": Verdict("serves another document", "watch", "watch"),
    "unsaid": Verdict("does not say what it serves", "unknown", "quiet"),
    "draining": Verdict("draining", "pause", "quiet"),
    "offline": Verdict("offline", "offline", "watch"),
    "left": Verdict("left", "offline", "quiet"),
}
ELSEWHERE = Verdict("not in its bundle", "offline", "quiet")
KINDS = {
    resource.TENANT: "tenant",
    resource.AUTH_INDEX: "keys",
    resource.NODE: "node settings",
    resource.PRICES: "prices",
}
SEEN_NOW_MS = 10_000


@dataclass(frozen=True, slots=True)
class Shown:
    """One node. build, backend: of the node in this process, else unknown."""

    node: str
    state: Verdict
    is_here: bool
    build: Figure
    acked: str
    unacked: Figure
    processes: Figure
    lag: Figure
    clock: Figure
    dropped: Figure
    seen: Figure
    seen_at: datetime | None
    is_flagged: bool
    is_gone: bool
    is_apart: bool


def node_rows(found: Sequence[NodeRow], here: Mapping[str, Any], now_ms: int) -> list[Shown]:
    """here: the statistics of the node in this process; empty without one."""
    return [_row(node, here, now_ms) for node in found]


def _row(node: NodeRow, here: Mapping[str, Any], now_ms: int) -> Shown:
    is_here = here.get("node") == node.node_id
    is_gone = node.is_gone
    draining = is_here and bool(here.get("draining"))
    waited = node.oldest_unacked_at
    return Shown(
        node=node.node_id,
        state=STATES["draining" if draining else node.state],
        is_here=is_here,
        build=Figure(str(here["build"])) if is_here and here.get("build") else UNKNOWN,
        acked=f"{count(node.acked)} of {count(node.desired)}",
        unacked=Figure("none", is_word=True)
        if waited is None
        else Figure(span((now_ms - waited) / 1000)),
        processes=UNKNOWN if is_gone else count(node.processes),
        lag=_stale(is_gone) or Figure(span(node.lag_ms / 1000)),
        clock=_stale(is_gone) or _clock(node.skew_ms),
        dropped=count(node.dropped),
        seen=_seen(node.last_seen_at, now_ms),
        seen_at=at(node.last_seen_at) if node.last_seen_at else None,
        is_flagged=node.state in {"nacked", "stale", "apart", "offline"},
        is_gone=is_gone,
        is_apart=node.state == "apart",
    )


def _stale(is_gone: bool) -> Figure | None:  # noqa: FBT001
    return Figure("stale", is_word=True) if is_gone else None


def _clock(skew_ms: int) -> Figure:
    sign = MINUS if skew_ms < 0 else "+"
    return Figure(f"{sign}{abs(skew_ms) / 1000:.2f}", "s")


def _seen(last_ms: int | None, now_ms: int) -> Figure:
    if last_ms is None:
        return NO_DATA
    if now_ms - last_ms < SEEN_NOW_MS:
        return Figure("now")
    return Figure(f"{span((now_ms - last_ms) / 1000)} ago")


def headline_of(found: Sequence[NodeRow]) -> str:
    """It always says its denominator."""
    online = [node for node in found if not node.is_gone]
    synced = [node for node in online if node.state == "synced"]
    gone = Counter(node.state for node in found if node.is_gone)
    said = f"{len(synced)} of {plural(len(online), 'online node')} synced"
    return "; ".join([said, *(f"{number} {state}" for state, number in sorted(gone.items()))]) + "."


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One published resource on one node. running: the version it answers with."""

    kind: str
    name: str
    desired: int
    running: Figure
    state: Verdict
    problem: str
    answered_at: datetime | None


def resource_rows(
    published: Sequence[PublishedResource],
    acks: Mapping[tuple[str, str], NodeAck],
    labels: Mapping[str, str],
) -> list[ResourceRow]:
    """Those that something is wrong with first. labels: of the tenants that may be named."""
    is_bundle = any(not ack.follows for ack in acks.values())
    current = (
        hashes({name for type_, name in acks if type_ == resource.TENANT}) if is_bundle else {}
    )
    rows = []
    for row in published:
        ack = acks.get((row.type, row.name))
        found = _resource(row, ack, labels)
        rows.append(_of_bundle(found, ack, current) if is_bundle else found)
    return sorted(rows, key=lambda row: (row.state.tone == "ok", row.kind, row.name))


def _resource(
    row: PublishedResource, ack: NodeAck | None, labels: Mapping[str, str]
) -> ResourceRow:
    name = labels.get(row.name, row.name) if row.type == resource.TENANT else row.name
    is_newest = ack is not None and ack.version == row.version
    state = STATES["pending"]
    if ack is not None and is_newest:
        state = STATES["synced" if ack.status == NodeAck.Status.ACK else "nacked"]
    return ResourceRow(
        kind=KINDS.get(row.type, row.type),
        name=name,
        desired=row.version,
        running=_running(ack),
        state=state,
        problem=_problem(ack) if is_newest and ack is not None else "",
        answered_at=ack.answered_at if ack else None,
    )


def _of_bundle(
    row: ResourceRow, ack: NodeAck | None, current: Mapping[tuple[str, str], str]
) -> ResourceRow:
    """Of a node that follows nobody. current: hashes of what a new bundle would hold."""
    if ack is None:
        return replace(row, state=ELSEWHERE)
    if ack.status == NodeAck.Status.NACK:
        return replace(row, state=STATES["nacked"], problem=_problem(ack))
    is_same = ack.hash == current.get((ack.type, ack.name))
    return replace(row, state=STATES["synced" if is_same else "apart"])


def _running(ack: NodeAck | None) -> Figure:
    if ack is None:
        return NO_DATA
    version = ack.version if ack.status == NodeAck.Status.ACK else ack.serving_version
    return count(version) if version is not None else Figure("none", is_word=True)


def _problem(ack: NodeAck) -> str:
    return "; ".join(
        f"{problem.get('code', '')}: {problem.get('message', '')}"
        for problem in ack.errors
        if isinstance(problem, dict)
    )

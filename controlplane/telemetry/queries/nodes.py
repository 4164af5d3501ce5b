"""The data-plane processes: what they run and how fresh what we know of them is (04 5.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import F, Max, OuterRef, QuerySet, Subquery

from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.telemetry.models import NodeStream
from controlplane.telemetry.queries.coverage import readable
from controlplane.telemetry.queries.windows import now_ms

ONLINE_MS = 30_000
STALE_MS = 10_000
SKEW_MS = 30_000


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One host of data-plane processes. Times in ms, None for never.

    state: synced, pending, stale, nacked, never_acked or offline. acked of desired: resources
    whose newest version it runs. processes: that reported lately. dropped, lost_batches: since
    the reports of these processes began. missing: requests it counted and we did not.
    """

    node_id: str
    state: str
    desired: int
    acked: int
    nacked: int
    oldest_unacked_at: int | None
    processes: int
    last_seen_at: int | None
    skew_ms: int
    lag_ms: int
    dropped: int
    missing: int
    problems: Sequence[str] = field(default=())


def nodes(now: int | None = None) -> Sequence[NodeRow]:
    """Every node that ever answered or reported, by id. For whoever may see the deployment."""
    now = now_ms() if now is None else now
    published = {(r.type, r.name): r for r in PublishedResource.objects.defer("body")}
    acks: dict[str, dict[tuple[str, str], NodeAck]] = {}
    for ack in _newest_acks():
        acks.setdefault(ack.node_id, {})[ack.type, ack.name] = ack
    streams: dict[str, list[NodeStream]] = {}
    unreadable: list[NodeStream] = []
    for stream in readable(lambda: list(_living()), unreadable):
        streams.setdefault(stream.node_id, []).append(stream)
    return [
        _row(node_id, published, acks.get(node_id, {}), streams.get(node_id, []), now)
        for node_id in sorted({*acks, *streams})
    ]


def _newest_acks() -> QuerySet[NodeAck]:
    """The answer to the newest version of each published resource, by node."""
    newest = PublishedResource.objects.filter(type=OuterRef("type"), name=OuterRef("name"))
    return NodeAck.objects.annotate(
        wanted=Subquery(newest.values("version")[:1]),
        its_epoch=Subquery(newest.values("epoch")[:1]),
    ).filter(version=F("wanted"), epoch=F("its_epoch"))


def _living() -> QuerySet[NodeStream]:
    """The processes that reported last on each node, and all that did so lately."""
    last = NodeStream.objects.filter(node_id=OuterRef("node_id")).values("node_id")
    newest = last.annotate(at=Max("last_at")).values("at")
    return NodeStream.objects.annotate(newest=Subquery(newest[:1])).filter(
        last_at__gte=F("newest") - ONLINE_MS
    )


def _row(
    node_id: str,
    published: dict[tuple[str, str], PublishedResource],
    acks: dict[tuple[str, str], NodeAck],
    streams: list[NodeStream],
    now: int,
) -> NodeRow:
    answers = Counter(ack.status for ack in acks.values())
    waiting = [
        int(row.published_at.timestamp() * 1000)
        for name, row in published.items()
        if name not in acks
    ]
    seen = max((stream.last_at for stream in streams), default=None)
    return NodeRow(
        node_id=node_id,
        state=_state(answers, waiting, seen, now),
        desired=len(published),
        acked=answers["ack"],
        nacked=answers["nack"],
        oldest_unacked_at=min(waiting, default=None),
        processes=sum(stream.last_at >= now - ONLINE_MS for stream in streams),
        last_seen_at=seen,
        skew_ms=max((stream.skew_ms for stream in streams), key=abs, default=0),
        lag_ms=max((stream.lag_ms for stream in streams), default=0),
        dropped=sum(stream.dropped for stream in streams),
        missing=sum(max(0, stream.claimed - stream.requests) for stream in streams),
        problems=[f"{a.type} {a.name}" for a in acks.values() if a.status == "nack"],
    )


def _state(answers: Counter[str], waiting: list[int], seen: int | None, now: int) -> str:
    if seen is None or seen < now - ONLINE_MS:
        return "offline"
    if answers["nack"]:
        return "nacked"
    if not answers:
        return "never_acked"
    if not waiting:
        return "synced"
    return "stale" if min(waiting) <= now - STALE_MS else "pending"

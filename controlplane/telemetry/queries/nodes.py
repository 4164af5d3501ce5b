"""The data-plane processes: what they run and how fresh what we know of them is (04 §5.11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import F, Max, OuterRef, QuerySet, Subquery

from controlplane.fleet.bundles import hashes
from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.fleet.presence import Heard
from controlplane.telemetry.models import NodeStream
from controlplane.telemetry.queries.coverage import readable
from controlplane.telemetry.queries.living import ONLINE_MS, heard
from controlplane.telemetry.queries.windows import now_ms
from dataplane.core import resource

STALE_MS = 10_000
SKEW_MS = 30_000
GONE = frozenset({"offline", "left"})
STATES = ("synced", "pending", "stale", "nacked", "apart", "unsaid", "offline", "left")
Name = tuple[str, str]  # type and name of a resource


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One host of data-plane processes. Times in ms, None for never.

    state: one of STATES. apart: it starts from a bundle, which holds another version of something
    than is published. unsaid: it reports, and does not say what it serves. left: it ended in good
    order. acked of desired: resources whose newest version all its processes run; of a node with a
    bundle, of those in it. processes: that reported lately. dropped: since the reports of these
    processes began. missing: requests it counted and we did not. problems: resources that it
    refused, or has in another version.
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

    @property
    def is_gone(self) -> bool:
        """No process of it reported lately."""
        return self.state in GONE


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the processes of a node said to what is published. waiting: ms since when each has."""

    acked: int
    desired: int
    waiting: Sequence[int]
    refused: Sequence[str]
    apart: Sequence[str]
    said: bool


def nodes(now: int | None = None) -> Sequence[NodeRow]:
    """Every node that ever answered or reported, by id. For whoever may see the deployment."""
    now = now_ms() if now is None else now
    published = {(r.type, r.name): r for r in PublishedResource.objects.defer("body")}
    alive = heard(now)
    acks: dict[str, list[NodeAck]] = defaultdict(list)
    for ack in NodeAck.objects.order_by("epoch", "version"):
        acks[ack.node_id].append(ack)
    streams: dict[str, list[NodeStream]] = defaultdict(list)
    unreadable: list[NodeStream] = []
    for stream in readable(lambda: list(_last_heard()), unreadable):
        streams[stream.node_id].append(stream)
    return [
        _row(node, _answers(acks[node], published, alive), streams[node], now)
        for node in sorted({*acks, *streams})
    ]


def _last_heard() -> QuerySet[NodeStream]:
    """The processes that reported last on each node, and all that did so lately."""
    last = NodeStream.objects.filter(node_id=OuterRef("node_id")).values("node_id")
    newest = last.annotate(at=Max("last_at")).values("at")
    return NodeStream.objects.annotate(newest=Subquery(newest[:1])).filter(
        last_at__gte=F("newest") - ONLINE_MS
    )


def _answers(
    acks: Sequence[NodeAck], published: Mapping[Name, PublishedResource], alive: Heard
) -> _Answers:
    """acks: of one node, older versions first."""
    processes = alive.of(acks) or {ack.process for ack in acks}
    by_process: dict[tuple[str, str], dict[Name, NodeAck]] = {one: {} for one in processes}
    for ack in acks:
        if ack.process in processes:
            by_process[ack.process][ack.type, ack.name] = ack
    follows = all(ack.follows for ack in acks)
    if not follows:
        return _of_a_bundle(by_process)
    refused: set[str] = set()
    waiting: list[int] = []
    for name, row in published.items():
        said = [_newest(found.get(name), row) for found in by_process.values()]
        if NodeAck.Status.NACK in said:
            refused.add(" ".join(name))
        elif not said or None in said:
            waiting.append(int(row.published_at.timestamp() * 1000))
    acked = len(published) - len(refused) - len(waiting)
    return _Answers(acked, len(published), waiting, sorted(refused), (), bool(acks))


def _newest(ack: NodeAck | None, row: PublishedResource) -> str | None:
    """What a process said to the newest version; None for nothing yet."""
    is_newest = ack is not None and (ack.epoch, ack.version) == (row.epoch, row.version)
    return ack.status if ack is not None and is_newest else None


def _of_a_bundle(
    by_process: Mapping[tuple[str, str], Mapping[Name, NodeAck]],
) -> _Answers:
    held = [ack for found in by_process.values() for ack in found.values()]
    refused = {_named(ack) for ack in held if ack.status == NodeAck.Status.NACK}
    wanted = hashes({ack.name for ack in held if ack.type == resource.TENANT})
    apart = {_named(ack) for ack in held if ack.hash != wanted.get((ack.type, ack.name))}
    desired = {_named(ack) for ack in held}
    acked = len(desired - refused - apart)
    return _Answers(acked, len(desired), (), sorted(refused), sorted(apart), said=True)


def _named(ack: NodeAck) -> str:
    return f"{ack.type} {ack.name}"


def _row(node_id: str, said: _Answers, streams: Sequence[NodeStream], now: int) -> NodeRow:
    seen = max((stream.last_at for stream in streams), default=None)
    return NodeRow(
        node_id=node_id,
        state=_state(said, streams, now),
        desired=said.desired,
        acked=said.acked,
        nacked=len(said.refused),
        oldest_unacked_at=min(said.waiting, default=None),
        processes=sum(_lives(stream, now) for stream in streams),
        last_seen_at=seen,
        skew_ms=max((stream.skew_ms for stream in streams), key=abs, default=0),
        lag_ms=max((stream.lag_ms for stream in streams), default=0),
        dropped=sum(stream.dropped for stream in streams),
        missing=sum(max(0, stream.claimed - stream.requests) for stream in streams),
        problems=(*said.refused, *said.apart),
    )


def _lives(stream: NodeStream, now: int) -> bool:
    return stream.stopped_at is None and stream.last_at >= now - ONLINE_MS


def _state(said: _Answers, streams: Sequence[NodeStream], now: int) -> str:
    if not any(_lives(stream, now) for stream in streams):
        newest = max(streams, key=lambda stream: stream.last_at, default=None)
        return "left" if newest is not None and newest.stopped_at else "offline"
    if said.refused or said.apart:
        return "nacked" if said.refused else "apart"
    began = min(stream.first_at for stream in streams)
    if not said.said:
        return "pending" if began > now - STALE_MS else "unsaid"
    if not said.waiting:
        return "synced"
    return "stale" if min(said.waiting) <= now - STALE_MS else "pending"

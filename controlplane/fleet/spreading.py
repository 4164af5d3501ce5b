"""How far a change got: it answers when the nodes that report have it, or says which have not.

What a request published is collected as it commits; whoever answers the request waits for it once.
Source: 03-proxy-and-recovery.md 9.4, 9.5; 04-controlplane-and-dashboard.md 6.6.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from django.db.models import Q

from controlplane.fleet import presence
from controlplane.fleet.bundles import hashes
from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.fleet.presence import Heard, Process
from dataplane.core import resource

WAIT_S = 2.0
LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Spread:
    """Ids of nodes. served: have every version or a newer one. waiting: follow, and have not
    answered. refused: keep the version before. apart: serve what is in their bundle, not this.
    """

    served: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return not (self.waiting or self.refused or self.apart)


@dataclass(slots=True)
class Published:
    """What was published and committed meanwhile, newest version of each; until: how long it is
    waited for, on the monotonic clock.
    """

    newest: dict[tuple[str, str], PublishedResource] = field(default_factory=dict)
    until: float | None = None

    def add(self, written: Sequence[PublishedResource]) -> None:
        self.newest.update({(row.type, row.name): row for row in written})


_collected: ContextVar[Published | None] = ContextVar("published", default=None)


@contextmanager
def collecting() -> Iterator[Published]:
    """Everything that is published within, by this thread or task."""
    found = Published()
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def collect(written: Sequence[PublishedResource]) -> None:
    """Called once they are committed."""
    found = _collected.get()
    if found is not None:
        found.add(written)


def until_served(published: Iterable[PublishedResource]) -> Spread:
    """How far they got, waited for while a node that follows has not answered yet.

    Call it after the commit. Of one request only the first waiting takes its time.
    """
    rows = list(published)
    if not rows:
        return Spread()
    around = _collected.get() or Published()
    until = around.until = around.until or time.monotonic() + WAIT_S
    heard = presence.heard()
    found = spread(rows, heard)
    while found.waiting and time.monotonic() < until:
        time.sleep(LOOK_EVERY_S)
        found = spread(rows, heard)
    return found


def spread(rows: Sequence[PublishedResource], heard: Heard) -> Spread:
    """As of now; two statements."""
    following = NodeAck.objects.filter(type=resource.NODE, follows=True)
    expected = heard.of(following.only("node_id", "boot_id"))
    newest = _newest_of(rows)
    states = dict.fromkeys(expected, "waiting")
    for process in {process for process, *_ in newest} | expected:
        if heard.may_live(process):
            answers = [(newest.get((process, row.type, row.name)), row) for row in rows]
            if process in expected:
                said = [_said(ack, row) for ack, row in answers]
            else:
                said = [_of_a_bundle(process, [ack for ack, _ in answers if ack is not None])]
            states[process] = max((each for each in said if each), key=GRAVITY.index, default="")
    return Spread(**_by_state(states))


GRAVITY = ("", "served", "apart", "waiting", "refused")


def _of_a_bundle(process: Process, answers: Sequence[NodeAck]) -> str:
    """Whether it serves something else of these than a new bundle would hold."""
    node, boot = process
    rows = NodeAck.objects.filter(node_id=node, boot_id=boot, type=resource.TENANT)
    wanted = hashes(set(rows.values_list("name", flat=True)))
    differs = any(ack.hash != wanted.get((ack.type, ack.name)) for ack in answers)
    return "apart" if differs else ""


def _said(ack: NodeAck | None, row: PublishedResource) -> str:
    """What a process that follows says of a resource."""
    if ack is None or (ack.epoch, ack.version) < (row.epoch, row.version):
        return "waiting"
    return "served" if ack.status == NodeAck.Status.ACK else "refused"


def _newest_of(rows: Sequence[PublishedResource]) -> Mapping[tuple[Process, str, str], NodeAck]:
    """By process, type and name."""
    named = reduce(or_, (Q(type=row.type, name=row.name) for row in rows))
    found = NodeAck.objects.filter(named).order_by("epoch", "version")
    return {(ack.process, ack.type, ack.name): ack for ack in found}


def _by_state(states: Mapping[Process, str]) -> dict[str, tuple[str, ...]]:
    """Nodes by the gravest state of their processes."""
    nodes: dict[str, str] = {}
    for (node, _), state in states.items():
        nodes[node] = max(state, nodes.get(node, ""), key=GRAVITY.index)
    return {
        state: tuple(sorted(node for node, its in nodes.items() if its == state))
        for state in GRAVITY[1:]
    }

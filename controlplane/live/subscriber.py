"""One reader of the live log: whose figures it sees, and what waits for it (04 §6.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from controlplane.accounts.scopes import NOBODY, Scope
from controlplane.live.messages import Frame, Message, control
from controlplane.topics import topic_of

MOST_WAITING = 64


@dataclass(frozen=True, slots=True)
class View:
    """Readers with equal views are sent the same bytes.

    tenants: uids, None for all of the deployment. window_s: what the figures on the page cover.
    raw: messages as they were logged, one for each tenant, instead of figures of the tenants
    together. reach and tenant ("" for all of it) are how queries are asked for the same tenants.
    """

    tenants: frozenset[str] | None
    topics: frozenset[str]
    window_s: int = 3600
    raw: bool = False
    reach: Scope = field(default=NOBODY, compare=False)
    tenant: str = field(default="", compare=False)

    def sees(self, message: Message) -> bool:
        if message.topic not in self.topics:
            return False
        topic = topic_of(message.topic)
        is_for_all = topic is not None and topic.is_common and not message.tenant
        return is_for_all or self.sees_tenant(message.tenant)

    def sees_tenant(self, tenant: str) -> bool:
        return self.tenants is None or tenant in self.tenants


class Subscriber:
    """Frames wait here until the reader takes them; of equal identity only the newest does.

    So a slow reader costs at most MOST_WAITING references to shared bytes. Used on one event loop.
    """

    def __init__(self, view: View, *, person: str = "", session: str = "") -> None:
        """person: uid that the number of streams is limited by. session: sid, "" without one."""
        self.view = view
        self.person = person
        self.session = session
        self.head = 0
        self.joined = False
        self.leaving = ""
        self._waiting: dict[tuple[str, str], Frame] = {}
        self._ready = asyncio.Event()

    @property
    def waiting(self) -> Sequence[Frame]:
        return tuple(self._waiting.values())

    def offer(self, frames: Sequence[Frame], head: int) -> None:
        """head: the cursor that is reached once these are read."""
        for frame in frames:
            self._waiting.pop(frame.identity, None)
            self._waiting[frame.identity] = frame
        self.head = head
        if len(self._waiting) > MOST_WAITING:
            self.restart("overflow")
        if frames:
            self._ready.set()

    def restart(self, reason: str) -> None:
        """Instead of what waits: read the snapshots anew, then go on from the head."""
        self._waiting.clear()
        frame = control("resync", reason=reason, seq=self.head)
        self._waiting[frame.identity] = frame
        self._ready.set()

    def leave(self, reason: str) -> None:
        """Tell the reader good-bye; whoever serves it ends when it has."""
        self.leaving = reason
        frame = control("bye", reason=reason, seq=self.head)
        self._waiting[frame.identity] = frame
        self._ready.set()

    async def take(self, within_s: float) -> tuple[list[Frame], int]:
        """What waits, and the cursor after it; no frames when the time is over."""
        try:
            async with asyncio.timeout(within_s):  # wait_for of 3.11 loses a cancellation
                await self._ready.wait()
        except TimeoutError:
            return [], self.head
        return self.drain(), self.head

    def drain(self) -> list[Frame]:
        self._ready.clear()
        found = list(self._waiting.values())
        self._waiting.clear()
        return found

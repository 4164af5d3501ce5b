"""Keep idle sessions' prompt caches alive, where a tenant's document asks for it.

A request that ends leaves its thread here, or is turned away by a named gate; the next request of
the thread takes it out again. In between, pings go out when they are due. Everything is on the
event loop and in memory. Source: 03-proxy-and-recovery.md 7.3.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from decimal import Decimal

from dataplane.adapters.beside.kept import Kept, Key, Warm, kept_of, key_of
from dataplane.adapters.beside.pinging import Pinger
from dataplane.adapters.figures import logs
from dataplane.adapters.parts import Parts
from dataplane.adapters.ticket import Ticket
from dataplane.core.effects import Scope
from dataplane.core.keepalive import gates
from dataplane.core.keepalive.economics import rescue_usd
from dataplane.core.keepalive.gates import Ended, closed_gate
from dataplane.core.keepalive.ping import Outcome
from dataplane.core.port.signals import Gate
from dataplane.core.text.redacted import scrubbed
from dataplane.tasks import ended

log = logging.getLogger("headrace.keepalive")
LOOK_EVERY_S = 1.0
SPENT_MAX = 2048


class KeepAlive:
    """The threads that this process keeps, at most so many and so many bytes of them."""

    def __init__(self, parts: Parts, pinger: Pinger) -> None:
        self._parts = parts
        self._pinger = pinger
        self._kept: dict[Key, Kept] = {}
        self._bytes = 0
        self._spent: OrderedDict[Key, Warm] = OrderedDict()
        self._stopped: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def live(self) -> Counter[str]:
        """How many threads are kept, by tenant."""
        return Counter(kept.tenant for kept in self._kept.values())

    # ---- on the request path ----------------------------------------------------------------

    def claim(self, scope: Scope, at: float) -> Warm | None:
        """A request of a thread arrives: it comes first, and a ping on its way ends.

        Returns the prefix, where it is alive only because of pings.
        """
        key = key_of(scope)
        kept, warm = self._kept.get(key), self._spent.pop(key, None)
        if kept is not None:
            self._release(kept)
            warm = kept.warm
        return warm if warm is not None and warm.is_rescue(at) else None

    def ended(self, ticket: Ticket, ended: Ended, claimed: Warm | None) -> None:
        """A request has ended: keep its thread, or say why not."""
        if claimed is not None:
            self._note_rescue(claimed, ended)
        gate = self._closed(ticket, ended)
        if gate is not None:
            self._parts.telemetry.not_kept(ticket.record.tenant, gate)
            return
        self._keep(kept_of(ticket, ended, self._parts.door.gatekeeper.digest(ticket.call)))

    def _closed(self, ticket: Ticket, ended: Ended) -> Gate | None:
        if not self._parts.settings.keepalive:
            return gates.KILL_SWITCH
        if self._parts.door.is_draining:
            return gates.DRAINING
        if self._parts.telemetry.uplink is None:
            return gates.NO_AUDIT_SINK
        if self._stopped.get(ticket.record.tenant) == ticket.record.snapshot:
            return gates.STOPPED_AFTER_WRITE
        return closed_gate(ended, ticket.tenant.plan.cache)

    def _note_rescue(self, claimed: Warm, ended: Ended) -> None:
        """Only what the request really read was rescued."""
        if ended.usage is None or ended.rates is None or not ended.usage.cache_read:
            return
        worth = rescue_usd(min(claimed.prefix, ended.usage.cache_read), ended.rates)
        usd = Decimal(worth.numerator) / Decimal(worth.denominator)
        self._parts.telemetry.rescued(claimed.tenant, usd)

    # ---- what is kept -----------------------------------------------------------------------

    def _keep(self, kept: Kept) -> None:
        earlier = self._kept.get(kept.key)
        if earlier is not None:
            self._release(earlier)
        settings = self._parts.settings
        while self._kept and (
            len(self._kept) >= settings.keepalive_max_sessions
            or self._bytes + kept.size > settings.keepalive_max_bytes
        ):
            self._release(max(self._kept.values(), key=lambda k: k.idle.ends_at), gates.NO_ROOM)
        self._kept[kept.key] = kept
        self._bytes += kept.size
        if self._timer is None and not settings.test_clock:
            self._look_later()

    def _release(self, kept: Kept, gate: Gate | None = None) -> None:
        """Overwrite what is kept of a thread, and end a ping of it."""
        if self._kept.get(kept.key) is not kept:
            return
        del self._kept[kept.key]
        self._bytes -= kept.size
        kept.wipe()
        if kept.pinging is not None and kept.pinging is not asyncio.current_task():
            kept.pinging.cancel()
        if gate is not None:
            self._parts.telemetry.not_kept(kept.tenant, gate)

    def review(self) -> None:
        """Something that is served has changed: let go what nobody consents to any more."""
        for kept in list(self._kept.values()):
            gate = self._withdrawn(kept)
            if gate is not None:
                self._release(kept, gate)

    def _withdrawn(self, kept: Kept) -> Gate | None:
        snapshots = self._parts.snapshots
        tenant = snapshots.tenants.get(kept.tenant)
        if tenant is None or tenant.body.status != "active":
            return gates.TENANT_GONE
        if not tenant.plan.cache.keepalive:
            return gates.CONSENT_WITHDRAWN
        served = snapshots.upstreams.get(kept.upstream.name)
        if tenant.plan.cache != kept.cache or served != kept.upstream:
            return gates.CONFIGURATION_CHANGED
        is_known = not kept.digest or snapshots.principal(kept.digest)
        return None if is_known else gates.TOKEN_REVOKED

    async def close(self) -> None:
        """Keep nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        for kept in list(self._kept.values()):
            self._release(kept)
        await ended(*self._tasks)

    # ---- as time passes ---------------------------------------------------------------------

    def _look_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(LOOK_EVERY_S, self._look)

    def _look(self) -> None:
        self._timer = None
        now = time.time()
        for kept in list(self._kept.values()):
            self._step(kept, now)
        if self._kept:
            self._look_later()

    async def advance(self, now: float) -> None:
        """Let the time of a test pass: whatever is due until then happens at its own instant."""
        while waiting := [kept for kept in self._kept.values() if kept.pinging is None]:
            first = min(waiting, key=lambda kept: kept.idle.next_at)
            if first.idle.next_at > now:
                return
            if task := self._step(first, first.idle.next_at):
                await asyncio.wait((task,))

    def _step(self, kept: Kept, now: float) -> asyncio.Task[None] | None:
        """What is due for a thread now; the ping, where that is one."""
        if kept.pinging is not None or now < kept.idle.next_at:
            return None
        if now >= kept.idle.ends_at:
            self._release(kept, gates.DEADLINE)
            return None
        task = asyncio.get_running_loop().create_task(self._ping(kept, now))
        kept.pinging = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _ping(self, kept: Kept, at: float) -> None:
        try:
            ended = await self._pinger.ping(kept, at)
        except Exception as error:  # noqa: BLE001  a fault must not repeat itself every second
            logs.fault(log, "cg.keepalive_fault tenant=%s", error, kept.tenant)
            ended = gates.FAULT
        finally:
            kept.pinging = None
        if isinstance(ended, Gate):
            self._note_skipped(kept, ended, at)
        else:
            self._note_ended(kept, ended, at)

    def _note_skipped(self, kept: Kept, gate: Gate, at: float) -> None:
        self._parts.telemetry.ping_skipped(kept.tenant)
        if gate is not gates.NO_SLACK:
            self._release(kept, gate)
            return
        self._parts.telemetry.not_kept(kept.tenant, gate)
        kept.idle = kept.idle.skipped(at)

    def _note_ended(self, kept: Kept, outcome: Outcome, at: float) -> None:
        kept.idle = kept.idle.pinged(at, kept_alive=outcome is Outcome.READ)
        if outcome is Outcome.WROTE:
            self._stop(kept)
        elif outcome is Outcome.REFUSED:
            self._release(kept, gates.REFUSED_BY_PROVIDER)
        elif kept.idle.is_spent:
            self._release(kept, gates.PINGS_SPENT)
            self._remember(kept)

    def _remember(self, kept: Kept) -> None:
        """Only that the prefix is warm: a return within its lifetime is still a rescue."""
        self._spent[kept.key] = kept.warm
        while len(self._spent) > SPENT_MAX:
            self._spent.popitem(last=False)

    def _stop(self, wrote: Kept) -> None:
        """A ping that writes costs what it should have saved: no more of them for the tenant."""
        session = scrubbed(wrote.of.session)
        log.error("cg.keepalive_wrote tenant=%s session=%s", wrote.tenant or "local", session)
        self._stopped[wrote.tenant] = wrote.of.snapshot
        for kept in [kept for kept in self._kept.values() if kept.tenant == wrote.tenant]:
            self._release(kept, gates.STOPPED_AFTER_WRITE)

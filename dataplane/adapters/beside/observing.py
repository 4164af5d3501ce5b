"""Mode observe: what the pipeline would have done, measured beside requests that went as they came.

A request is put into a bounded queue once its answer has begun, and never waits. Jobs run with
state of their own in `shadow/` below the state directory: as durable as the live one, so that the
projection replays what it decided, and apart from it, so that nothing projected is ever sent.
Source: 03-proxy-and-recovery.md 7.2.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from dataplane.adapters.drive import drive_apart, performer
from dataplane.adapters.figures import logs
from dataplane.adapters.figures.telemetry import Telemetry
from dataplane.adapters.stores import StoreSet
from dataplane.core.asked import Asked
from dataplane.core.effects import Effect, OpenTurn, PastTurn, SessionView
from dataplane.core.exchange import Exchange
from dataplane.core.outgoing import Outgoing
from dataplane.core.serving.plan import Plan
from dataplane.tasks import ended

log = logging.getLogger("headrace.observing")
THREADS = 2  # more would only wait for each other: the work holds the interpreter
WAITING_MAX_BYTES = 128 << 20  # bodies of all tenants that wait
STOP_S = 2.0


@dataclass(frozen=True, slots=True)
class Job:
    """One request to measure. plan: as it would be in mode sync.

    previous: the turn before, as the live tracker knows it; without it the projection would
    decide inside what the provider holds in its cache.
    """

    asked: Asked
    plan: Plan
    body: bytes
    previous: PastTurn | None


@dataclass(slots=True)
class _Queue:
    """The jobs of one tenant, oldest first. workers: how many take from it now."""

    waiting: OrderedDict[bytes, Job] = field(default_factory=OrderedDict)
    workers: int = 0


class Observer:
    """Measures requests of all tenants; used on the event loop only.

    store: where projected decisions and originals are kept; it is opened when it is first needed.
    """

    def __init__(self, store: StoreSet, telemetry: Telemetry) -> None:
        self.store = store
        self._telemetry = telemetry
        self._queues: dict[str, _Queue] = {}
        self._bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening: asyncio.Task[None] | None = None
        self._threads = ThreadPoolExecutor(THREADS, "observing")
        self._is_stopping = False

    def offer(self, job: Job) -> None:
        """Take a request that was forwarded, unless there is no room; never waits."""
        tenant, allowed = job.asked.tenant, job.plan.observe
        queue = self._queues.setdefault(tenant, _Queue())
        if job.body in queue.waiting:
            self._count(tenant, "coalesced")
        elif self._is_stopping or not self._has_room(queue, allowed.max_queue, len(job.body)):
            self._count(tenant, "dropped")
        else:
            self._count(tenant, "queued")
            queue.waiting[job.body] = job
            self._bytes += len(job.body)
            if queue.workers < allowed.workers:
                self._start_worker(queue)

    async def open(self) -> None:
        """Open the store, once; what was retired before is purged then. Raises what keeps it."""
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self.store.start())
        await asyncio.shield(self._opening)

    async def stop(self) -> None:
        """Drop what waits, give what runs a moment, and close."""
        self._is_stopping = True
        for tenant, queue in self._queues.items():
            for _ in range(len(queue.waiting)):
                self._next(queue)
                self._count(tenant, "abandoned")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_S)
        await ended(*self._tasks)
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self.store.close()

    # ---- beside the requests ----------------------------------------------------------------

    def _has_room(self, queue: _Queue, most: int, size: int) -> bool:
        return len(queue.waiting) < most and self._bytes + size <= WAITING_MAX_BYTES

    def _start_worker(self, queue: _Queue) -> None:
        queue.workers += 1
        task = asyncio.get_running_loop().create_task(self._work(queue))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _next(self, queue: _Queue) -> Job:
        _, job = queue.waiting.popitem(last=False)
        self._bytes -= len(job.body)
        return job

    async def _work(self, queue: _Queue) -> None:
        try:
            while queue.waiting:
                await self._measure(self._next(queue))
        finally:
            queue.workers -= 1

    async def _measure(self, job: Job) -> None:
        tenant, started = job.asked.tenant, time.perf_counter()
        try:
            await self.open()
            outgoing = await self._projected(job)
        except asyncio.CancelledError:
            self._count(tenant, "abandoned")
            raise
        except Exception as error:  # noqa: BLE001  a fault of the projection costs only itself
            logs.fault(log, "cg.observe_failed tenant=%s", error, tenant or "local")
            self._count(tenant, "errors")
            return
        overhead_ms = (time.perf_counter() - started) * 1000
        self._telemetry.projected(tenant, outgoing.report, overhead_ms)

    async def _projected(self, job: Job) -> Outgoing:
        persists = self.store.backend_for(job.asked.tenant).persists
        exchange = Exchange(job.plan, job.asked, persists=persists, clock=time.perf_counter)
        perform = _with_live_boundary(performer(self.store), job.previous)
        return await drive_apart(exchange.prepare(job.body), perform, self._threads)

    def _count(self, tenant: str, what: str) -> None:
        self._telemetry.observe_job(tenant, what)


def _with_live_boundary(
    perform: Callable[[Effect], Awaitable[Any]], previous: PastTurn | None
) -> Callable[[Effect], Awaitable[Any]]:
    async def performed(effect: Effect) -> Any:
        answer = await perform(effect)
        return _shared(answer, previous) if isinstance(effect, OpenTurn) else answer

    return performed


def _shared(view: SessionView, previous: PastTurn | None) -> SessionView:
    """The projection's own decisions, behind the boundary of what was really sent."""
    own = view.previous
    if previous is not None and own is not None:
        previous = previous._replace(offered=own.offered)
    return view._replace(previous=previous)

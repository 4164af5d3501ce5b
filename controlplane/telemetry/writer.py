"""The one thread of this process that writes what nodes report.

A batch is answered when it is safe in the database, so that a node which hears nothing, or an
error, sends it again; the database tells a repeated one. Source: 04 §1.8 and 7.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec
from django.db import connections

from controlplane.telemetry.actions import ingest
from controlplane.telemetry.files import DatabaseFile
from controlplane.telemetry.refusing import REFUSALS
from dataplane.core.uplink import BATCH_MAX_BYTES, RejectedError, decode

log = logging.getLogger("headrace.telemetry")
WAITING_MAX = 256


class BusyError(Exception):
    """Too many batches wait already; the node keeps its own and tries again."""


class Writer:
    """A dataplane sink; batches of remote nodes come through submit."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="telemetry")
        self._room = threading.BoundedSemaphore(WAITING_MAX)
        self._file = DatabaseFile()

    async def send(self, body: bytes) -> None:
        """Returns once the batch is stored; raises what kept it from being."""
        await asyncio.wrap_future(self.submit(body))

    def submit(self, body: bytes) -> Future[bool]:
        """False in the future: it was stored before. Raises BusyError, RejectedError."""
        if len(body) > BATCH_MAX_BYTES:
            raise RejectedError(f"more than {BATCH_MAX_BYTES} bytes")
        if not self._room.acquire(blocking=False):
            raise BusyError
        # Now, because a batch that waits for a locked database is no sign of a wrong clock.
        future = self._thread.submit(self._take, body, int(self._clock() * 1000))
        future.add_done_callback(lambda _: self._room.release())
        return future

    def close(self) -> None:
        """Write what was taken, then give the thread back."""
        self._thread.submit(connections.close_all)
        self._thread.shutdown(wait=True)

    def _take(self, body: bytes, received_at: int) -> bool:
        try:
            batch = decode(body)
        except msgspec.DecodeError as error:
            raise RejectedError(str(error)) from error
        try:
            self._file.ensure()
            return ingest(batch, received_at=received_at)
        except REFUSALS as error:  # of the batch's own head: it would keep all later ones waiting
            log.exception("telemetry.batch_refused node=%s seq=%d", batch.node_id, batch.seq)
            raise RejectedError(f"it cannot be stored: {type(error).__name__}") from error
        except Exception:
            connections.close_all()  # whatever is wrong, new connections may see it mended
            raise


_running: list[Writer] = []


def register(writer: Writer) -> None:
    """Called by controlplane.asgi, for the endpoint that remote nodes post to."""
    _running[:] = [writer]


def unregister() -> None:
    _running.clear()


def running() -> Writer | None:
    return _running[0] if _running else None

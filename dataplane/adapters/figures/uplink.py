"""Reports to the control plane what every request came to, and never makes a request wait.

A request puts its record into a bounded queue; where there is no room its row is dropped and
counted. Counters arrive apart from the rows, added up already, and are never dropped. One task
shapes both, numbers the batches and sends them, each again until it is taken.
Source: 03-proxy-and-recovery.md 9.9; 04-controlplane-and-dashboard.md 10.2.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from dataplane.adapters.figures.counting import Moved
from dataplane.adapters.figures.uplink_rows import Reported, delta_of, row_of
from dataplane.core.record import BASE, Record
from dataplane.core.resource import Ack
from dataplane.core.uplink import BATCH_MAX_BYTES, BUCKET_S, AnswerRow, RejectedError, UseRow
from dataplane.tasks import ended

log = logging.getLogger("headrace.uplink")

QUEUE_MAX = 10_000
TEXTS_WAITING_MAX = 32 << 20  # characters of changed texts that wait to be shaped
ROWS_WITH_TEXTS_MAX = 32 << 20  # bytes of rows that wait to be sent; beyond, they come without
KEYS_MAX = 20_000
EVERY_S, SELDOM_S = 0.5, 1.0
HEARTBEAT_S = 10.0
ANSWERS_EVERY_S = 60.0
USES_MAX = 500
LAST_WORD_S = 5.0
BACKOFF_S = (1.0, 2.0, 5.0, 10.0, 30.0)
UNWRITABLE = (ValueError, ArithmeticError)  # a text or a number of no encoding
_ROOM_BYTES = BATCH_MAX_BYTES - (256 << 10)  # answers, uses and gauges come besides
_HOUR_MS = 3_600_000
Key = tuple[int, str, str]


class Sink(Protocol):
    """Where batches go. Anything raised but RejectedError means: try again later."""

    async def send(self, body: bytes) -> None:
        """Returns once the batch is safe on the other side."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a process says of itself with each report: who used their credentials since the one
    before, and its gauges as they are now.
    """

    uses: Callable[[], Sequence[UseRow]] = tuple
    gauges: Callable[[], Mapping[str, int]] = dict


class _Batch(msgspec.Struct):
    """dataplane.core.uplink.Batch with its parts written already."""

    node_id: str
    boot_id: str
    seq: int
    sent_at: int
    claimed: int
    dropped: int
    rows: list[msgspec.Raw]
    deltas: list[msgspec.Raw]
    answers: list[AnswerRow] = []
    uses: list[UseRow] = []
    gauges: dict[str, int] = {}
    is_last: bool = False


class Uplink:
    """The reports of one process. clock: seconds since the epoch.

    stored: the counters that the store of a tenant keeps, by name, since the start.
    """

    def __init__(
        self,
        node: tuple[str, str],
        sink: Sink,
        *,
        stored: Callable[[str], Mapping[str, int]] = lambda _: {},
        seen: Seen = Seen(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """node: its id and the id of this life of it."""
        self._node_id, self._boot_id = node
        self._sink = sink
        self._stored = stored
        self._seen = seen
        self._uses: dict[str, UseRow] = {}
        self._clock = clock
        # Called before each report; whoever counts hands over with `take` what it counted.
        self.before_flush: Callable[[], None] = lambda: None
        self._queue: list[Record] = []
        self._counted: dict[Key, Moved] = {}
        self._moved: dict[Key, Moved] = {}
        self._rows: list[msgspec.Raw] = []
        self._row_bytes = 0
        self._texts_waiting = 0
        self._unsent: _Batch | None = None
        self._reported = Reported()
        self._known_stored: dict[str, Mapping[str, int]] = {}
        self._seq = 0
        self._claimed = 0
        self._dropped = 0
        self._last_sent = 0.0
        self._answers: dict[tuple[str, str], AnswerRow] = {}
        self._answered_at = 0.0
        self._has_said_goodbye = False
        self._flushing = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # ---- on the request path ----------------------------------------------------------------

    def offer(self, record: Record) -> bool:
        """Take a request that was counted; False when its row found no room. Never waits."""
        if len(self._queue) + len(self._rows) < QUEUE_MAX:
            if record.rewritten:
                self._make_room(record)
            self._queue.append(record)
            return True
        self._dropped += 1
        return False

    def _make_room(self, record: Record) -> None:
        """Its texts go where too many wait; its numbers stay."""
        size = sum(text.size for text in record.rewritten)
        if self._texts_waiting + size > TEXTS_WAITING_MAX or self._row_bytes > ROWS_WITH_TEXTS_MAX:
            record.texts_left_out, record.rewritten = len(record.rewritten), ()
        else:
            self._texts_waiting += size

    def take(self, tenant: str, arm: str, moved: Moved) -> None:
        """Take how far counters moved until now."""
        _add(self._counted, (self._bucket_at(), tenant, arm), moved)

    def answer(self, acks: Sequence[Ack]) -> None:
        """Take what a node that follows nobody says of its bundle; it is said again and again, so
        that a control plane which forgot it learns it anew.
        """
        for ack in acks:
            facts = {name: getattr(ack, name) for name in AnswerRow.__struct_fields__}
            self._answers[ack.type, ack.name] = msgspec.convert(facts, AnswerRow)
        self._answered_at = 0.0

    # ---- beside it --------------------------------------------------------------------------

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._flush_often())

    async def stop(self) -> None:
        """Send what is left, as far as that is possible within a moment."""
        if self._task is None:
            return
        self._stopping.set()
        await asyncio.wait((self._task,), timeout=LAST_WORD_S)
        await ended(self._task)

    async def flush(self) -> None:
        """Send everything that was offered until now; raises what the sink raises."""
        async with self._flushing:
            self.before_flush()
            queue, self._queue = self._queue, []
            self._texts_waiting = 0
            counted, self._counted = self._counted, {}
            if queue or counted:
                self._dropped += await asyncio.to_thread(self._shape, queue, counted)
            while await self._send_next():
                pass

    async def _flush_often(self) -> None:
        """Until it is told to stop, and once more then."""
        failures, is_last, took_s = 0, False, 0.0
        while not is_last:
            await self._pause(pause_s(took_s, failures))
            is_last = self._stopping.is_set()
            began = time.monotonic()
            try:
                await self.flush()
                failures, took_s = 0, time.monotonic() - began
            except Exception:
                failures += 1
                if failures == 1:
                    log.warning("cg.uplink_failed", exc_info=True)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def _shape(self, queue: list[Record], counted: dict[Key, Moved]) -> int:
        """How many rows could not be written; such a one takes none of the others with it."""
        for key, moved in counted.items():
            _add(self._moved, key, moved)
        unwritable = 0
        for record in queue:
            try:
                raw = msgspec.json.encode(row_of(record, self._reported))
            except UNWRITABLE:
                log.exception("cg.uplink_row_unwritable request=%a", record.request_id)
                unwritable += 1
                continue
            self._row_bytes += len(raw)
            self._rows.append(msgspec.Raw(raw))
        self._add_stored({tenant for _, tenant, _ in counted})
        return unwritable

    def _add_stored(self, tenants: Iterable[str]) -> None:
        """What the stores of these tenants counted since they were last looked at."""
        now = self._bucket_at()
        for tenant in tenants:
            counted = dict(self._stored(tenant))
            known = self._known_stored.get(tenant, {})
            change = Counter({name: n - known.get(name, 0) for name, n in counted.items()})
            self._known_stored[tenant] = counted
            if any(change.values()):
                _place(self._moved, (now, tenant, BASE)).totals.counts.update(change)

    def _bucket_at(self) -> int:
        return int(self._clock()) // BUCKET_S * BUCKET_S * 1000

    async def _send_next(self) -> bool:
        """Send one batch; False when there is nothing to say and it was said lately."""
        batch = self._unsent or self._next()
        if batch is None:
            return False
        self._unsent = batch
        batch.sent_at = int(self._clock() * 1000)
        try:
            await self._sink.send(msgspec.json.encode(batch))
        except RejectedError as error:
            log.error("cg.uplink_rejected seq=%d %s", batch.seq, error)
        self._unsent = None
        self._last_sent = self._clock()
        return bool(self._rows or self._moved)

    def _next(self) -> _Batch | None:
        is_leaving = self._stopping.is_set() and not self._has_said_goodbye
        is_silent = not (self._rows or self._moved or self._dropped or is_leaving)
        if is_silent and self._clock() - self._last_sent < HEARTBEAT_S:
            return None
        deltas = self._due_deltas()
        room = _ROOM_BYTES - sum(len(bytes(delta)) for delta in deltas)
        rows = self._due_rows(room)
        self._seq += 1
        dropped, self._dropped = self._dropped, 0
        self._has_said_goodbye = is_leaving and not (self._rows or self._moved)
        return _Batch(
            self._node_id,
            self._boot_id,
            self._seq,
            0,
            self._claimed,
            dropped,
            rows,
            deltas,
            self._due_answers(),
            self._due_uses(),
            dict(self._seen.gauges()),
            self._has_said_goodbye,
        )

    def _due_rows(self, room: int) -> list[msgspec.Raw]:
        """The oldest that fit into so many bytes, which mostly are all."""
        rows = self._rows
        if self._row_bytes + len(rows) <= room:
            self._rows, self._row_bytes = [], 0
            return rows
        due = rows[: _fitting(rows, room)]
        del rows[: len(due)]
        self._row_bytes -= sum(len(bytes(row)) for row in due)
        return due

    def _due_deltas(self) -> list[msgspec.Raw]:
        """As many as a batch has room for, one at least."""
        deltas: list[msgspec.Raw] = []
        room = _ROOM_BYTES
        for key in list(self._moved):
            moved, (bucket_at, tenant, arm) = self._moved[key], key
            delta = delta_of(moved, bucket_at=bucket_at, tenant=tenant, arm=arm)
            try:
                raw = msgspec.json.encode(delta)
            except UNWRITABLE:
                log.exception("cg.uplink_counters_unwritable tenant=%a", tenant)
                del self._moved[key]
                self._dropped += 1
                continue
            if len(raw) > room and deltas:
                break
            room -= len(raw)
            del self._moved[key]
            self._claimed += moved.totals.counts["all_requests"]
            deltas.append(msgspec.Raw(raw))
        return deltas

    def _due_uses(self) -> list[UseRow]:
        """Some at a time, so that a batch keeps its size."""
        self._uses.update({use.principal: use for use in self._seen.uses()})
        return [self._uses.pop(name) for name in list(self._uses)[:USES_MAX]]

    def _due_answers(self) -> list[AnswerRow]:
        now = self._clock()
        if now - self._answered_at < ANSWERS_EVERY_S:
            return []
        self._answered_at = now
        return list(self._answers.values())


def pause_s(took_s: float, failures: int) -> float:
    """Until the next flush: longer where the last one took long, so that batches become larger and
    fewer under load, and much longer while nobody takes them. took_s: of the last flush.
    """
    if failures:
        return BACKOFF_S[min(failures, len(BACKOFF_S)) - 1]
    return min(SELDOM_S, max(EVERY_S, 2 * took_s))


def _fitting(rows: list[msgspec.Raw], room: int) -> int:
    """How many of the first rows fit into so many bytes."""
    for count, row in enumerate(rows):
        room -= len(bytes(row)) + 1
        if room < 0:
            return count
    return len(rows)


def _add(moved: dict[Key, Moved], key: Key, more: Moved) -> None:
    _place(moved, key).merge(more)


def _place(moved: dict[Key, Moved], key: Key) -> Moved:
    """Where this is added up; by the hour once a long outage has filled memory with buckets."""
    if key not in moved and len(moved) >= KEYS_MAX:
        key = (key[0] // _HOUR_MS * _HOUR_MS, *key[1:])
    return moved.setdefault(key, Moved())

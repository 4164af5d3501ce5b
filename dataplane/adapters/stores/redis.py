"""The store that several nodes share: one Redis, every step of it one call of a script.

Source: 03-proxy-and-recovery.md 5.3 to 5.5, 5.7 to 5.9. An original counts as kept once
Redis has it in its append-only file. What does not answer within its time is answered for:
unavailable, refused, store_error; what then lands too late is taken back before the session's
next turn.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Coroutine
from dataclasses import replace

from dataplane.adapters.stores import redis_wire, retention
from dataplane.adapters.stores.answers import TurnRead
from dataplane.adapters.stores.cipher import SealedError, UnknownKeyError
from dataplane.adapters.stores.later import LaterTurns, Turns
from dataplane.adapters.stores.originals import (
    REDIS_LIMITS,
    Cached,
    Purged,
    StoreLimits,
    StoreStats,
    Touch,
)
from dataplane.adapters.stores.patience import TURN_PATIENCE_S, Patience
from dataplane.adapters.stores.redis_keys import REALM
from dataplane.adapters.stores.redis_link import (
    LeftAloneError,
    Link,
    ShortCountError,
    StoreRefusedError,
)
from dataplane.adapters.stores.redis_tenants import Tenants
from dataplane.adapters.stores.redis_wire import SWEEP_ROWS, Message, Read
from dataplane.adapters.stores.tally import CommitTimes, TenantTally, store_stats
from dataplane.adapters.stores.troubles import Troubles
from dataplane.adapters.stores.views import View, Views
from dataplane.adapters.waiting import within
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    FrozenDecision,
    OpenTurn,
    Recall,
    Recalled,
    Refused,
    Scope,
    SessionView,
)
from dataplane.core.text.content import content_key
from dataplane.encryption import StoreEncryption
from dataplane.settings import SharedStore
from dataplane.tasks import ended

RECALL_TRIES = 3
RECALL_TRY_S = 0.5
RECALL_PAUSE_S = 0.1
RETRY_S = 0.25
WAIT_SHARE = 0.9  # of a commit's time, so that a short count is heard and not guessed
_FAILURES = (TimeoutError, OSError, ValueError)
_NEVER_SENT = (LeftAloneError, StoreRefusedError, SealedError)


class RedisStore:
    """place: also how long a commit may take before it is answered for; a turn may take longer.

    encryption: None keeps values in the clear.
    """

    def __init__(
        self,
        place: SharedStore,
        *,
        limits: StoreLimits = REDIS_LIMITS,
        sweep_every_s: float = 60.0,
        encryption: StoreEncryption | None = None,
        realm: str = REALM,
    ) -> None:
        self._timeout_s = place.commit_timeout_ms / 1000
        self._sweep_every_s = sweep_every_s
        self._durability = f"aof+{place.replicas}" if place.replicas else "aof"
        self._link = Link(place)
        self._times = CommitTimes()
        self._views = Views()
        self._troubles = Troubles()
        self._tenants = Tenants(
            self._link,
            limits,
            encryption,
            self._troubles,
            realm=realm,
            lost=self._was_lost,
        )
        self._patience = Patience(self._timeout_s)
        self._behind: dict[asyncio.Task[None], tuple[str, str]] = {}
        self._sweeping: asyncio.Task[None] | None = None
        self._later = LaterTurns(self._record_later)

    @property
    def persists(self) -> bool:
        return True

    async def start(self) -> None:
        """Raises StoreRefusedError for a Redis that must not keep originals. One that does not
        answer is looked at again by the first request that needs it.
        """
        try:
            with within(TURN_PATIENCE_S):
                await self._link.ready()
        except StoreRefusedError:
            await self._link.close()
            raise
        except _FAILURES as error:
            self._troubles.unavailable("*", error)
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep_for_ever())

    async def close(self) -> None:
        if self._sweeping is None:
            return
        self._later.flush()
        behind = list(self._behind)
        if behind:
            await asyncio.wait(behind, timeout=self._timeout_s)
        await ended(self._sweeping, *behind)
        self._sweeping = None
        await self._link.close()

    def set_limits(self, tenant: str, limits: StoreLimits) -> None:
        self._tenants.tally(tenant).limits = limits

    async def open_turn(self, wanted: OpenTurn) -> SessionView:
        tenant = wanted.scope.tenant
        if not wanted.decides and (known := self._views.turn(wanted.scope).noted(wanted)):
            self._later.note(wanted)
            return known
        if wanted.scope in self._later:
            self._later.flush()  # or it would be written over this one
        try:
            with within(self._patience.of(tenant)):
                await self._link.ready()
                await self._settled(tenant, wanted.scope.session_key)
                view = self._views.of(wanted.scope)
                read = await self._open(wanted, view)
        except _FAILURES as error:
            self._report(tenant, error)
            self._patience.lose(tenant)
            return self._views.of(wanted.scope).without_store(wanted)
        self._patience.regain(tenant)
        return view.merge(read, wanted)

    async def commit(self, wanted: Commit) -> Committed:
        if not wanted.payloads and not wanted.decisions:
            return Committed(frozenset())
        tenant, began, attempt = wanted.scope.tenant, time.perf_counter(), secrets.token_hex(8)
        tally = self._tenants.tally(tenant)
        try:
            with within(self._timeout_s):
                answer, _ = await self._tenants.write(
                    tenant,
                    wanted.at,
                    "commit",
                    lambda keyring: redis_wire.commit_message(
                        wanted, attempt, keyring, tally.limits
                    ),
                    within_ms=int(self._timeout_s * 1000 * WAIT_SHARE),
                )
        except _FAILURES as error:
            self._report(tenant, error)
            if not isinstance(error, _NEVER_SENT):
                self._take_back(wanted, attempt)
            return self._unavailable(wanted, tally, error)
        self._times.add(time.perf_counter() - began)
        landed = redis_wire.landed_of(wanted, answer.own)
        self._views.of(wanted.scope).note(landed, wanted.decisions, wanted.at)
        return landed.committed

    async def recall(self, wanted: Recall) -> Recalled:
        if not retention.could_be_minted(wanted.marker_id):
            return Recalled(Found.MALFORMED)
        for _ in range(RECALL_TRIES):
            if read := await self._look_up(wanted):
                await self._note_recall(wanted, read)
                return Recalled(read.lookup.found, read.lookup.original, read.lookup.component)
            await asyncio.sleep(RECALL_PAUSE_S)
        return Recalled(Found.STORE_ERROR)

    async def touch_turn(self, wanted: Touch) -> bool:
        tenant = wanted.scope.tenant
        message = redis_wire.touch_message(wanted, self._tenants.tally(tenant).limits)
        self._later.flush()
        try:
            with within(self._patience.of(tenant)):
                await self._settled(tenant, wanted.scope.session_key)
                answer, _ = await self._tenants.write(
                    tenant, wanted.at, "touch_turn", lambda _: message
                )
        except _FAILURES as error:
            self._report(tenant, error)
            return False
        if moved := bool(answer.own[0]):
            self._views.of(wanted.scope).turn.touch(wanted)
        return moved

    def note_cached(self, wanted: Cached) -> None:
        if self._views.of(wanted.scope).turn.note_cached(wanted.at) and self._sweeping is not None:
            self._later.flush()
            tenant, session = wanted.scope.tenant, wanted.scope.session_key
            message = redis_wire.cached_message(wanted, self._tenants.tally(tenant).limits)
            telling = self._told(tenant, wanted.at, "note_cached", message)
            self._write_behind(telling, tenant, session)

    async def purge_tenant(self, tenant: str) -> Purged:
        self._later.flush()
        await self._settled(tenant, "")
        purged = await self._tenants.purge(tenant)
        self._views.forget(tenant, turns=True)
        return purged

    async def purge_session(self, scope: Scope) -> Purged:
        self._later.flush()
        tenant, session = scope.tenant, scope.session_key
        await self._settled(tenant, session)
        at = time.time()  # it belongs to no request, whose clock might be virtual
        limits = self._tenants.tally(tenant).limits
        answer, _ = await self._tenants.write(
            tenant,
            at,
            "purge_session",
            lambda keyring: Message(limits, session=session, at=at, keyring=keyring.token),
        )
        self._views.forget(tenant, turns=True)
        return Purged(*answer.own)

    def stats(self, tenant: str | None = None) -> StoreStats:
        tallies = self._tenants.tallies
        chosen = [tally for name, tally in tallies.items() if tenant is None or name == tenant]
        return store_stats("redis", self._durability, chosen, self._times)

    # -- what a request waits for ----------------------------------------------------------------

    async def _open(self, wanted: OpenTurn, view: View) -> TurnRead:
        tenant, seen = wanted.scope.tenant, view.seen
        limits = self._tenants.tally(tenant).limits
        answer, keyring = await self._tenants.write(
            tenant,
            wanted.at,
            "open_turn",
            lambda keyring: redis_wire.turn_message(wanted, seen, keyring, limits),
        )
        turn = redis_wire.turn_answer(wanted.scope, answer.own, keyring.cipher)
        if turn.unopened:
            self._troubles.undecryptable(tenant, "a decision does not open")
            await self._lose(wanted, turn.unopened, limits)
        return turn.read

    async def _lose(
        self, wanted: OpenTurn, unopened: list[tuple[str, str]], limits: StoreLimits
    ) -> None:
        """Decisions that do not open are lost, so that whoever can makes them again."""
        message = Message(limits, session=wanted.scope.session_key, decisions=unopened)
        await self._tenants.write(wanted.scope.tenant, wanted.at, "lose", lambda _: message)

    async def _look_up(self, wanted: Recall) -> Read | None:
        tenant = wanted.scope.tenant
        limits = self._tenants.tally(tenant).limits
        try:
            with within(RECALL_TRY_S):
                answer, keyring = await self._tenants.read(
                    tenant,
                    "find",
                    lambda keyring: redis_wire.find_message(wanted, keyring, limits),
                )
            read = redis_wire.read_of(wanted.marker_id, answer.own, keyring)
        except _FAILURES as error:
            self._report(tenant, error)
            return None
        if read.lookup.found is Found.DECRYPT_ERROR:
            self._troubles.undecryptable(tenant, "an original does not open")
        return read

    async def _note_recall(self, wanted: Recall, read: Read) -> None:
        """Write what a read leaves behind; the answer stands, whether or not this succeeds."""
        original = read.lookup.original
        if original is None or not (read.lookup.due or wanted.keep):
            return
        tenant = wanted.scope.tenant
        limits = self._tenants.tally(tenant).limits
        keep = content_key(original.decode("utf-8", "replace")) if wanted.keep else None
        try:
            with within(self._timeout_s):
                await self._tenants.write(
                    tenant,
                    wanted.at,
                    "note_recall",
                    lambda keyring: redis_wire.recalled_message(
                        wanted, read, keep, keyring, limits
                    ),
                )
        except _FAILURES as error:
            self._report(tenant, error)

    # -- what nobody waits for -------------------------------------------------------------------

    def _write_behind(self, writing: Coroutine[None, None, None], tenant: str, name: str) -> None:
        task = asyncio.get_running_loop().create_task(writing)
        self._behind[task] = (tenant, name)
        task.add_done_callback(lambda done: self._behind.pop(done, None))

    async def _settled(self, tenant: str, session: str) -> None:
        """Wait for what was written behind, which must come before what is asked now."""
        wanted = {(tenant, ""), (tenant, session)}
        if tasks := [task for task, about in self._behind.items() if about in wanted]:
            await asyncio.wait(tasks)

    def _record_later(self, tenant: str, turns: Turns) -> None:
        limits = self._tenants.tally(tenant).limits
        message = Message(limits, turns=[redis_wire.turn_of(turn) for turn in turns])
        newest = max(turn.at for turn in turns)
        self._write_behind(self._told(tenant, newest, "record_turns", message), tenant, "")

    async def _told(self, tenant: str, at: float, call: str, message: Message) -> None:
        try:
            with within(self._timeout_s):
                await self._tenants.write(tenant, at, call, lambda _: message)
        except _FAILURES as error:
            self._report(tenant, error)

    def _take_back(self, wanted: Commit, attempt: str) -> None:
        """A commit that was given up may have landed, or may still. Its request goes out without
        the decisions, so a later turn must not replay them.
        """
        late = self._views.of(wanted.scope).made_by(wanted)
        if late:
            tenant, session = wanted.scope.tenant, wanted.scope.session_key
            self._write_behind(self._took_back(wanted, attempt, late), tenant, session)

    async def _took_back(self, wanted: Commit, attempt: str, late: list[FrozenDecision]) -> None:
        tenant = wanted.scope.tenant
        limits = self._tenants.tally(tenant).limits
        message = redis_wire.take_back_message(wanted.scope.session_key, attempt, late, limits)
        while True:
            try:
                with within(self._timeout_s):
                    await self._tenants.write(tenant, wanted.at, "take_back", lambda _: message)
                return
            except _FAILURES as error:
                self._report(tenant, error)
                await asyncio.sleep(RETRY_S)

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._sweep_every_s)
            for tenant in list(self._tenants.clocks):
                try:
                    with within(TURN_PATIENCE_S):
                        await self._sweep(tenant)
                except _FAILURES as error:
                    self._report(tenant, error)

    async def _sweep(self, tenant: str) -> None:
        """Collect by the earliest clock that was active since the last sweep, so that a session
        whose clock runs ahead takes nothing from one whose clock does not. The clock of a tenant
        that went quiet runs on.
        """
        clock, limits = self._tenants.clocks[tenant], self._tenants.tally(tenant).limits
        at = clock.now()
        message = Message(limits, at=at)
        answer, _ = await self._tenants.write(tenant, at, "sweep", lambda _: message)
        while answer.own[0] >= SWEEP_ROWS:
            answer, _ = await self._tenants.write(tenant, at, "sweep", lambda _: message)
        self._tenants.clocks[tenant] = replace(clock, is_quiet=True)

    # -- failures --------------------------------------------------------------------------------

    def _report(self, tenant: str, error: BaseException) -> None:
        if not isinstance(error, LeftAloneError):
            self._link.failed()
            self._views.doubt()
        self._troubles.unavailable(tenant, error)
        if isinstance(error, StoreRefusedError):
            self._troubles.refused(error)
        if isinstance(error, UnknownKeyError):
            self._tenants.doubt_keys(tenant)

    def _was_lost(self, tenant: str) -> None:
        self._views.forget(tenant)
        self._troubles.was_reset(tenant, "Redis no longer has what it had")

    def _unavailable(self, wanted: Commit, tally: TenantTally, error: Exception) -> Committed:
        if isinstance(error, (TimeoutError, ShortCountError)):
            tally.counted["commit_timeouts"] += 1
        view = self._views.of(wanted.scope)
        tally.counted["stash_missing"] += view.left_dangling(wanted, tally.limits)
        refused = {payload.marker_id: Refused.UNAVAILABLE for payload in wanted.payloads}
        return Committed(frozenset(), refused, failed=True)

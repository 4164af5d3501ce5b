"""The tenants of one node in Redis: their data keys, their figures, and one way to ask.

Source: 03-proxy-and-recovery.md 5.7 and 5.9.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from dataplane.adapters.stores.cipher import SealedError
from dataplane.adapters.stores.originals import Purged, StoreLimits
from dataplane.adapters.stores.redis_keys import Keyring, prefix_of, unlock
from dataplane.adapters.stores.redis_link import Link, StaleKeysError
from dataplane.adapters.stores.redis_wire import Answer, Message, answer_of
from dataplane.adapters.stores.tally import TenantTally
from dataplane.adapters.stores.troubles import Troubles
from dataplane.encryption import StoreEncryption

BARRED_MS = 600_000
_STALE_TRIES = 3
Build = Callable[[Keyring], Message]


@dataclass(frozen=True, slots=True)
class Clock:
    """at: the least time (s) of a request since the last sweep. noted: by this process's clock.

    is_quiet: no request since then.
    """

    at: float
    noted: float
    is_quiet: bool = False

    def now(self) -> float:
        return self.at + time.monotonic() - self.noted


class Tenants:
    """realm: what keys begin with. lost: told of a tenant whose state is no longer in Redis."""

    def __init__(
        self,
        link: Link,
        limits: StoreLimits,
        encryption: StoreEncryption | None,
        troubles: Troubles,
        *,
        realm: str,
        lost: Callable[[str], None],
    ) -> None:
        self._realm = realm
        self._link, self._limits, self._encryption = link, limits, encryption
        self._troubles, self._lost = troubles, lost
        self._keyrings: dict[str, Keyring] = {}
        self.tallies: dict[str, TenantTally] = {}
        self.clocks: dict[str, Clock] = {}
        self._known: set[str] = set()

    def tally(self, tenant: str) -> TenantTally:
        if tenant not in self.tallies:
            self.tallies[tenant] = TenantTally(self._limits, authoritative=True)
        return self.tallies[tenant]

    async def read(self, tenant: str, call: str, build: Build) -> tuple[Answer, Keyring]:
        """A call that changes nothing; the keyring may be locked."""
        for _ in range(_STALE_TRIES):
            await self._link.ready()
            keyring = await self._keyring(tenant)
            message = build(keyring)
            try:
                raw = await self._link.run(self._tally_key(tenant), call, message)
            except StaleKeysError:
                self.doubt_keys(tenant)
            else:
                return answer_of(raw), keyring
        raise OSError("the data keys of the tenant keep changing")

    async def write(
        self, tenant: str, at: float, call: str, build: Build, *, within_ms: int = 0
    ) -> tuple[Answer, Keyring]:
        """A call that changes something. within_ms: wait so long for it to be durable, 0 not."""
        place = self._tally_key(tenant)
        for _ in range(_STALE_TRIES):
            await self._link.ready()
            keyring = await self._keyring(tenant)
            if keyring.cipher.is_locked:
                raise SealedError("the store is sealed with another key")
            message = build(keyring)
            try:
                raw = await self._link.run(place, call, message, within_ms=within_ms)
            except StaleKeysError:
                self.doubt_keys(tenant)
                continue
            answer = answer_of(raw)
            await self._count(tenant, at, answer)
            return answer, keyring
        raise OSError("the data keys of the tenant keep changing")

    def doubt_keys(self, tenant: str) -> None:
        """Read the data keys again before their next use."""
        self._keyrings.pop(tenant, None)

    async def purge(self, tenant: str) -> Purged:
        """Remove every key of a tenant, its data keys too, while nobody writes any."""
        await self._link.ready()
        prefix = prefix_of(self._realm, tenant)
        bar = f"{prefix}barred:"
        place, nothing = f"{prefix}tally", Message(self._limits)
        held = answer_of(await self._link.run(place, "held", nothing))
        await self._link.command("SET", bar, 1, "PX", BARRED_MS)
        await self._link.remove(f"{prefix}*", but=bar)
        await self._link.run(place, "begin_after_purge", nothing)
        self.doubt_keys(tenant)
        self.tallies[tenant] = TenantTally(self.tally(tenant).limits, authoritative=True)
        fill = held.fill
        return Purged(fill.payloads, fill.pinned + fill.overflow, held.own[0])

    async def _keyring(self, tenant: str) -> Keyring:
        if tenant not in self._keyrings:
            found = await unlock(
                self._link, prefix_of(self._realm, tenant), tenant, self._encryption
            )
            if found.cipher.is_locked:
                self._troubles.undecryptable(tenant, "its data keys do not open")
            self._keyrings[tenant] = found
        return self._keyrings[tenant]

    async def _count(self, tenant: str, at: float, answer: Answer) -> None:
        tally = self.tally(tenant)
        tally.fill = answer.fill
        tally.counted.update(answer.happened)
        tally.authoritative = answer.is_sound
        self._note_clock(tenant, at)
        if answer.is_fresh and tenant in self._known:
            tally.authoritative = False
            self._lost(tenant)
            message = Message(self._limits, at=at)
            await self._link.run(self._tally_key(tenant), "note_reset", message)
        self._known.add(tenant)
        self._troubles.over(tenant)

    def _note_clock(self, tenant: str, at: float) -> None:
        known = self.clocks.get(tenant)
        if known and not known.is_quiet:
            at = min(at, known.now())
        self.clocks[tenant] = Clock(at, time.monotonic())

    def _tally_key(self, tenant: str) -> str:
        return f"{prefix_of(self._realm, tenant)}tally"

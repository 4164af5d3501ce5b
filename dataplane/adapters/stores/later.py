"""Turns that decided nothing, written a little later and many at once.

What is lost with a killed process is that such a turn took place, which costs nothing but a
prefix that is believed shorter than it is. Source: 03-proxy-and-recovery.md 2.3, 5.3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dataplane.core.effects import OpenTurn, Scope

FLUSH_AFTER_S = 0.25
Turns = list[OpenTurn]


class LaterTurns:
    """The newest unwritten turn of each thread; `write` takes one tenant's and must not raise."""

    def __init__(self, write: Callable[[str, Turns], None]) -> None:
        self._write = write
        self._waiting: dict[tuple[str, str, str], OpenTurn] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __contains__(self, scope: Scope) -> bool:
        return (scope.tenant, scope.session_key, scope.thread) in self._waiting

    def note(self, turn: OpenTurn) -> None:
        scope = turn.scope
        self._waiting[scope.tenant, scope.session_key, scope.thread] = turn
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_AFTER_S, self.flush)

    def flush(self) -> None:
        """Hand over what waits, tenant by tenant."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        tenants: dict[str, Turns] = {}
        for turn in waiting.values():
            tenants.setdefault(turn.scope.tenant, []).append(turn)
        for tenant, turns in tenants.items():
            self._write(tenant, turns)

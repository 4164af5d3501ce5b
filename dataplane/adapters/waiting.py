"""Ending a wait from outside: it took too long, or what it waits for is not wanted any more.

`asyncio.timeout` makes a timer and a scope for each wait, and every request waits at least three
times; here one timer serves everything that an event loop waits for.
"""

from __future__ import annotations

import asyncio
import math
import threading
from types import TracebackType
from typing import Protocol, Self

_EARLY_S = 0.001  # the resolution of timers: one may fire so much before its time


class Interruption:
    """Ends what the current task does inside the block, which then raises `error`.

    As asyncio.timeout does it: a cancellation that comes from elsewhere stays one.
    """

    __slots__ = ("_cancelling", "_error", "_has_come", "_task")

    def __init__(self, error: type[Exception]) -> None:
        self._error = error
        self._has_come = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  coroutines run in tasks
        self._task, self._cancelling = task, task.cancelling()
        return self

    def come(self) -> None:
        """From outside of the block, while its task waits inside."""
        if not self._has_come:
            self._has_come = True
            self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._has_come:
            return
        is_ours = self._task.uncancel() <= self._cancelling
        if is_ours and kind is asyncio.CancelledError:
            raise self._error from error


class Limit(Interruption):
    """A block that may take so long; it raises TimeoutError when its time is over."""

    __slots__ = ("_clock", "due")

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__(TimeoutError)
        self._clock = clock
        self.due = clock.now + seconds

    def __enter__(self) -> Self:
        super().__enter__()
        self._clock.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clock.drop(self)
        super().__exit__(kind, error, trace)

    def set(self, due: float) -> None:
        """due: by the clock of the event loop, seconds."""
        self.due = due
        self._clock.expect(due)


class Awaited(Protocol):
    """What comes when its time has come. due: by the clock of the event loop, seconds."""

    due: float

    def come(self) -> None: ...


class Clock:
    """What is awaited on one event loop. Its timer is set for what is due first, and is left as it
    is when that is dropped sooner.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._awaited: set[Awaited] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._next = math.inf

    @property
    def now(self) -> float:
        return self.loop.time()

    def add(self, awaited: Awaited) -> None:
        self._awaited.add(awaited)
        self.expect(awaited.due)

    def drop(self, awaited: Awaited) -> None:
        self._awaited.discard(awaited)

    def expect(self, due: float) -> None:
        """Look by then at what is awaited."""
        if due >= self._next:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._next = due
        self._timer = self.loop.call_at(due, self._look)

    def _look(self) -> None:
        self._next, self._timer = math.inf, None
        over = self.now + _EARLY_S
        come = [each for each in self._awaited if each.due <= over]
        self._awaited.difference_update(come)
        for each in come:
            each.come()
        self.expect(min((each.due for each in self._awaited), default=math.inf))


class Clocks(threading.local):
    """One clock for each thread's running event loop. What is awaited for like times belongs
    together: each time that comes is looked for among everything on its clock.
    """

    _known: Clock | None = None

    @property
    def running(self) -> Clock:
        loop = asyncio.get_running_loop()
        if self._known is None or self._known.loop is not loop:
            self._known = Clock(loop)
        return self._known


_limits = Clocks()


def within(seconds: float) -> Limit:
    """A block that may take so many seconds, or for ever (math.inf). Raises TimeoutError."""
    return Limit(_limits.running, seconds)

"""How many connections a process has, so that descriptors are left for what it does with them.

One that waits for its client (for a head, or kept alive between requests) makes way for a new one;
pages never have all of them, so that traffic keeps its share. Source: 03-proxy-and-recovery.md 1.6.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

UNLIMITED = 1 << 16
FEWEST = 8
LARGEST_SHARE = (3, 4)  # of all connections that pages may have


class Connection(Protocol):
    """What a door knows of a connection."""

    def make_way(self) -> None:
        """Hang up at once; nobody waits for an answer on it."""


def raise_limit() -> None:
    """As many descriptors as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = UNLIMITED if hard == resource.RLIM_INFINITY else min(hard, UNLIMITED)
    if soft not in (resource.RLIM_INFINITY,) and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptors_left() -> int:
    """How many more files and connections this process may open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = UNLIMITED if soft == resource.RLIM_INFINITY else soft
    return allowed - sum(1 for _ in Path("/dev/fd").iterdir())


class Door:
    """The connections of one process. left: asked once, when the first one comes.

    A request of the gateway takes two descriptors, one on either side, so half of what is left are
    connections of clients.
    """

    def __init__(self, left: Callable[[], int] = descriptors_left) -> None:
        self._left = left
        self._most = 0
        self._inside: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}  # the longest first
        self._pages: set[Connection] = set()

    @property
    def most(self) -> int:
        if not self._most:
            self._most = max(FEWEST, self._left() // 2)
        return self._most

    @property
    def most_pages(self) -> int:
        part, parts = LARGEST_SHARE
        return self.most * part // parts

    def enter(self, connection: Connection) -> bool:
        """False when every connection is being answered."""
        if len(self._inside) >= self.most:
            longest = next(iter(self._waiting), None)
            if longest is None:
                return False
            self.leave(longest)
            longest.make_way()
        self._inside.add(connection)
        self.wait(connection)
        return True

    def wait(self, connection: Connection) -> None:
        """Its client is to say something now."""
        self._pages.discard(connection)
        if connection in self._inside:
            self._waiting.pop(connection, None)
            self._waiting[connection] = None

    def ask(self, connection: Connection, *, is_page: bool) -> bool:
        """It brought a request. False for a page when pages have all that they may have."""
        self._waiting.pop(connection, None)
        if not is_page:
            return True
        if len(self._pages) >= self.most_pages:
            return False
        self._pages.add(connection)
        return True

    def leave(self, connection: Connection) -> None:
        self._inside.discard(connection)
        self._waiting.pop(connection, None)
        self._pages.discard(connection)

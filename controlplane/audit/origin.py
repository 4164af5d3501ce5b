"""Where a change comes from, for as long as one request lasts (04 §1.5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """via: "ui", "api", or "system" for commands. ip and request_id: "" outside a request."""

    via: str = "system"
    ip: str = ""
    request_id: str = ""


NOWHERE = Origin()
_origin: ContextVar[Origin] = ContextVar("origin", default=NOWHERE)


def current() -> Origin:
    return _origin.get()


@contextmanager
def coming_from(origin: Origin) -> Iterator[None]:
    """Every event recorded inside the block carries the origin."""
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)

"""A disk or a database that does not take what it is given, told from a fault of ours.

Reads go on: what is only noted beside them (a session, a token was used) is left out meanwhile.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from django.db import DatabaseError, OperationalError

log = logging.getLogger("headrace.storage")
_FULL = ("is full", "no space left", "disk quota exceeded")


@dataclass(frozen=True, slots=True)
class Trouble:
    """fact, next_step: for people."""

    status: HTTPStatus
    code: str
    fact: str
    next_step: str


FULL = Trouble(
    HTTPStatus.INSUFFICIENT_STORAGE,
    "storage.full",
    "Nothing was saved: the disk is full.",
    "What is stored can still be read, and traffic goes on. Free space on the disk of the data "
    "directory, then do it again.",
)
UNUSABLE = Trouble(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "storage.unavailable",
    "Nothing was saved: the database cannot be used now.",
    "It is locked, read-only, damaged or gone; the log says which. Traffic goes on.",
)


def trouble_of(problem: BaseException | None) -> Trouble | None:
    """None for a fault of ours: other database errors speak of statements, and these are ours."""
    if isinstance(problem, OSError):
        return FULL if problem.errno in (errno.ENOSPC, errno.EDQUOT) else None
    if not (isinstance(problem, OperationalError) or type(problem) is DatabaseError):
        return None
    said = str(problem).lower()
    return FULL if any(words in said for words in _FULL) else UNUSABLE


@contextmanager
def noted_if_possible() -> Iterator[None]:
    """Around a write that only accompanies a read, outside a transaction."""
    try:
        yield
    except DatabaseError as problem:
        if trouble_of(problem) is None:
            raise
        log.warning("cp.not_noted %s", problem)

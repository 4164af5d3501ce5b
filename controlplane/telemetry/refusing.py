"""What a database refuses stands alone: its neighbours, often other tenants', are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db import DataError, IntegrityError, transaction

from controlplane.databases import TELEMETRY

T = TypeVar("T")
# The fault of what was to be written, and the same whenever it is tried again: no room for a value,
# no such number, no such text. What a database says of itself (locked, full, gone) is none of them.
REFUSALS = (DataError, IntegrityError, ValueError, ArithmeticError)


def all_but_the_refused(items: Sequence[T], keep: Callable[[Sequence[T]], None]) -> list[Exception]:
    """Have all kept at once, or else the halves, until what is refused stands alone: why it was.

    Within a transaction of the telemetry database.
    """
    if not items:
        return []
    try:
        with transaction.atomic(using=TELEMETRY):
            keep(items)
    except REFUSALS as error:
        if len(items) == 1:
            return [error]
        middle = len(items) // 2
        return [
            *all_but_the_refused(items[:middle], keep),
            *all_but_the_refused(items[middle:], keep),
        ]
    return []

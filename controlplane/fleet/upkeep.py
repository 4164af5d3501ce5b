"""What has to happen by the clock before changes are looked for: features register it here.

Like fleet.bodies it lets imports point one way, from the features to the fleet.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from django.db import DatabaseError
from django.utils import timezone

log = logging.getLogger("headrace.upkeep")

MOST_S = 10.0  # between two rounds while nobody writes and no moment has come
Step = Callable[[datetime], object]
Soonest = Callable[[], datetime | None]
_steps: dict[Step, Soonest] = {}
_ran_at: list[datetime] = []
_due_at: datetime | None = None


def _never() -> datetime | None:
    return None


def register(step: Step, soonest: Soonest = _never) -> None:
    """step(now) runs within a second of every commit: one query has to tell it that nothing is due.

    soonest(): when it has something to do without anybody writing, None for never.
    """
    _steps[step] = soonest


def ran_at() -> datetime | None:
    """When this process last went through the steps; None where none does."""
    return _ran_at[0] if _ran_at else None


def run() -> None:
    """Every step; one that the database refuses is tried again the next time."""
    global _due_at
    now, all_done = timezone.now(), True
    moments: list[datetime | None] = []
    for step, soonest in list(_steps.items()):
        try:
            step(now)
            moments.append(soonest())
        except DatabaseError:
            all_done = False
            log.warning("upkeep.postponed", exc_info=True)
            moments.append(now)
    _due_at = min(filter(None, moments), default=None)
    if all_done:
        _ran_at[:] = [now]


def is_due() -> bool:
    """A moment has come that some step waits for."""
    return _due_at is not None and _due_at <= timezone.now()

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

Step = Callable[[datetime], object]
_steps: list[Step] = []
_ran_at: list[datetime] = []


def register(step: Step) -> None:
    """step(now) runs about every second: one query has to tell it that nothing is due."""
    if step not in _steps:
        _steps.append(step)


def ran_at() -> datetime | None:
    """When this process last went through the steps; None where none does."""
    return _ran_at[0] if _ran_at else None


def run() -> None:
    """Every step; one that the database refuses is tried again the next time."""
    now, all_done = timezone.now(), True
    for step in _steps:
        try:
            step(now)
        except DatabaseError:
            all_done = False
            log.warning("upkeep.postponed", exc_info=True)
    if all_done:
        _ran_at[:] = [now]

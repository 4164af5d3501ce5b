"""Says which jobs missed their turns. No job itself: a step of the upkeep, which every process with
a node runs, so that it does not depend on what it watches (04 §7).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from controlplane.alarms.opening import settle, sight
from controlplane.alarms.sightings import Sighting
from controlplane.alarms.watching import not_said
from controlplane.jobs.actions import expect, now_ms
from controlplane.jobs.queries import job_rows

LOOK_EVERY = timedelta(seconds=30)


class Lateness:
    """The clock of it in this process."""

    def __init__(self) -> None:
        self._looked_at: datetime | None = None

    def __call__(self, now: datetime) -> None:
        if self._looked_at is None:
            expect(now_ms())
        if self._looked_at is None or now - self._looked_at >= LOOK_EVERY:
            look(now)
            self._looked_at = now


def look(now: datetime) -> None:
    late = [row for row in job_rows(int(now.timestamp() * 1000)) if row.is_late]
    found = [Sighting(rule="job_late", subject=row.task, at=now, detail=row.error) for row in late]
    sight(not_said(found))
    settle("job_late", {each.fingerprint for each in found}, now)

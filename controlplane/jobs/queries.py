"""How the jobs fare, for the page of the system's health (04 §5.15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.jobs.actions import now_ms
from controlplane.jobs.models import JobRun
from controlplane.jobs.registry import jobs

MISSED_MAX = 3


@dataclass(frozen=True, slots=True)
class JobRow:
    """Times in ms, None for never. is_late: it missed MISSED_MAX of its turns. One that never ran
    has them from when it was first expected.
    """

    task: str
    every_s: int
    succeeded_at: int | None
    duration_ms: int | None
    due_at: int
    failures: int
    is_running: bool
    is_late: bool
    result: str
    error: str
    runs: int


def job_rows(now: int | None = None) -> Sequence[JobRow]:
    """Every job of this build, by name; two statements at most."""
    now = now_ms() if now is None else now
    known = {row.task: row for row in JobRun.objects.all()}
    found = []
    for job in sorted(jobs(), key=lambda each: each.name):
        row = known.get(job.name) or JobRun(task=job.name)
        late_at = (row.due_at or now) + (MISSED_MAX - 1) * job.every_s * 1000
        found.append(
            JobRow(
                job.name,
                job.every_s,
                row.succeeded_at,
                row.duration_ms,
                row.due_at,
                row.failures,
                is_running=row.lease_until > now,
                is_late=now > late_at,
                result=row.result,
                error=row.error,
                runs=row.runs,
            )
        )
    return found

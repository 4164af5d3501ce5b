"""Whose turn a job is: one process runs it, and another takes over from a killed one."""

from __future__ import annotations

import logging
import random
import secrets
import time

from controlplane.jobs.models import JobRun
from controlplane.jobs.registry import Job, jobs
from controlplane.topics import tell

log = logging.getLogger("headrace.jobs")
PROCESS = secrets.token_hex(8)
FIRST_RETRY_S = 5
TEXT_MAX = 500


def run_if_due(job: Job, *, now: int | None = None) -> bool:
    """Run one round unless it is not its time or somebody else does. now: ms.

    A round that fails is tried again soon, later each time, at the latest at its next turn.
    """
    now = now_ms() if now is None else now
    if not _claim(job, now):
        return False
    started = time.monotonic()
    try:
        result = job.run()
    except Exception as error:
        log.exception("headrace.job_failed task=%s", job.name)
        _failed(job, now, error)
        return True
    _finished(job, now, result, round((time.monotonic() - started) * 1000))
    return True


def expect(now: int) -> None:
    """From now on each job has its turns, also one that never ran: it is late if nobody runs it."""
    for job in jobs():
        JobRun.objects.get_or_create(task=job.name, defaults={"due_at": now})


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def next_due() -> int:
    """When one of the registered jobs may run next, ms; 0 for one that never ran."""
    moments = JobRun.objects.values_list("task", "due_at", "lease_until")
    known = {task: max(due_at, lease_until) for task, due_at, lease_until in moments}
    return min((known.get(job.name, 0) for job in jobs()), default=0)


def _claim(job: Job, now: int) -> bool:
    """One statement decides: of two processes, one changes the row."""
    JobRun.objects.get_or_create(task=job.name)
    free = JobRun.objects.filter(task=job.name, due_at__lte=now, lease_until__lte=now)
    return bool(free.update(lease_until=now + job.lease_s * 1000, lease_by=PROCESS, started_at=now))


def _finished(job: Job, now: int, result: str, duration_ms: int) -> None:
    row = JobRun.objects.get(task=job.name)
    ended = now + duration_ms
    JobRun.objects.filter(task=job.name, lease_by=PROCESS).update(
        due_at=now + job.every_s * 1000,
        lease_until=0,
        finished_at=ended,
        succeeded_at=ended,
        duration_ms=duration_ms,
        failures=0,
        runs=row.runs + 1,
        result=result[:TEXT_MAX],
        error="",
    )
    tell("job", "done", job.name, data={"task": job.name})


def _failed(job: Job, now: int, error: Exception) -> None:
    row = JobRun.objects.get(task=job.name)
    wait_s = min(job.every_s, FIRST_RETRY_S * 2**row.failures) * random.uniform(0.8, 1.2)  # noqa: S311
    JobRun.objects.filter(task=job.name, lease_by=PROCESS).update(
        due_at=now + int(wait_s * 1000),
        lease_until=0,
        finished_at=now,
        failures=row.failures + 1,
        runs=row.runs + 1,
        # The type alone: the text of an error may quote what it was about.
        error=type(error).__name__[:TEXT_MAX],
    )
    tell("job", "failed", job.name, data={"task": job.name})

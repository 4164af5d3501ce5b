"""The jobs that run again and again; the same functions in the process and on Celery (04 §7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Job:
    """run() does one round, may be called again at any time, and says in a line what it did.

    every_s: between two rounds. lease_s: longer than a round takes; a process that was killed in
    one loses its turn then. queue: of Celery.
    """

    name: str
    every_s: int
    run: Callable[[], str]
    lease_s: int = 120
    queue: str = "default"


_jobs: dict[str, Job] = {}


def register(job: Job) -> None:
    """Called when Django starts (apps.ready)."""
    _jobs[job.name] = job


def jobs() -> tuple[Job, ...]:
    return tuple(_jobs.values())


def job(name: str) -> Job:
    """KeyError for an unknown one."""
    return _jobs[name]

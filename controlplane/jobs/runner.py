"""Runs the jobs in the process that serves, where no Celery is configured (04 §7)."""

from __future__ import annotations

import logging
import threading

from django.db import DatabaseError, connections

from controlplane.jobs.actions import next_due, now_ms, run_if_due
from controlplane.jobs.registry import jobs

log = logging.getLogger("headrace.jobs")
LOOK_S = 1.0
MOST_S = 10.0  # how late another process's wish for a job is seen


class Runner:
    """One thread; what is due is run one after the other."""

    def __init__(self, *, look_s: float = LOOK_S) -> None:
        self._look_s = look_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when the round that runs has ended."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            wait_s = self._look_s
            while not self._stopping.wait(wait_s):
                self._look()
                wait_s = max(self._look_s, min(MOST_S, self._until_due_s()))
        finally:
            connections.close_all()

    def _until_due_s(self) -> float:
        try:
            return max(0, next_due() - now_ms()) / 1000
        except DatabaseError:
            return 0.0

    def _look(self) -> None:
        for job in jobs():
            if self._stopping.is_set():
                return
            try:
                run_if_due(job)
            except DatabaseError:
                log.warning("headrace.jobs_postponed", exc_info=True)
                connections.close_all()

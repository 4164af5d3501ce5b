"""Runs the jobs in the process that serves, where no Celery is configured (04 section 7)."""

from __future__ import annotations

import logging
import threading

from django.db import DatabaseError, connections

from controlplane.jobs.actions import run_if_due
from controlplane.jobs.registry import jobs

log = logging.getLogger("headrace.jobs")
LOOK_S = 1.0


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
            while not self._stopping.wait(self._look_s):
                self._look()
        finally:
            connections.close_all()

    def _look(self) -> None:
        for job in jobs():
            if self._stopping.is_set():
                return
            try:
                run_if_due(job)
            except DatabaseError:
                log.warning("headrace.jobs_postponed", exc_info=True)
                connections.close_all()

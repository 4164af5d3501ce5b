"""The jobs of features that have none of their own module here."""

from __future__ import annotations

from controlplane.jobs.actions import now_ms
from controlplane.jobs.registry import Job
from controlplane.settings import ENVIRONMENT
from controlplane.telemetry.retention import Limits, purge

RETENTION_BUDGET_S = 30


def retention() -> str:
    limits = Limits(database_bytes=ENVIRONMENT.telemetry_max_bytes)
    return str(purge(now_ms(), limits, budget_s=RETENTION_BUDGET_S))


JOBS = (Job("retention", 3600, retention, queue="bulk"),)

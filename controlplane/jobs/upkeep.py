"""The jobs of features that have none of their own module here."""

from __future__ import annotations

from django.utils import timezone

from controlplane.configs.reports import forget_reports
from controlplane.jobs.actions import now_ms
from controlplane.jobs.registry import Job
from controlplane.settings import ENVIRONMENT
from controlplane.telemetry.retention import Limits, purge

RETENTION_BUDGET_S = 30


def retention() -> str:
    limits = Limits(database_bytes=ENVIRONMENT.telemetry_max_bytes)
    return str(purge(now_ms(), limits, budget_s=RETENTION_BUDGET_S))


def validation_reports() -> str:
    return f"{forget_reports(timezone.now())} deleted"


JOBS = (
    Job("retention", 3600, retention, queue="bulk"),
    Job("validation_reports", 3600, validation_reports, queue="bulk"),
)

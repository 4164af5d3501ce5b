"""The jobs of features that have none of their own module here."""

from __future__ import annotations

from django.utils import timezone

from controlplane.alarms.actions import forget
from controlplane.alarms.opening import settle, sight
from controlplane.alarms.sightings import Sighting
from controlplane.alarms.watching import not_said
from controlplane.configs.reports import forget_reports
from controlplane.jobs.actions import now_ms
from controlplane.jobs.queries import job_rows
from controlplane.jobs.registry import Job
from controlplane.settings import ENVIRONMENT
from controlplane.telemetry.retention import Limits, purge

RETENTION_BUDGET_S = 30
LATE = "late_jobs"


def retention() -> str:
    limits = Limits(database_bytes=ENVIRONMENT.telemetry_max_bytes)
    return str(purge(now_ms(), limits, budget_s=RETENTION_BUDGET_S))


def validation_reports() -> str:
    return f"{forget_reports(timezone.now())} deleted"


def alarm_history() -> str:
    messages, alarms = forget(timezone.now())
    return f"{messages} messages and {alarms} resolved alarms deleted"


def late_jobs() -> str:
    """Say which other jobs missed their turns, and that one is on time again."""
    late = [row for row in job_rows() if row.is_late and row.task != LATE]
    now = timezone.now()
    found = [Sighting(rule="job_late", subject=row.task, at=now, detail=row.error) for row in late]
    sight(not_said(found))
    settle("job_late", {each.fingerprint for each in found}, now)
    return f"{len(late)} late"


JOBS = (
    Job(LATE, 60, late_jobs),
    Job("alarm_history", 86_400, alarm_history, queue="bulk"),
    Job("retention", 3600, retention, queue="bulk"),
    Job("validation_reports", 3600, validation_reports, queue="bulk"),
)

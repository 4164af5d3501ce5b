"""The jobs of features that have none of their own module here."""

from __future__ import annotations

from django.utils import timezone

from controlplane.alarms.actions import forget
from controlplane.configs.reports import forget_reports
from controlplane.jobs.actions import now_ms
from controlplane.jobs.registry import Job
from controlplane.settings import ENVIRONMENT
from controlplane.telemetry.retention import Limits, purge

RETENTION_BUDGET_S = 30
PULSE_S = 60


def retention() -> str:
    limits = Limits(database_bytes=ENVIRONMENT.telemetry_max_bytes)
    return str(purge(now_ms(), limits, budget_s=RETENTION_BUDGET_S))


def validation_reports() -> str:
    return f"{forget_reports(timezone.now())} deleted"


def alarm_history() -> str:
    messages, alarms = forget(timezone.now())
    return f"{messages} messages and {alarms} resolved alarms deleted"


def pulse() -> str:
    """Nothing but that jobs are run: the shortest turn says soonest that nobody runs them."""
    return "jobs are run"


JOBS = (
    Job("pulse", PULSE_S, pulse),
    Job("alarm_history", 86_400, alarm_history, queue="bulk"),
    Job("retention", 3600, retention, queue="bulk"),
    Job("validation_reports", 3600, validation_reports, queue="bulk"),
)

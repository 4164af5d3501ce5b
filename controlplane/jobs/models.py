"""What is to run again and again, and how it went (04 §1.7 and 7)."""

from __future__ import annotations

from django.db import models


class JobRun(models.Model):
    """One task: whose turn it is, and its last run. Times are ms since the epoch.

    lease_until: until then whoever holds the lease runs it; a killed process lets go by time.
    failures: in a row.
    """

    task = models.CharField(max_length=64, unique=True)
    due_at = models.BigIntegerField(default=0)
    lease_until = models.BigIntegerField(default=0)
    lease_by = models.CharField(max_length=64, blank=True)
    started_at = models.BigIntegerField(null=True)
    finished_at = models.BigIntegerField(null=True)
    succeeded_at = models.BigIntegerField(null=True)
    duration_ms = models.IntegerField(null=True)
    failures = models.IntegerField(default=0)
    runs = models.BigIntegerField(default=0)
    result = models.CharField(max_length=500, blank=True)
    error = models.CharField(max_length=500, blank=True)

    def __str__(self) -> str:
        return self.task

"""Counters per stretch of time: additive, at four resolutions, and one that never shrinks."""

from __future__ import annotations

from typing import Any

from django.db import models

from controlplane.telemetry.usd import UsdField


class Bucket(models.Model):
    """One stretch of resolution_s seconds from bucket_at (ms), of one tenant and arm.

    A batch is added to all resolutions in its own transaction, so none of them is ever behind.
    """

    resolution_s = models.IntegerField()
    bucket_at = models.BigIntegerField()
    tenant_uid = models.CharField(max_length=32, blank=True)
    arm = models.CharField(max_length=16, default="base")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.tenant_uid} {self.bucket_at}/{self.resolution_s}s"


def _once(name: str, *more: str) -> Any:
    fields = ("resolution_s", "bucket_at", "tenant_uid", *more, "arm")
    return (models.UniqueConstraint(fields=fields, name=name),)


class TrafficBucket(Bucket):
    """Requests and what they carried. counts: every counter that has no column, by name.

    cost_usd, saved_usd: of the priced requests; pings_usd is a part of the cost. rescued_usd: what
    requests did not pay because pings had kept their prefix. added_spread and upstream_spread:
    requests by the slot of dataplane.core.spread, keys as text.
    """

    requests = models.BigIntegerField(default=0)
    shaped = models.BigIntegerField(default=0)
    sessions = models.BigIntegerField(default=0)
    errors = models.BigIntegerField(default=0)
    tokens_before = models.BigIntegerField(default=0)
    tokens_after = models.BigIntegerField(default=0)
    attempted_tokens = models.BigIntegerField(default=0)
    saved_unique = models.BigIntegerField(default=0)
    fresh_input = models.BigIntegerField(default=0)
    cache_read = models.BigIntegerField(default=0)
    cache_write = models.BigIntegerField(default=0)
    cache_write_1h = models.BigIntegerField(default=0)
    output = models.BigIntegerField(default=0)
    cost_usd = UsdField(default=0)
    saved_usd = UsdField(default=0)
    pings_usd = UsdField(default=0)
    rescued_usd = UsdField(default=0)
    priced = models.BigIntegerField(default=0)
    unpriced = models.BigIntegerField(default=0)
    expands = models.BigIntegerField(default=0)
    expand_tokens = models.BigIntegerField(default=0)
    expand_missing = models.BigIntegerField(default=0)
    expand_malformed = models.BigIntegerField(default=0)
    stash_refused = models.BigIntegerField(default=0)
    stash_missing = models.BigIntegerField(default=0)
    refused = models.BigIntegerField(default=0)
    counts = models.JSONField(default=dict)
    added_spread = models.JSONField(default=dict)
    upstream_spread = models.JSONField(default=dict)

    class Meta:
        constraints = _once("traffic_once")
        indexes = (models.Index(fields=("resolution_s", "bucket_at"), name="traffic_at"),)


class ComponentBucket(Bucket):
    """What one component did. spread: runs by the slot of their duration."""

    component = models.CharField(max_length=64)
    runs = models.BigIntegerField(default=0)
    acted = models.BigIntegerField(default=0)
    acted_fresh = models.BigIntegerField(default=0)
    acted_replay = models.BigIntegerField(default=0)
    mutated = models.BigIntegerField(default=0)
    reverted = models.BigIntegerField(default=0)
    discarded = models.BigIntegerField(default=0)
    saved_gross = models.BigIntegerField(default=0)
    saved_unique = models.BigIntegerField(default=0)
    duration_us = models.BigIntegerField(default=0)
    spread = models.JSONField(default=dict)

    class Meta:
        constraints = _once("component_once", "component")
        indexes = (
            models.Index(fields=("resolution_s", "component", "bucket_at"), name="component_at"),
        )


class SignalBucket(Bucket):
    """One gate or event of one component. n: what the component counted; requests: on how many."""

    component = models.CharField(max_length=64)
    signal = models.CharField(max_length=64)
    kind = models.CharField(max_length=5)
    n = models.BigIntegerField(default=0)
    requests = models.BigIntegerField(default=0)

    class Meta:
        constraints = (
            *_once("signal_once", "component", "signal", "kind"),
            models.CheckConstraint(
                condition=models.Q(kind__in=("gate", "event")), name="signal_kind_is_known"
            ),
        )
        indexes = (
            models.Index(fields=("resolution_s", "component", "bucket_at"), name="signal_at"),
        )


class MonthlySpend(models.Model):
    """What a tenant's requests of one calendar month (UTC, "2026-11") cost. Never pruned."""

    tenant_uid = models.CharField(max_length=32, blank=True)
    month = models.CharField(max_length=7)
    requests = models.BigIntegerField(default=0)
    cost_usd = UsdField(default=0)
    saved_usd = UsdField(default=0)
    unpriced = models.BigIntegerField(default=0)
    tokens_before = models.BigIntegerField(default=0)
    tokens_after = models.BigIntegerField(default=0)
    saved_unique = models.BigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant_uid", "month"), name="month_once"),)

    def __str__(self) -> str:
        return f"{self.tenant_uid} {self.month}"

"""What came of documents: revisions, reports, plans, answers to retries (04 §1.2)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane.accounts.models import Tenant
from controlplane.identifiers import uid_field


class EffectiveRevision(models.Model):
    """What one tenant runs: its layers merged; number counts per tenant (04 §3.3).

    inputs: [{layer, name, number, content_hash}], lowest layer first. origins: JSON pointer to
    {layer, name, version, line}. effective_hash: sha256 hex.
    """

    class Reason(models.TextChoices):
        TENANT_SAVE = "tenant_save"
        PRESET_PROMOTED = "preset_promoted"
        DEFAULT_CHANGED = "default_changed"
        SCHEMA_UPGRADE = "schema_upgrade"
        ROLLBACK = "rollback"
        ROLLOUT = "rollout"

    uid = uid_field("eff")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    inputs = models.JSONField()
    effective = models.JSONField()
    origins = models.JSONField(default=dict)
    effective_hash = models.CharField(max_length=64, db_index=True)
    schema_version = models.PositiveIntegerField(default=1)
    reason = models.CharField(max_length=16, choices=Reason, default=Reason.TENANT_SAVE)
    caused_by = models.CharField(max_length=254, default="system")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "number"), name="revision_numbers_are_unique"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tenant} revision {self.number}"


class SchemaRelease(models.Model):
    """The registry as a product version had it, so that an old document can be explained."""

    version = models.PositiveIntegerField(unique=True)
    registry = models.JSONField()
    removed = models.JSONField(default=list)
    product_version = models.CharField(max_length=32)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-version",)

    def __str__(self) -> str:
        return f"schema {self.version}"


class ValidationReport(models.Model):
    """The answer to one validation through the API. input_hash: sha256 hex of the text."""

    uid = uid_field("val")
    input_hash = models.CharField(max_length=64, db_index=True)
    target = models.CharField(max_length=64, blank=True)
    result = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return self.uid


class Plan(models.Model):
    """A change that was checked and looked at, and may be carried out as long as nothing moved.

    target: [document uid]; base: document uid to ETag, "" for none. candidate: document uid to
    {source, source_sha256}. plan_hash: of what the reader agreed to.
    """

    uid = uid_field("plan")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    message = models.CharField(max_length=500)
    target = models.JSONField()
    base = models.JSONField()
    candidate = models.JSONField()
    plan_hash = models.CharField(max_length=64)
    diff = models.JSONField()
    affected = models.JSONField()
    validation = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.uid


class IdempotencyRecord(models.Model):
    """The answer to a request that carried a key, given again to a retry for a day.

    principal: uid of the person or token. status: None while the request is still running.
    """

    principal = models.CharField(max_length=32)
    key = models.CharField(max_length=64)
    method = models.CharField(max_length=7)
    path = models.CharField(max_length=300)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    headers = models.JSONField(default=dict)
    response = models.TextField(blank=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("principal", "key"), name="idempotency_key_is_unique_per_principal"
            ),
            models.CheckConstraint(condition=~Q(key=""), name="idempotency_key_is_not_empty"),
        )

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.key}"

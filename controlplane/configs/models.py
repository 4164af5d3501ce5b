"""Documents and their immutable versions (04 section 1.2)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane.accounts.models import Tenant
from controlplane.identifiers import uid_field


class ConfigDocument(models.Model):
    """A named text with a history; a tenant without a version follows the server default."""

    class Kind(models.TextChoices):
        SERVER_DEFAULT = "server_default"
        TENANT = "tenant"

    uid = uid_field("doc")
    kind = models.CharField(max_length=16, choices=Kind)
    tenant = models.OneToOneField(
        Tenant, models.PROTECT, null=True, blank=True, related_name="document"
    )
    head = models.ForeignKey(
        "ConfigVersion", models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(kind="tenant", tenant__isnull=False)
                | Q(kind="server_default", tenant=None),
                name="document_owner_matches_its_kind",
            ),
            models.UniqueConstraint(
                fields=("kind",),
                condition=Q(kind="server_default"),
                name="one_server_default_document",
            ),
        )

    def __str__(self) -> str:
        return self.tenant.slug if self.tenant else self.kind


class ConfigVersion(models.Model):
    """One saved state of a document: the author's exact text and what it means.

    canonical: the document of section 2.3 as JSON text; content_hash: sha256 hex of its bytes.
    """

    uid = uid_field("ver")
    document = models.ForeignKey(ConfigDocument, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    source = models.TextField()
    source_sha256 = models.CharField(max_length=64)
    canonical = models.TextField()
    content_hash = models.CharField(max_length=64, db_index=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    message = models.CharField(max_length=500)
    warnings = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint(
                fields=("document", "number"), name="version_numbers_are_unique"
            ),
        )

    def __str__(self) -> str:
        return f"{self.document} v{self.number}"


class EffectiveRevision(models.Model):
    """What one tenant runs: its layers merged; number counts per tenant (04 section 3.3).

    inputs: [{layer, number, content_hash}], lowest layer first; effective_hash: sha256 hex.
    """

    uid = uid_field("eff")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    inputs = models.JSONField()
    effective = models.JSONField()
    effective_hash = models.CharField(max_length=64)
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

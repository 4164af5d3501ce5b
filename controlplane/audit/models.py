"""The trail of changes: copied names, no foreign keys, never changed (04 sections 1.5, 8.8)."""

from __future__ import annotations

from django.db import models

from controlplane.identifiers import uid_field


class AuditEvent(models.Model):
    """One change. before and after: what a reader needs to undo it by hand; never a secret."""

    uid = uid_field("aud")
    at = models.DateTimeField(auto_now_add=True)
    organisation_uid = models.CharField(max_length=32, blank=True, db_index=True)
    actor_uid = models.CharField(max_length=32, blank=True)
    actor_label = models.CharField(max_length=254)
    action = models.CharField(max_length=64)
    object_uid = models.CharField(max_length=64, blank=True, db_index=True)
    object_label = models.CharField(max_length=200)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.actor_label} {self.action} {self.object_label}"

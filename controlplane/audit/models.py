"""The trail of changes: copied names, no foreign keys, never changed (04 §1.5, 8.8)."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from controlplane.identifiers import uid_field

LONGEST_ACTOR, LONGEST_OBJECT = 254, 200


class TrailHead(models.Model):
    """The single row that names the newest event.

    Appending locks it until commit, so that two events never follow the same one; and an event
    removed from the end is missed, which the chain alone could not tell.
    """

    seq = models.BigIntegerField(default=0)
    hash = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = (models.CheckConstraint(condition=models.Q(id=1), name="trail_has_one_head"),)

    def __str__(self) -> str:
        return f"event {self.seq}"


class AuditEvent(models.Model):
    """One change. before and after: what a reader needs to undo it by hand; never a secret.

    hash: sha256 hex over prev_hash and this event (audit.chain).
    """

    uid = uid_field("aud")
    seq = models.BigIntegerField(unique=True)
    at = models.DateTimeField(default=timezone.now)
    organisation_uid = models.CharField(max_length=32, blank=True)
    actor_kind = models.CharField(max_length=6, default="system")
    actor_uid = models.CharField(max_length=32, blank=True)
    actor_label = models.CharField(max_length=LONGEST_ACTOR)
    via = models.CharField(max_length=6, default="system")
    ip = models.CharField(max_length=45, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    action = models.CharField(max_length=64)
    object_uid = models.CharField(max_length=64, blank=True, db_index=True)
    object_label = models.CharField(max_length=LONGEST_OBJECT)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    reason = models.CharField(max_length=500, blank=True)
    prev_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ("-seq",)
        indexes = (
            models.Index(fields=("organisation_uid", "seq"), name="trail_of_an_organisation"),
            models.Index(fields=("organisation_uid", "action"), name="trail_actions"),
        )

    def __str__(self) -> str:
        return f"{self.actor_label} {self.action} {self.object_label}"

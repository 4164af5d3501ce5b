"""The log that live pages read from a cursor on (04 §1.6 and 6.4)."""

from __future__ import annotations

from django.db import models


class LiveEvent(models.Model):
    """One message of the stream; its number is the cursor. key: newer replaces older by it."""

    seq = models.BigAutoField(primary_key=True)
    topic = models.CharField(max_length=200)
    type = models.CharField(max_length=32)
    key = models.CharField(max_length=200, blank=True)
    organisation = models.CharField(max_length=32, blank=True)
    tenant_uid = models.CharField(max_length=32, blank=True)
    payload = models.JSONField(default=dict)
    at = models.BigIntegerField()

    class Meta:
        indexes = (models.Index(fields=("topic", "seq"), name="live_topic"),)

    def __str__(self) -> str:
        return f"{self.topic} #{self.seq}"

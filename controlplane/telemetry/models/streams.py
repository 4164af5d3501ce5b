"""How far each node's reports have come, and what of them is missing."""

from __future__ import annotations

from django.db import models


class NodeStream(models.Model):
    """The reports of one life of a node process. seq: of the newest batch that arrived.

    requests: added up here; claimed: what the node says it counted up to that batch.
    dropped: request rows that the node had no room for, whose counters arrived all the same, and
    rows and counters that could not be stored.
    skew_ms: the node's clock less ours. stopped_at: when it said that it ends in good order, None
    while it lives and for one that was killed. gauges: as the newest batch said them.
    """

    node_id = models.CharField(max_length=64)
    boot_id = models.CharField(max_length=64)
    seq = models.BigIntegerField(default=0)
    batches = models.BigIntegerField(default=0)
    duplicates = models.BigIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    dropped = models.BigIntegerField(default=0)
    requests = models.BigIntegerField(default=0)
    claimed = models.BigIntegerField(default=0)
    skew_ms = models.BigIntegerField(default=0)
    lag_ms = models.BigIntegerField(default=0)
    first_at = models.BigIntegerField()
    last_at = models.BigIntegerField()
    stopped_at = models.BigIntegerField(null=True)
    gauges = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("node_id", "boot_id"), name="stream_once"),)
        indexes = (models.Index(fields=("-last_at",), name="stream_newest"),)

    def __str__(self) -> str:
        return f"{self.node_id} {self.boot_id} #{self.seq}"


class CredentialUse(models.Model):
    """When the subject of a credential was here, over all processes. Never pruned: one row each.

    session_uid, model, status: of its first request.
    """

    principal = models.CharField(max_length=64, unique=True)
    tenant_uid = models.CharField(max_length=32)
    first_at = models.BigIntegerField()
    last_at = models.BigIntegerField()
    session_uid = models.CharField(max_length=128, blank=True)
    model = models.CharField(max_length=128, blank=True)
    status = models.IntegerField(default=0)

    def __str__(self) -> str:
        return self.principal


class TelemetryGap(models.Model):
    """Something that did not arrive: batches from_seq to to_seq, or parts of one.

    from_at, to_at: between which moments it was counted; figures there are a lower bound.
    kind: batches (counters and rows are missing), rows (the node had no room for them) or refused
    (rows or counters that no database can store). rows: how many.
    """

    node_id = models.CharField(max_length=64)
    boot_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=7)
    from_seq = models.BigIntegerField()
    to_seq = models.BigIntegerField()
    from_at = models.BigIntegerField()
    to_at = models.BigIntegerField()
    rows = models.BigIntegerField(default=0)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind__in=("batches", "rows", "refused")),
                name="gap_kind_is_known",
            ),
        )
        indexes = (models.Index(fields=("to_at",), name="gap_until"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.from_seq}-{self.to_seq} of {self.node_id}"

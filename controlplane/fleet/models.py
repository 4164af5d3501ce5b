"""What was published to the nodes and what they answered (04 §1.4, 03 §9.1)."""

from __future__ import annotations

from django.db import models


class ChangeLog(models.Model):
    """The single row behind every cursor.

    Its number is raised inside the publishing transaction, which locks the row until commit, so
    numbers become visible in order and a reader never skips one. epoch: raised after a restore.
    """

    sequence = models.BigIntegerField(default=0)
    epoch = models.BigIntegerField(default=1)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(id=1), name="changelog_has_one_row"),
        )

    def __str__(self) -> str:
        return f"change {self.sequence}"


class PublishedResource(models.Model):
    """The newest version of one resource. sequence: its place in the change log."""

    type = models.CharField(max_length=32)
    name = models.CharField(max_length=64)
    epoch = models.BigIntegerField()
    version = models.BigIntegerField()
    sequence = models.BigIntegerField(unique=True)
    hash = models.CharField(max_length=71)
    body = models.BinaryField()
    published_at = models.DateTimeField()
    published_by = models.CharField(max_length=254)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("type", "name"), name="resource_is_published_once"),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.name} v{self.version}"


class NodeAck(models.Model):
    """What a process of a node last answered to one version of one resource.

    follows: it takes new versions by itself; a node that starts from a bundle does not.
    """

    class Status(models.TextChoices):
        ACK = "ack"
        NACK = "nack"

    node_id = models.CharField(max_length=64)
    boot_id = models.CharField(max_length=64)
    type = models.CharField(max_length=32)
    name = models.CharField(max_length=64)
    epoch = models.BigIntegerField()
    version = models.BigIntegerField()
    hash = models.CharField(max_length=71)
    status = models.CharField(max_length=4, choices=Status)
    serving_epoch = models.BigIntegerField(null=True)
    serving_version = models.BigIntegerField(null=True)
    errors = models.JSONField(default=list)
    warnings = models.JSONField(default=list)
    build_ms = models.FloatField(default=0.0)
    answered_at = models.DateTimeField()
    follows = models.BooleanField(default=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("type", "name", "epoch", "version", "node_id", "boot_id"),
                name="ack_once_per_process",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=("ack", "nack")), name="ack_status_is_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.node_id} {self.status} {self.type} {self.name} v{self.version}"

    @property
    def process(self) -> tuple[str, str]:
        return self.node_id, self.boot_id

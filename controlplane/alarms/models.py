"""What went wrong, who took it on, and who was told (04 §1.5)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from controlplane.accounts.models import Organisation, Secret, Tenant, User
from controlplane.identifiers import uid_field


class Severity(models.TextChoices):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Alarm(models.Model):
    """One thing that is wrong, from when it was first seen until somebody resolved it.

    rule: key of controlplane.alarms.rules. tenant: None for what belongs to the deployment.
    fingerprint: what makes two sightings the same alarm; at most one of them is open. count: how
    often it was seen. ack_until: None for no end.
    """

    class State(models.TextChoices):
        FIRING = "firing"
        ACKNOWLEDGED = "acknowledged"
        RESOLVED = "resolved"

    uid = uid_field("alm")
    rule = models.CharField(max_length=32)
    severity = models.CharField(max_length=8, choices=Severity)
    tenant = models.ForeignKey(Tenant, models.PROTECT, null=True, blank=True, related_name="alarms")
    node = models.CharField(max_length=64, blank=True)
    subject = models.CharField(max_length=120, blank=True)
    fingerprint = models.CharField(max_length=250)
    state = models.CharField(max_length=12, choices=State, default=State.FIRING)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)
    acked_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    acked_at = models.DateTimeField(null=True, blank=True)
    ack_until = models.DateTimeField(null=True, blank=True)
    ack_comment = models.CharField(max_length=500, blank=True)
    resolved_by = models.CharField(max_length=254, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolution = models.CharField(max_length=500, blank=True)
    reminded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-last_at", "-id")
        constraints = (
            models.UniqueConstraint(
                fields=("fingerprint",),
                condition=~Q(state="resolved"),
                name="one_open_alarm_per_fingerprint",
            ),
            models.CheckConstraint(
                condition=Q(state__in=("firing", "acknowledged", "resolved")),
                name="alarm_state_is_known",
            ),
            models.CheckConstraint(
                condition=Q(severity__in=("critical", "warning", "info")),
                name="alarm_severity_is_known",
            ),
        )
        indexes = (models.Index(fields=("state", "severity"), name="open_alarms_by_severity"),)

    def __str__(self) -> str:
        return f"{self.rule} {self.state}"

    @property
    def is_open(self) -> bool:
        return self.state != self.State.RESOLVED


class Occurrence(models.Model):
    """One sighting with its evidence; never content. turn: None where it is not known."""

    alarm = models.ForeignKey(Alarm, models.CASCADE, related_name="occurrences")
    at = models.DateTimeField()
    number = models.PositiveIntegerField(default=1)
    node = models.CharField(max_length=64, blank=True)
    session = models.CharField(max_length=128, blank=True)
    turn = models.PositiveIntegerField(null=True, blank=True)
    request = models.CharField(max_length=64, blank=True)
    marker = models.CharField(max_length=32, blank=True)
    component = models.CharField(max_length=64, blank=True)
    tokens = models.PositiveIntegerField(null=True, blank=True)
    cause = models.CharField(max_length=32, blank=True)
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.alarm_id} at {self.at:%H:%M:%S}"


class Step(models.Model):
    """What happened to an alarm: opened, fired again, acknowledged, reminded, resolved."""

    class What(models.TextChoices):
        OPENED = "opened"
        FIRED_AGAIN = "fired again"
        ACKNOWLEDGED = "acknowledged"
        ACK_ENDED = "acknowledgement ended"
        REMINDED = "reminded"
        SILENCED = "silenced"
        RESOLVED = "resolved"

    alarm = models.ForeignKey(Alarm, models.CASCADE, related_name="steps")
    at = models.DateTimeField()
    what = models.CharField(max_length=24, choices=What)
    who = models.CharField(max_length=254, blank=True)
    note = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.what


class Silence(models.Model):
    """Nobody is told of alarms with this fingerprint for a while; the pages go on showing them."""

    uid = uid_field("sil")
    fingerprint = models.CharField(max_length=250, db_index=True)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=500)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"{self.fingerprint} until {self.ends_at:%Y-%m-%d %H:%M}"


class Channel(models.Model):
    """Where an organisation, or with None the deployment, wants to be told.

    target: the URL of a webhook, or e-mail addresses parted by commas. least: the lowest severity
    that is sent. former: the secret before the last rotation, which signs as well until
    former_until. allow_private: it may be on this machine or a private network. failures:
    deliveries given up in a row.
    """

    class Kind(models.TextChoices):
        WEBHOOK = "webhook", "Webhook"
        EMAIL = "email", "E-mail"

    uid = uid_field("chn")
    organisation = models.ForeignKey(
        Organisation, models.PROTECT, null=True, blank=True, related_name="channels"
    )
    name = models.CharField(max_length=64)
    kind = models.CharField(max_length=7, choices=Kind)
    target = models.CharField(max_length=500)
    least = models.CharField(max_length=8, choices=Severity, default=Severity.WARNING)
    secret = models.ForeignKey(Secret, models.PROTECT, null=True, blank=True, related_name="+")
    former = models.ForeignKey(Secret, models.PROTECT, null=True, blank=True, related_name="+")
    former_until = models.DateTimeField(null=True, blank=True)
    allow_private = models.BooleanField(default=False)
    verified_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0)
    disabled_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(
                condition=Q(kind__in=("webhook", "email")), name="channel_kind_is_known"
            ),
            models.UniqueConstraint(
                fields=("organisation", "name"), name="channel_name_is_unique_in_organisation"
            ),
        )

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One message to one channel, with what became of it. uid: stays the same on every try."""

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        GIVEN_UP = "given up"

    uid = uid_field("dlv")
    channel = models.ForeignKey(Channel, models.CASCADE, related_name="deliveries")
    alarm = models.ForeignKey(Alarm, models.CASCADE, null=True, related_name="deliveries")
    event = models.CharField(max_length=32)
    payload = models.JSONField()
    state = models.CharField(max_length=9, choices=State, default=State.PENDING)
    attempt = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(null=True)
    http_status = models.PositiveIntegerField(null=True)
    answer = models.CharField(max_length=1024, blank=True)
    took_ms = models.FloatField(null=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(state__in=("pending", "delivered", "given up")),
                name="delivery_state_is_known",
            ),
        )
        indexes = (models.Index(fields=("state", "next_at"), name="deliveries_that_are_due"),)

    def __str__(self) -> str:
        return f"{self.event} to {self.channel_id}"


class Watermark(models.Model):
    """How far an evaluation has read, so that a restart neither skips nor repeats a row."""

    name = models.CharField(max_length=32, unique=True)
    value = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name} {self.value}"

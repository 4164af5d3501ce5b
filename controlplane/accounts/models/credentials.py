"""Credentials: keys of traffic, tokens of the API, secrets that we hold (04 §1.1)."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from controlplane.accounts.models.ownership import Organisation, Tenant
from controlplane.accounts.models.people import User
from controlplane.identifiers import new_uid, uid_field

SECRET_NAME = RegexValidator(
    r"^[a-z][a-z0-9_-]{0,63}\Z", "Lower-case letters, digits, hyphens, underscores, a letter first."
)


class DataPlaneKey(models.Model):
    """What an agent sends to be recognised: only its digest is kept (03 §1.3).

    principal: the subject the key belongs to; a key that replaces this one keeps it, so that
    what the old key stashed stays readable. retired_at: when an expired key left the nodes.
    """

    class Kind(models.TextChoices):
        LIVE = "live"
        TEST = "test"

    uid = uid_field("key")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="keys")
    kind = models.CharField(max_length=4, choices=Kind, default=Kind.LIVE)
    prefix = models.CharField(max_length=8)
    key_hash = models.CharField(max_length=64, unique=True, editable=False)
    principal = models.CharField(max_length=32, default=partial(new_uid, "prn"), editable=False)
    label = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(kind__in=("live", "test")), name="key_kind_is_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix}…)"

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class AgentKeyBinding(models.Model):
    """A caller's own provider key that stands for a tenant, for agents that can send no other.

    key_digest: sha256 hex of the whole key; the key itself is never kept.
    """

    uid = uid_field("bind")
    key_digest = models.CharField(max_length=64, unique=True, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="agent_keys")
    principal = models.CharField(max_length=32, default=partial(new_uid, "prn"), editable=False)
    label = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.label


class ApiToken(models.Model):
    """A credential of the control plane's API, never of traffic; only its digest is kept.

    scopes: permission names; organisation and tenant narrow further. ip_allow: networks in CIDR
    form, empty for any. rotated_from: the one that it replaces. parent: the token that asked for
    it, None for a person; it never outlives that one.
    """

    uid = uid_field("tok")
    prefix = models.CharField(max_length=8, db_index=True)
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    name = models.CharField(max_length=64)
    organisation = models.ForeignKey(
        Organisation, models.PROTECT, null=True, blank=True, related_name="tokens"
    )
    tenant = models.ForeignKey(Tenant, models.PROTECT, null=True, blank=True, related_name="tokens")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="tokens")
    scopes = models.JSONField(default=list)
    ip_allow = models.JSONField(default=list, blank=True)
    rotated_from = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="+"
    )
    parent = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="children"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_ip = models.CharField(max_length=45, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class Secret(models.Model):
    """A value that we hold sealed and never show again (04 §8.5).

    It belongs to a tenant, an organisation, or with neither to the deployment. key_id: which
    sealing key opens it. version: raised with every new value.
    """

    class Kind(models.TextChoices):
        PROVIDER_KEY = "provider_key"
        WEBHOOK_HMAC = "webhook_hmac"
        SMTP = "smtp"
        OIDC_CLIENT = "oidc_client"
        OTHER = "other"

    uid = uid_field("sec")
    organisation = models.ForeignKey(
        Organisation, models.PROTECT, null=True, blank=True, related_name="secrets"
    )
    tenant = models.ForeignKey(
        Tenant, models.PROTECT, null=True, blank=True, related_name="secrets"
    )
    name = models.CharField(max_length=64, validators=[SECRET_NAME])
    kind = models.CharField(max_length=12, choices=Kind)
    ciphertext = models.BinaryField()
    key_id = models.CharField(max_length=32)
    fingerprint = models.CharField(max_length=8)
    version = models.PositiveIntegerField(default=0)
    updated_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=("name",),
                condition=Q(organisation=None, tenant=None),
                name="secret_name_is_unique_in_deployment",
            ),
            models.UniqueConstraint(
                fields=("organisation", "name"),
                condition=Q(tenant=None),
                name="secret_name_is_unique_in_organisation",
            ),
            models.UniqueConstraint(
                fields=("tenant", "name"), name="secret_name_is_unique_in_tenant"
            ),
            models.CheckConstraint(
                condition=Q(organisation=None) | Q(tenant=None), name="secret_has_one_owner"
            ),
            models.CheckConstraint(
                condition=Q(
                    kind__in=("provider_key", "webhook_hmac", "smtp", "oidc_client", "other")
                ),
                name="secret_kind_is_known",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> str:
        """The uid of its owner; "" for the deployment."""
        owner = self.tenant or self.organisation
        return owner.uid if owner else ""

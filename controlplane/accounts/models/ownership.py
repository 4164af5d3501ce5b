"""Organisations, their tenants and the upstreams they choose from (04 §1.1, 1.2)."""

from __future__ import annotations

from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from controlplane.identifiers import uid_field

SLUG = RegexValidator(
    r"^[a-z][a-z0-9-]{1,39}\Z", "2 to 40 lower-case letters, digits or hyphens, a letter first."
)
HEADER_NAME = RegexValidator(r"^[A-Za-z0-9-]{1,64}\Z", "A header name: letters, digits, hyphens.")
DEFAULT_POLICY = {
    "llm_components": "allow",
    "irreversible_marker_modes": "ack",
    "request_overrides": False,
    "max_token_days": 365,
}


def default_policy() -> dict[str, Any]:
    return dict(DEFAULT_POLICY)


class Organisation(models.Model):
    """The owner of tenants and members.

    policy: llm_components, irreversible_marker_modes, request_overrides, max_token_days.
    content_capture_allowed: its tenants may agree that text of their conversations is kept.
    """

    uid = uid_field("org")
    name = models.CharField(max_length=120)
    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    policy = models.JSONField(default=default_policy, blank=True)
    content_capture_allowed = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.name


class Tenant(models.Model):
    """One traffic identity; its keys, configuration, store and figures are its own.

    capture_content: somebody agreed that text of its conversations is kept; whether it is, says
    accounts.capture. capture_consented_by: their name, as it was then.
    """

    uid = uid_field("ten")
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="tenants")
    slug = models.CharField(max_length=40, validators=[SLUG])
    label = models.CharField(max_length=64)
    rpm_limit = models.PositiveIntegerField(default=0)
    concurrent_limit = models.PositiveIntegerField(default=0)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_reason = models.CharField(max_length=200, blank=True)
    capture_content = models.BooleanField(default=False)
    capture_consented_by = models.CharField(max_length=254, blank=True)
    capture_consented_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("slug",)
        constraints = (
            models.UniqueConstraint(
                fields=("organisation", "slug"), name="tenant_slug_is_unique_in_organisation"
            ),
        )

    def __str__(self) -> str:
        return self.label


class Upstream(models.Model):
    """One provider endpoint of the deployment's allow-list; tenants choose it by name.

    key_secret: the provider key that we hold for it; without one the caller's own is forwarded.
    header_timeout_s: until the first byte of an answer; 0 is the node's own limit.
    """

    class Dialect(models.TextChoices):
        ANTHROPIC = "anthropic", "Anthropic"
        OPENAI = "openai", "OpenAI"
        BOB = "bob", "Bob"

    uid = uid_field("up")
    name = models.CharField(max_length=64, unique=True, validators=[SLUG])
    dialect = models.CharField(max_length=9, choices=Dialect)
    base_url = models.CharField(max_length=200)
    allow_insecure = models.BooleanField(default=False)
    allow_private = models.BooleanField(default=False)
    key_secret = models.ForeignKey(
        "accounts.Secret", models.PROTECT, null=True, blank=True, related_name="upstreams"
    )
    key_header = models.CharField(max_length=64, blank=True, validators=[HEADER_NAME])
    allow_server_state = models.BooleanField(default=False)
    wan_compression = models.BooleanField(default=False)
    proxy_url = models.CharField(max_length=200, blank=True)
    header_timeout_s = models.PositiveIntegerField(default=0)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(
                condition=Q(dialect__in=("anthropic", "openai", "bob")),
                name="upstream_dialect_is_known",
            ),
        )

    def __str__(self) -> str:
        return self.name


class TenantUpstream(models.Model):
    """The upstream that serves one dialect of one tenant."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="upstreams")
    dialect = models.CharField(max_length=9, choices=Upstream.Dialect)
    upstream = models.ForeignKey(Upstream, models.PROTECT, related_name="chosen_by")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "dialect"), name="one_upstream_per_tenant_and_dialect"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tenant} {self.dialect}: {self.upstream}"

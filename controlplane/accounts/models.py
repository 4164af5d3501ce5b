"""Who owns what: organisations, tenants, people, keys and upstreams (04 section 1.1, 1.2)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from controlplane.identifiers import new_uid, uid_field

SLUG = RegexValidator(
    r"^[a-z][a-z0-9-]{1,39}\Z", "2 to 40 lower-case letters, digits or hyphens, a letter first."
)


class Organisation(models.Model):
    """The owner of tenants and members."""

    uid = uid_field("org")
    name = models.CharField(max_length=120)
    slug = models.CharField(max_length=40, unique=True, validators=[SLUG])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.name


class Tenant(models.Model):
    """One traffic identity; its keys, configuration, store and figures are its own."""

    uid = uid_field("ten")
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="tenants")
    slug = models.CharField(max_length=40, validators=[SLUG])
    label = models.CharField(max_length=64)
    rpm_limit = models.PositiveIntegerField(default=0)
    concurrent_limit = models.PositiveIntegerField(default=0)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_reason = models.CharField(max_length=200, blank=True)
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


class Users(BaseUserManager["User"]):
    """What Django's authentication asks for; people are made by accounts.actions."""

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").strip().lower())

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """A person who signs in with an e-mail address, kept in lower case."""

    uid = uid_field("usr")
    email = models.EmailField(max_length=254, unique=True)
    display_name = models.CharField(max_length=120, blank=True)
    is_active = models.BooleanField(default=True)
    theme = models.CharField(
        max_length=5,
        choices=[("auto", "As the system"), ("light", "Light"), ("dark", "Dark")],
        default="auto",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    objects: ClassVar[Users] = Users()

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(email=Lower("email")), name="user_email_is_lower_case"
            ),
        )

    def __str__(self) -> str:
        return self.email

    @property
    def actor_uid(self) -> str:
        return self.uid

    @property
    def actor_label(self) -> str:
        return self.email


class Membership(models.Model):
    """What a person may do in an organisation; a manager belongs to none and sees all."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        OPERATOR = "operator"
        ADMIN = "admin"
        MANAGER = "manager"

    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    organisation = models.ForeignKey(
        Organisation, models.PROTECT, null=True, blank=True, related_name="memberships"
    )
    role = models.CharField(max_length=8, choices=Role)
    tenants = models.ManyToManyField(Tenant, blank=True, related_name="memberships")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("user", "organisation"), name="one_membership_per_organisation"
            ),
            models.UniqueConstraint(
                fields=("user",), condition=Q(organisation=None), name="one_manager_row_per_user"
            ),
            models.CheckConstraint(
                condition=Q(role="manager", organisation=None)
                | (~Q(role="manager") & Q(organisation__isnull=False)),
                name="only_managers_belong_to_no_organisation",
            ),
            models.CheckConstraint(
                condition=Q(role__in=("viewer", "operator", "admin", "manager")),
                name="membership_role_is_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} {self.role}"


class DataPlaneKey(models.Model):
    """What an agent sends to be recognised: only its digest is kept (03 section 1.3).

    principal: the subject the key belongs to; a key that replaces this one keeps it, so that
    what the old key stashed stays readable.
    """

    uid = uid_field("key")
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="keys")
    prefix = models.CharField(max_length=8)
    key_hash = models.CharField(max_length=64, unique=True, editable=False)
    principal = models.CharField(max_length=32, default=partial(new_uid, "prn"), editable=False)
    label = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix}…)"


class Upstream(models.Model):
    """One provider endpoint of the deployment's allow-list; tenants choose it by name."""

    class Dialect(models.TextChoices):
        ANTHROPIC = "anthropic", "Anthropic"
        OPENAI = "openai", "OpenAI"
        BOB = "bob", "Bob"

    uid = uid_field("up")
    name = models.CharField(max_length=64, unique=True, validators=[SLUG])
    dialect = models.CharField(max_length=9, choices=Dialect)
    base_url = models.CharField(max_length=200)
    allow_insecure = models.BooleanField(default=False)
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


class ApiToken(models.Model):
    """A credential of the control plane's API, never of traffic; only its digest is kept."""

    uid = uid_field("tok")
    prefix = models.CharField(max_length=8, db_index=True)
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    name = models.CharField(max_length=64)
    organisation = models.ForeignKey(
        Organisation, models.PROTECT, null=True, blank=True, related_name="tokens"
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="tokens")
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class SignInAttempt(models.Model):
    """A recent try to sign in, by what it is counted for: an account or an address."""

    subject = models.CharField(max_length=300)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=("subject", "at"), name="attempts_of_a_subject"),)

    def __str__(self) -> str:
        return self.subject

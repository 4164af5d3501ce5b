"""People: who they are, where they belong, how they got in (04 §1.1)."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from controlplane.accounts.models.ownership import Organisation, Tenant
from controlplane.identifiers import uid_field

LONGEST_LABEL = 110  # two of them and the words between fit the trail


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
    """A person who signs in with an e-mail address, kept in lower case.

    let_in_by, let_in_by_uid: who else could have opened the account, "" for nobody
    (accounts.letting_in); let_in_with: by what. is_retaken: the person chose a password since.
    """

    class LetInWith(models.TextChoices):
        LINK = "link"
        FACTOR = "factor"

    uid = uid_field("usr")
    email = models.EmailField(max_length=254, unique=True)
    display_name = models.CharField(max_length=120, blank=True)
    is_active = models.BooleanField(default=True)
    theme = models.CharField(
        max_length=5,
        choices=[("auto", "As the system"), ("light", "Light"), ("dark", "Dark")],
        default="auto",
    )
    let_in_by = models.CharField(max_length=LONGEST_LABEL, blank=True)
    let_in_by_uid = models.CharField(max_length=32, blank=True)
    let_in_with = models.CharField(max_length=8, blank=True, choices=LetInWith)
    is_retaken = models.BooleanField(default=False)
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
        """Beside who acts stands who else may be sitting there."""
        if not self.let_in_by:
            return self.email
        return f"{self.email[:LONGEST_LABEL]} (let in by {self.let_in_by})"


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


class Invitation(models.Model):
    """A way in for one e-mail address; only the digest of its link is kept."""

    uid = uid_field("inv")
    email = models.EmailField(max_length=254)
    organisation = models.ForeignKey(
        Organisation, models.PROTECT, null=True, blank=True, related_name="invitations"
    )
    role = models.CharField(max_length=8, choices=Membership.Role)
    tenants = models.ManyToManyField(Tenant, blank=True, related_name="+")
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(role="manager", organisation=None)
                | (~Q(role="manager") & Q(organisation__isnull=False)),
                name="only_invited_managers_belong_to_no_organisation",
            ),
            models.CheckConstraint(
                condition=Q(role__in=("viewer", "operator", "admin", "manager")),
                name="invitation_role_is_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.email} {self.role}"


class PasswordReset(models.Model):
    """A link that sets a person's password once; only its digest is kept.

    seen_by, seen_by_uid: who was shown it, "" where it went by mail.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="resets")
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    seen_by = models.CharField(max_length=LONGEST_LABEL, blank=True)
    seen_by_uid = models.CharField(max_length=32, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.user)


class WebSession(models.Model):
    """A machine on which a person is signed in. sid: of the session key's digest, never the key.

    A revoked row stays until it would have expired, so that its cookie cannot open a new one.
    """

    uid = uid_field("ses")
    sid = models.CharField(max_length=16, unique=True, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="web_sessions")
    label = models.CharField(max_length=64)
    user_agent = models.CharField(max_length=200, blank=True)
    ip = models.CharField(max_length=45, blank=True)
    created_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-last_seen_at",)

    def __str__(self) -> str:
        return f"{self.user} on {self.label}"


class SignInAttempt(models.Model):
    """A recent try to sign in, by what it is counted for: an account or an address."""

    subject = models.CharField(max_length=300)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=("subject", "at"), name="attempts_of_a_subject"),)

    def __str__(self) -> str:
        return self.subject

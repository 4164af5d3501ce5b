"""Rows ready to show: tenants that a person may see, keys, upstreams."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.utils import timezone

from controlplane.accounts.held_keys import held_keys
from controlplane.accounts.models import (
    AgentKeyBinding,
    ApiToken,
    DataPlaneKey,
    Invitation,
    Membership,
    Organisation,
    Tenant,
    Upstream,
    User,
    WebSession,
)
from controlplane.accounts.scopes import scope_of_user
from controlplane.accounts.secrets import digest_of, is_token
from controlplane.accounts.websessions import sid_of


def is_open_token(plaintext: str) -> bool:
    """Whether a token of the API is one of ours and not over; it is not noted as used."""
    live = ApiToken.objects.filter(revoked_at=None, expires_at__gt=timezone.now())
    return is_token(plaintext) and live.filter(token_hash=digest_of(plaintext)).exists()


def is_open_machine(session_key: str) -> bool:
    """Whether somebody is signed in with this session."""
    open_ones = WebSession.objects.filter(revoked_at=None, expires_at__gt=timezone.now())
    return open_ones.filter(sid=sid_of(session_key)).exists()


def visible_tenants(user: User | AnonymousUser) -> QuerySet[Tenant]:
    """Tenants that the person may read; none for someone who is not signed in or not active."""
    return scope_of_user(user).tenants()


def visible_tenant(user: User | AnonymousUser, slug: str) -> Tenant | None:
    """The tenant of that slug that the person may read; its uid is accepted as well."""
    return scope_of_user(user).tenant(slug)


def keys_of(tenant: Tenant) -> Sequence[DataPlaneKey]:
    """Live keys first, then revoked and expired ones, newest first in each."""
    keys = DataPlaneKey.objects.filter(tenant=tenant).order_by("-id")
    now = timezone.now()
    return sorted(keys, key=lambda key: not key.is_live(now))


def agent_keys_of(tenant: Tenant) -> Sequence[AgentKeyBinding]:
    return list(AgentKeyBinding.objects.filter(tenant=tenant))


def chosen_upstreams(tenant: Tenant) -> dict[str, Upstream]:
    """By dialect."""
    rows = tenant.upstreams.select_related("upstream").order_by("dialect")
    return {row.dialect: row.upstream for row in rows}


def upstreams_by_dialect() -> dict[str, list[Upstream]]:
    """The allow-list, to choose from."""
    found: dict[str, list[Upstream]] = {}
    for upstream in Upstream.objects.filter(enabled=True).order_by("dialect", "name"):
        found.setdefault(upstream.dialect, []).append(upstream)
    return found


def managers() -> QuerySet[User]:
    """Active people who manage the deployment, the first one first."""
    return User.objects.filter(is_active=True, memberships__role=Membership.Role.MANAGER).order_by(
        "id"
    )


def held_key(name: str) -> str | None:
    """The provider key of that name that the deployment holds, for the node in this process.

    It answers from memory and never waits, so it may be called on an event loop; None for a
    name that is not held, or not yet read.
    """
    return held_keys(name)


def members_of(organisation: Organisation | None) -> Sequence[Membership]:
    """With person and tenants, by e-mail address; None lists the managers."""
    found = Membership.objects.filter(organisation=organisation).order_by("user__email")
    return list(found.select_related("user", "organisation").prefetch_related("tenants"))


def open_invitations(organisation: Organisation | None) -> Sequence[Invitation]:
    """Neither accepted nor withdrawn nor over, newest first."""
    found = Invitation.objects.filter(
        organisation=organisation,
        accepted_at=None,
        withdrawn_at=None,
        expires_at__gt=timezone.now(),
    )
    return list(found.select_related("created_by").prefetch_related("tenants"))


def upstreams() -> Sequence[Upstream]:
    """The whole allow-list, disabled ones too, with the secret that each uses and who chose it."""
    found = Upstream.objects.select_related("key_secret").prefetch_related("chosen_by")
    return list(found.order_by("dialect", "name"))

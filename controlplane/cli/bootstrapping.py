"""Make a deployment usable: a manager, an organisation, a tenant with upstreams and a key.

Everything that is there already stays as it is, so that it may run at any time.
Source: 00-start-here.md 3, 04-controlplane-and-dashboard.md 8.1.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.core.exceptions import ValidationError
from django.db import transaction

from controlplane.accounts import members, people, tokens
from controlplane.accounts.actions import (
    choose_upstream,
    create_organisation,
    create_tenant,
    issue_key,
    revoke_key,
)
from controlplane.accounts.models import (
    ApiToken,
    DataPlaneKey,
    Membership,
    Organisation,
    Tenant,
    Upstream,
    User,
)
from controlplane.accounts.queries import managers
from controlplane.accounts.upstream_urls import checked, unresolved
from controlplane.accounts.upstreams import (
    UpstreamTerms,
    change_upstream,
    create_upstream,
    rules_of,
    terms_of,
)
from controlplane.configs.actions import ensure_server_default, save_version
from controlplane.configs.documents import document_of
from controlplane.prices.actions import ensure_card

ORGANISATION = "main"
LABEL = "bootstrap"
PROVIDERS = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}
PASSWORD_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """upstreams: dialect to URL. document: source text for the tenant, None to leave it.

    rotate: replace the password, key and token of an earlier run by new ones.
    """

    tenant: str
    admin_email: str
    admin_password: str | None = None
    upstreams: Mapping[str, str]
    allow_insecure: bool = False
    document: str | None = None
    rotate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrapped:
    """What there is now; a secret that existed before is None."""

    email: str
    password: str | None
    organisation: str
    tenant: str
    data_plane_key: str | None
    api_token: str | None


@transaction.atomic
def bootstrap(wanted: Wanted) -> Bootstrapped:
    """All of it or nothing: ConfigError for the document, ValidationError for the rest."""
    ensure_card()
    ensure_server_default()
    ensure_providers()
    admin, password = _admin(wanted)
    organisation = _organisation(admin)
    tenant = _tenant(organisation, wanted.tenant, admin)
    for dialect, url in wanted.upstreams.items():
        _point(tenant, dialect, url, wanted, admin)
    if wanted.document is not None:
        save_version(document_of(tenant), wanted.document, "Saved by bootstrap", admin)
    return Bootstrapped(
        email=admin.email,
        password=password,
        organisation=organisation.slug,
        tenant=tenant.slug,
        data_plane_key=_key(tenant, admin, rotate=wanted.rotate),
        api_token=_token(admin, rotate=wanted.rotate),
    )


def ensure_providers() -> None:
    """The providers' own addresses, so that a tenant can be switched to them on its page."""
    known = set(Upstream.objects.values_list("name", flat=True))
    for name, url in PROVIDERS.items():
        if name not in known:
            create_upstream(name=name, dialect=name, base_url=url, by=None, resolve=unresolved)


def _admin(wanted: Wanted) -> tuple[User, str | None]:
    """An existing manager stays as it is, unless its sign-in is to be rotated."""
    password = wanted.admin_password or secrets.token_urlsafe(PASSWORD_BYTES)
    manager = managers().filter(email=wanted.admin_email).first() or managers().first()
    if manager is None:
        admin = people.create_user(email=wanted.admin_email, password=password, by=None)
        members.set_member(admin, None, Membership.Role.MANAGER, None)
        return admin, password
    if wanted.rotate:
        people.set_password(manager, password, None)
        return manager, password
    return manager, None


def _organisation(admin: User) -> Organisation:
    found = Organisation.objects.filter(slug=ORGANISATION).first()
    return found or create_organisation(name="Main", slug=ORGANISATION, by=admin)


def _tenant(organisation: Organisation, slug: str, admin: User) -> Tenant:
    found = organisation.tenants.filter(slug=slug).first()
    return found or create_tenant(organisation, slug=slug, by=admin)


def _point(tenant: Tenant, dialect: str, url: str, wanted: Wanted, admin: User) -> None:
    """Use the upstream of that address, or one of the tenant's own, so that no other moves."""
    address, terms = _terms(url, allow_insecure=wanted.allow_insecure)
    upstream = Upstream.objects.filter(dialect=dialect, base_url=address, enabled=True).first()
    if upstream is None:
        upstream = _own_upstream(tenant, dialect, address, terms, admin)
    if not tenant.upstreams.filter(dialect=dialect, upstream=upstream).exists():
        choose_upstream(tenant, dialect, upstream.name, admin)


def _terms(url: str, *, allow_insecure: bool) -> tuple[str, UpstreamTerms]:
    """Whoever starts the deployment may name this machine and its networks: it is marked so."""
    public = UpstreamTerms(allow_insecure=allow_insecure)
    try:
        return checked(url, rules_of(public)), public
    except ValidationError:
        private = replace(public, allow_private=True)
        return checked(url, rules_of(private)), private


def _own_upstream(
    tenant: Tenant, dialect: str, url: str, terms: UpstreamTerms, admin: User
) -> Upstream:
    name = f"{tenant.slug}-{dialect}"
    own = Upstream.objects.filter(name=name, dialect=dialect).first()
    if own is not None:
        renewed = replace(
            terms_of(own),
            allow_insecure=terms.allow_insecure,
            allow_private=terms.allow_private,
            enabled=True,
        )
        return change_upstream(own, renewed, base_url=url, by=admin)
    return create_upstream(name=name, dialect=dialect, base_url=url, by=admin, terms=terms)


def _key(tenant: Tenant, admin: User, *, rotate: bool) -> str | None:
    live = DataPlaneKey.objects.filter(tenant=tenant, revoked_at=None, label=LABEL)
    earlier = live.order_by("-id").first()
    if earlier is not None and not rotate:
        return None
    _, plaintext = issue_key(tenant, LABEL, admin, replaces=earlier)
    if earlier is not None:
        revoke_key(earlier, admin)
    return plaintext


def _token(admin: User, *, rotate: bool) -> str | None:
    earlier = ApiToken.objects.filter(created_by=admin, name=LABEL, revoked_at=None).first()
    if earlier is not None and not rotate:
        return None
    if earlier is not None:
        tokens.revoke_token(earlier, admin)
    return tokens.issue_token(admin, LABEL, admin)[1]

"""The documents there are, and the text that a new deployment starts with (04 §1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from django.db.models import QuerySet

from controlplane.accounts.models import Organisation, Tenant
from controlplane.configs.models import ConfigDocument, ConfigVersion

DEFAULT_SOURCE = Path(__file__).with_name("server_default.yaml")
Kind = ConfigDocument.Kind
_ROWS = ConfigDocument.objects.select_related(
    "head", "promoted", "organisation", "tenant__organisation"
)


def server_default() -> ConfigDocument:
    """What a tenant follows that wrote nothing itself; exactly one exists."""
    return _ROWS.get_or_create(kind=Kind.SERVER_DEFAULT)[0]


def org_default(organisation: Organisation) -> ConfigDocument:
    """What the organisation says on top of it for its own tenants; without a version, nothing."""
    return _ROWS.get_or_create(kind=Kind.ORG_DEFAULT, organisation=organisation)[0]


def document_of(tenant: Tenant) -> ConfigDocument:
    """The tenant's own document; it exists from the tenant's creation."""
    return _ROWS.get_or_create(kind=Kind.TENANT, tenant=tenant)[0]


def in_force(document: ConfigDocument | None) -> ConfigVersion | None:
    """The version that counts; None when there is none or it says to follow the layer below."""
    found = document.promoted if document else None
    if document is None or found is None or found.is_tombstone:
        return None
    found.document = document
    return found


def layers_of(tenant: Tenant) -> Sequence[ConfigVersion]:
    """What the tenant's configuration is merged from, presets apart, the lowest first."""
    document = document_of(tenant)
    own = in_force(document)
    below = layers_below(document)
    return [*below, own] if own else below


def layers_below(document: ConfigDocument) -> Sequence[ConfigVersion]:
    """The versions that the document builds on, the lowest first; a preset builds on none."""
    if document.kind not in (Kind.ORG_DEFAULT, Kind.TENANT):
        return []
    below: list[ConfigDocument | None] = [server_default()]
    if document.tenant is not None:
        organisation = document.tenant.organisation
        below.append(_ROWS.filter(kind=Kind.ORG_DEFAULT, organisation=organisation).first())
    return [version for version in map(in_force, below) if version is not None]


def tenants_below(document: ConfigDocument) -> QuerySet[Tenant]:
    """Those whose effective document this one may be part of."""
    every = Tenant.objects.select_related("organisation").order_by("id")
    if document.tenant is not None:
        return every.filter(pk=document.tenant.pk)
    if document.organisation is not None:
        return every.filter(organisation=document.organisation)
    return every


def owner_of(document: ConfigDocument) -> Organisation | None:
    """The organisation whose presets and policy count for it; None for the deployment."""
    return document.tenant.organisation if document.tenant else document.organisation


def name_of(document: ConfigDocument) -> str:
    """How problems and origins name it: acme/orchid, acme, a preset's name, ""."""
    if document.kind == Kind.PRESET:
        return document.preset.name
    if document.tenant is not None:
        return f"{document.tenant.organisation.slug}/{document.tenant.slug}"
    return document.organisation.slug if document.organisation else ""

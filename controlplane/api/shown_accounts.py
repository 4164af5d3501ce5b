"""Rows of the accounts as bodies of the API."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from controlplane.accounts.models import (
    AgentKeyBinding,
    ApiToken,
    DataPlaneKey,
    Invitation,
    Membership,
    Organisation,
    Upstream,
)
from controlplane.accounts.upstreams import state_of
from controlplane.accounts.vault import SecretRow
from controlplane.accounts.websessions import SignedIn
from controlplane.api import account_schemas as schemas
from controlplane.api.schemas import ms
from controlplane.telemetry.models import CredentialUse
from controlplane.telemetry.queries import uses

ETAG_CHARACTERS = 12


def organisation(row: Organisation) -> schemas.OrganisationOut:
    return schemas.OrganisationOut(
        uid=row.uid,
        slug=row.slug,
        name=row.name,
        policy=row.policy,
        created_at=ms(row.created_at),
    )


def member(row: Membership) -> schemas.MemberOut:
    return schemas.MemberOut(
        uid=row.user.uid,
        email=row.user.email,
        display_name=row.user.display_name,
        role=row.role,
        tenants=_uids(row),
        is_active=row.user.is_active,
        since=ms(row.created_at),
    )


def invitation(row: Invitation) -> dict[str, Any]:
    return {
        "uid": row.uid,
        "email": row.email,
        "role": row.role,
        "tenants": _uids(row),
        "created_by": row.created_by.email if row.created_by else "system",
        "created_at": ms(row.created_at),
        "expires_at": ms(row.expires_at),
    }


def _uids(row: Membership | Invitation) -> list[str]:
    return sorted(tenant.uid for tenant in row.tenants.all())


def keys(rows: Iterable[DataPlaneKey]) -> list[dict[str, Any]]:
    found = list(rows)
    seen = uses(row.principal for row in found)
    return [key(row, seen) for row in found]


def key(row: DataPlaneKey, seen: Mapping[str, CredentialUse] | None = None) -> dict[str, Any]:
    """seen: uses by principal, looked up where they are not given."""
    return {
        "uid": row.uid,
        "label": row.label,
        "kind": row.kind,
        "prefix": row.prefix,
        "created_at": ms(row.created_at),
        "expires_at": _moment(row.expires_at),
        "revoked_at": _moment(row.revoked_at),
        "last_used_at": _used(row, seen),
    }


def agent_keys(rows: Iterable[AgentKeyBinding]) -> list[schemas.AgentKeyOut]:
    found = list(rows)
    seen = uses(row.principal for row in found)
    return [agent_key(row, seen) for row in found]


def agent_key(
    row: AgentKeyBinding, seen: Mapping[str, CredentialUse] | None = None
) -> schemas.AgentKeyOut:
    return schemas.AgentKeyOut(
        uid=row.uid,
        label=row.label,
        created_at=ms(row.created_at),
        last_used_at=_used(row, seen),
    )


def _used(
    credential: DataPlaneKey | AgentKeyBinding, seen: Mapping[str, CredentialUse] | None
) -> int | None:
    known = uses([credential.principal]) if seen is None else seen
    found = known.get(credential.principal)
    return found.last_at if found else None


def token(row: ApiToken) -> dict[str, Any]:
    return {
        "uid": row.uid,
        "name": row.name,
        "prefix": row.prefix,
        "scopes": row.scopes,
        "organisation": row.organisation.uid if row.organisation else None,
        "tenant": row.tenant.uid if row.tenant else None,
        "ip_allow": row.ip_allow,
        "created_by": row.created_by.email,
        "created_at": ms(row.created_at),
        "expires_at": ms(row.expires_at),
        "last_used_at": _moment(row.last_used_at),
        "revoked_at": _moment(row.revoked_at),
    }


def secret(row: SecretRow, owner: str) -> schemas.SecretOut:
    return schemas.SecretOut(
        uid=row.uid,
        owner=owner,
        name=row.name,
        kind=row.kind,
        set=True,
        fingerprint=row.fingerprint,
        version=row.version,
        updated_at=ms(row.updated_at),
        updated_by=row.updated_by or "system",
        used_by=list(row.used_by),
    )


def upstream(row: Upstream) -> schemas.UpstreamOut:
    return schemas.UpstreamOut(
        uid=row.uid,
        name=row.name,
        dialect=row.dialect,
        etag=upstream_etag(row),
        base_url=row.base_url,
        allow_insecure=row.allow_insecure,
        allow_private=row.allow_private,
        key_secret=row.key_secret.uid if row.key_secret else None,
        key_header=row.key_header,
        allow_server_state=row.allow_server_state,
        header_timeout_s=row.header_timeout_s,
        enabled=row.enabled,
        tenants=row.chosen_by.count(),
    )


def upstream_etag(row: Upstream) -> str:
    text = json.dumps(state_of(row), sort_keys=True)
    return f"u{hashlib.sha256(text.encode()).hexdigest()[:ETAG_CHARACTERS]}"


def machine(row: SignedIn) -> schemas.MachineOut:
    session = row.session
    return schemas.MachineOut(
        uid=session.uid,
        label=session.label,
        ip=session.ip,
        created_at=ms(session.created_at),
        last_seen_at=ms(session.last_seen_at),
        expires_at=ms(session.expires_at),
        is_this_one=row.is_this_one,
    )


def _moment(moment: datetime | None) -> int | None:
    return ms(moment) if moment else None

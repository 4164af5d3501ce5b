"""Rows of the features as bodies of the API."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest

from controlplane.accounts.models import Tenant
from controlplane.api import schemas
from controlplane.api.access import scope_of
from controlplane.api.schemas import ms
from controlplane.configs import visible
from controlplane.configs.documents import in_force, name_of
from controlplane.configs.models import (
    ConfigDocument,
    ConfigVersion,
    EffectiveRevision,
    Plan,
)
from controlplane.configs.plans import etag_of
from controlplane.configs.reports import Report
from controlplane.fleet import queries as fleet


def version(row: ConfigVersion) -> schemas.VersionOut:
    return schemas.VersionOut(**_version(row))


def version_text(row: ConfigVersion) -> schemas.VersionText:
    canonical = json.loads(row.canonical) if row.canonical else None
    return schemas.VersionText(
        **_version(row), source_yaml=row.source, canonical=canonical, warnings=row.warnings
    )


def _version(row: ConfigVersion) -> dict[str, Any]:
    document = row.document
    return {
        "uid": row.uid,
        "document": document.uid,
        "number": row.number,
        "kind": row.kind,
        "etag": row.etag,
        "parent": row.parent.number if row.parent else None,
        "origin": row.origin,
        "author": row.author.email if row.author else "system",
        "token": row.author_token.name if row.author_token else None,
        "message": row.message,
        "content_hash": row.content_hash,
        "source_sha256": row.source_sha256,
        "schema_version": row.schema_version,
        "created_at": ms(row.created_at),
        "is_head": document.head_id == row.pk,
        "is_promoted": document.promoted_id == row.pk,
    }


def document(request: HttpRequest, row: ConfigDocument) -> schemas.DocumentOut:
    for one in (row.head, row.promoted):
        if one is not None:
            one.document = row
    owner = row.tenant.organisation if row.tenant else row.organisation
    return schemas.DocumentOut(
        uid=row.uid,
        kind=row.kind,
        name=name_of(row),
        organisation=owner.uid if owner else None,
        tenant=row.tenant.uid if row.tenant else None,
        preset=row.preset.uid if row.kind == ConfigDocument.Kind.PRESET else None,
        etag=etag_of(row),
        head=version(row.head) if row.head else None,
        promoted=version(row.promoted) if row.promoted else None,
        follows=in_force(row) is None,
        may_write=visible.may_write(scope_of(request), row),
        created_at=ms(row.created_at),
    )


def saved(row: ConfigVersion, *, unchanged: bool, is_dry: bool) -> schemas.Saved:
    """With what the nodes of a tenant say to it; nobody is asked about a dry run."""
    tenant = row.document.tenant
    told = acknowledgement(tenant) if tenant and not is_dry else None
    return schemas.Saved(unchanged=unchanged, version=version_text(row), acknowledgement=told)


def acknowledgement(of: Tenant) -> schemas.Acknowledged:
    """What the nodes say to its newest version, waited for a moment."""
    found = fleet.acknowledgement(of, waits=True)
    return schemas.Acknowledged(
        status=found.status,
        version=found.version,
        nodes=found.nodes,
        serving=found.serving,
        problems=list(found.problems),
        waiting=list(found.waiting),
        apart=list(found.apart),
    )


def report(found: Report) -> schemas.ReportOut:
    return schemas.ReportOut(**found.as_json())


def tenant(row: Tenant) -> schemas.TenantOut:
    """The tenant with its document and upstreams read beside it."""
    return schemas.TenantOut(
        uid=row.uid,
        slug=row.slug,
        label=row.label,
        organisation=row.organisation.uid,
        organisation_slug=row.organisation.slug,
        document=row.document.uid,
        follows=in_force(row.document) is None,
        upstreams={one.dialect: one.upstream.name for one in row.upstreams.all()},
        rpm_limit=row.rpm_limit,
        concurrent_limit=row.concurrent_limit,
        disabled_at=ms(row.disabled_at) if row.disabled_at else None,
        disabled_reason=row.disabled_reason,
        created_at=ms(row.created_at),
    )


def revision(row: EffectiveRevision, of: Tenant) -> schemas.RevisionOut:
    return schemas.RevisionOut(
        uid=row.uid,
        tenant=of.uid,
        number=row.number,
        effective_hash=row.effective_hash,
        schema_version=row.schema_version,
        reason=row.reason,
        caused_by=row.caused_by,
        inputs=row.inputs,
        created_at=ms(row.created_at),
    )


def plan(row: Plan) -> schemas.PlanOut:
    return schemas.PlanOut(
        uid=row.uid,
        message=row.message,
        target=row.target,
        base=row.base,
        plan_hash=row.plan_hash,
        diff=row.diff,
        affected=row.affected,
        validation=row.validation,
        expires_at=ms(row.expires_at),
        applied_at=ms(row.applied_at) if row.applied_at else None,
    )


def as_rows(found: Any) -> list[dict[str, Any]]:
    """Frozen values as JSON objects."""
    return [asdict(one) for one in found]

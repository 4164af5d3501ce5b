"""Save versions of documents; saving publishes at once (04 sections 1.2, 2.1, 3.3)."""

from __future__ import annotations

import hashlib

from django.db import transaction

from controlplane.accounts.models import Tenant, User
from controlplane.audit.actions import Subject, record
from controlplane.configs import checking
from controlplane.configs.documents import DEFAULT_SOURCE, server_default
from controlplane.configs.models import ConfigDocument, ConfigVersion, EffectiveRevision
from controlplane.fleet.actions import publish, publish_deployment
from dataplane.core.config import resource

DEFAULT_MESSAGE = "The document that a new deployment starts with"


@transaction.atomic
def save_version(
    document: ConfigDocument, source: str, message: str, by: User | None
) -> ConfigVersion:
    """The new head, published to everyone it concerns, or the old one when the text is its own.

    source is kept to the letter. ConfigError(problems) when it does not validate: then nothing
    is stored. Warnings are stored with the version. The same holds when it would break the merge
    with the document of a tenant that builds on it.
    """
    head = ConfigDocument.objects.select_for_update().get(pk=document.pk).head
    digest = hashlib.sha256(source.encode()).hexdigest()
    if head is not None and head.source_sha256 == digest:
        return head
    accepted = checking.accept(document, source)
    version = ConfigVersion.objects.create(
        document=document,
        number=head.number + 1 if head else 1,
        source=source,
        source_sha256=digest,
        canonical=accepted.canonical,
        content_hash=accepted.content_hash,
        author=by,
        message=message.strip(),
        warnings=accepted.warnings,
    )
    document.head = version
    document.save(update_fields=["head"])
    _tell(document, version, head, by)
    for tenant in _followers(document):
        revise(tenant, by)
    return version


def _tell(
    document: ConfigDocument, version: ConfigVersion, head: ConfigVersion | None, by: User | None
) -> None:
    tenant = document.tenant
    subject = Subject(document.uid, str(document), tenant.organisation.uid if tenant else "")
    before = {"version": head.number, "content_hash": head.content_hash} if head else None
    after = {"version": version.number, "content_hash": version.content_hash}
    record("config.save", subject, by, before=before, after={**after, "message": version.message})


def _followers(document: ConfigDocument) -> list[Tenant]:
    """The tenants whose effective document this one is part of."""
    return [document.tenant] if document.tenant else list(Tenant.objects.order_by("id"))


@transaction.atomic
def revise(tenant: Tenant, by: User | None) -> EffectiveRevision:
    """Merge the tenant's layers; a new revision, published, when the result is another one.

    A change of comments alone gives an equal result, so it reaches no node.
    """
    effective, layers = checking.effective(tenant)
    last = EffectiveRevision.objects.filter(tenant=tenant).first()
    if last is None or last.effective_hash != effective.effective_hash:
        last = EffectiveRevision.objects.create(
            tenant=tenant,
            number=last.number + 1 if last else 1,
            inputs=[_input(version) for version in layers],
            effective=effective.document,
            effective_hash=effective.effective_hash,
        )
    publish([(resource.TENANT, tenant.uid)], by=by.actor_label if by else "system")
    return last


def _input(version: ConfigVersion) -> dict[str, str | int]:
    return {
        "layer": version.document.kind,
        "number": version.number,
        "content_hash": version.content_hash,
    }


@transaction.atomic
def ensure_server_default() -> ConfigDocument:
    """The document that tenants follow, with its first version; publishes the deployment."""
    document = server_default()
    if document.head is None:
        save_version(document, DEFAULT_SOURCE.read_text(), DEFAULT_MESSAGE, None)
    publish_deployment(by="system")
    return document

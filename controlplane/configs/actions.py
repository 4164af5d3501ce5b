"""Save versions of documents and put them in force (04 §1.2, 2.1, 3.2, 3.3).

What is saved is in force at once, except a preset, which is promoted when its owner says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from controlplane.accounts.models import Tenant
from controlplane.audit.actions import Actor, Subject, record
from controlplane.configs import checking
from controlplane.configs.authors import label_of, person_of, token_of
from controlplane.configs.documents import DEFAULT_SOURCE, server_default, tenants_below
from controlplane.configs.models import ConfigDocument, ConfigVersion, EffectiveRevision
from controlplane.configs.origins import origins_of
from controlplane.configs.problems import StaleBaseError
from controlplane.fleet.actions import publish, publish_deployment
from dataplane.core import resource
from dataplane.core.config.registry import SCHEMA_VERSION

DEFAULT_MESSAGE = "The document that a new deployment starts with"
Kind, Origin, Reason = ConfigDocument.Kind, ConfigVersion.Origin, EffectiveRevision.Reason


@transaction.atomic
def save_version(
    document: ConfigDocument,
    source: str,
    message: str,
    by: Actor | None,
    *,
    based_on: int | None = None,
    origin: str = "",
) -> ConfigVersion:
    """The new head, in force for everyone it concerns, or the old one when the text is its own.

    source is kept to the letter. based_on: the number of the version that the author started
    from, 0 for none; StaleBaseError when it is not the newest any more. ConfigError(problems)
    when the text does not validate, or breaks the merge of a tenant that builds on it: then
    nothing is stored. Warnings are stored with the version.
    """
    head = _locked_head(document, based_on)
    digest = hashlib.sha256(source.encode()).hexdigest()
    if head is not None and not head.is_tombstone and head.source_sha256 == digest:
        return head
    accepted = checking.accept(document, source, by)
    version = _appended(
        ConfigVersion(
            document=document,
            source=source,
            source_sha256=digest,
            canonical=accepted.canonical,
            content_hash=accepted.content_hash,
            message=message.strip(),
            warnings=accepted.warnings,
            origin=origin or (Origin.UI if by else Origin.SYSTEM),
        ),
        head,
        by,
    )
    if document.kind != Kind.PRESET:
        _put_in_force(version, by, _reason_of(document))
    return version


@transaction.atomic
def follow_default(
    document: ConfigDocument,
    message: str,
    by: Actor | None,
    *,
    based_on: int | None = None,
    origin: str = "",
) -> ConfigVersion | None:
    """A version without text: the layer below counts again. The head, when it is one already.

    Numbering goes on, so that compare-and-set never starts anew. StaleBaseError as for a save.
    """
    if document.kind not in (Kind.TENANT, Kind.ORG_DEFAULT):
        raise ValueError(f"a {document.kind} has no layer below")
    head = _locked_head(document, based_on)
    if head is None or head.is_tombstone:
        return head
    empty = hashlib.sha256(b"").hexdigest()
    version = _appended(
        ConfigVersion(
            document=document,
            kind=ConfigVersion.Kind.TOMBSTONE,
            source_sha256=empty,
            content_hash=empty,
            message=message.strip(),
            origin=origin or (Origin.UI if by else Origin.SYSTEM),
        ),
        head,
        by,
    )
    _put_in_force(version, by, _reason_of(document))
    return version


@transaction.atomic
def promote(version: ConfigVersion, message: str, by: Actor | None) -> ConfigVersion:
    """Put a version of a preset in force for everyone who names the preset without a number.

    An older one rolls back; no text is written. ConfigError when a follower's merge breaks.
    """
    document = version.document
    before = document.promoted
    if before is not None and before.pk == version.pk:
        return version
    is_older = before is not None and version.number < before.number
    subject = Subject(document.uid, str(document), document.organisation_uid)
    record(
        "preset.rollback" if is_older else "preset.promote",
        subject,
        by,
        before={"promoted": before.number if before else None},
        after={"promoted": version.number},
        reason=message.strip(),
    )
    _put_in_force(version, by, Reason.ROLLBACK if is_older else Reason.PRESET_PROMOTED)
    return version


def _locked_head(document: ConfigDocument, based_on: int | None) -> ConfigVersion | None:
    """Compare and set: the newest version, which must be the one that the author started from."""
    head = ConfigDocument.objects.select_for_update().get(pk=document.pk).head
    if head is not None and based_on is not None and head.number != based_on:
        raise StaleBaseError(head)
    return head


def _appended(
    version: ConfigVersion, head: ConfigVersion | None, by: Actor | None
) -> ConfigVersion:
    version.number = head.number + 1 if head else 1
    version.parent = head
    version.schema_version = SCHEMA_VERSION
    version.author, version.author_token = person_of(by), token_of(by)
    version.save(force_insert=True)
    document = version.document
    document.head = version
    document.save(update_fields=["head"])
    before = {"version": head.number, "content_hash": head.content_hash} if head else None
    after = {"version": version.number, "content_hash": version.content_hash}
    subject = Subject(document.uid, str(document), document.organisation_uid)
    action = "config.follow_default" if version.is_tombstone else "config.save"
    record(action, subject, by, before=before, after={**after, "message": version.message})
    return version


def _put_in_force(version: ConfigVersion, by: Actor | None, reason: str) -> None:
    document = version.document
    document.promoted = version
    document.save(update_fields=["promoted"])
    for tenant in followers_of(document):
        revise(tenant, by, reason)


def _reason_of(document: ConfigDocument) -> str:
    return Reason.TENANT_SAVE if document.kind == Kind.TENANT else Reason.DEFAULT_CHANGED


def followers_of(document: ConfigDocument) -> Sequence[Tenant]:
    """The tenants whose effective document this one may be part of."""
    return [document.tenant] if document.tenant is not None else list(tenants_below(document))


@transaction.atomic
def revise(tenant: Tenant, by: Actor | None, reason: str = "") -> EffectiveRevision:
    """Merge the tenant's layers; a new revision, published, when the result is another one.

    A change of comments alone gives an equal result, so it reaches no node.
    """
    found = checking.resolved(tenant)
    effective = found.effective
    last = EffectiveRevision.objects.filter(tenant=tenant).first()
    if last is None or last.effective_hash != effective.effective_hash:
        last = EffectiveRevision.objects.create(
            tenant=tenant,
            number=last.number + 1 if last else 1,
            inputs=found.inputs,
            effective=effective.document,
            origins=origins_of(effective),
            effective_hash=effective.effective_hash,
            schema_version=SCHEMA_VERSION,
            reason=reason or Reason.TENANT_SAVE,
            caused_by=label_of(by),
        )
    publish([(resource.TENANT, tenant.uid)], by=label_of(by))
    return last


@transaction.atomic
def ensure_server_default() -> ConfigDocument:
    """The document that tenants follow, with its first version; publishes the deployment."""
    document = server_default()
    if document.head is None:
        save_version(document, DEFAULT_SOURCE.read_text(), DEFAULT_MESSAGE, None)
    publish_deployment(by="system")
    return document


def restored(
    version: ConfigVersion, message: str, by: Actor | None, **terms: Any
) -> ConfigVersion | None:
    """A new version with an older one's text (terms as for a save); history is never rewritten."""
    terms = {"origin": Origin.ROLLBACK, **terms}
    if version.is_tombstone:
        return follow_default(version.document, message, by, **terms)
    return save_version(version.document, version.source, message, by, **terms)

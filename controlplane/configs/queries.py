"""Documents, their versions, and what a tenant runs, ready to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.accounts.models import Tenant
from controlplane.configs.documents import document_of, layers_of
from controlplane.configs.models import ConfigDocument, ConfigVersion, EffectiveRevision


@dataclass(frozen=True, slots=True)
class TenantDocument:
    """What the tenant runs. version: whose text `source` is; follows: it is a lower layer's.

    document: the tenant's own, which a save goes to, also while it follows the default.
    """

    document: ConfigDocument
    version: ConfigVersion | None
    follows: bool

    @property
    def source(self) -> str:
        return self.version.source if self.version else ""


def tenant_document(tenant: Tenant) -> TenantDocument:
    *_, top = [None, *layers_of(tenant)]
    if top is not None and top.document.tenant_id is not None:
        return TenantDocument(top.document, top, follows=False)
    return TenantDocument(document_of(tenant), top, follows=True)


def versions(document: ConfigDocument, *, limit: int = 50) -> Sequence[ConfigVersion]:
    """Newest first, with their authors."""
    found = ConfigVersion.objects.filter(document=document).select_related("author")
    return list(found[:limit])


def current_revision(tenant: Tenant) -> EffectiveRevision | None:
    return EffectiveRevision.objects.filter(tenant=tenant).first()

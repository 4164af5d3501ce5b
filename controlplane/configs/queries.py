"""Documents, their versions, and what a tenant runs, ready to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.accounts.models import Tenant
from controlplane.configs.checking import checked_as, resolved
from controlplane.configs.documents import document_of, layers_below, layers_of
from controlplane.configs.merging import Merge, merge
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


def starting_text(tenant: Tenant) -> str:
    """A first text of the tenant's own with which nothing changes: the preset it follows already.

    Where naming the preset would change something, the pipeline is written out instead.
    """
    found = resolved(tenant)
    presets = [one for one in found.inputs if one["layer"] == "preset"]
    pipeline = f"pipeline: [{', '.join(found.effective.pipeline)}]\n"
    if not presets:
        return pipeline
    text = f"preset: {presets[-1]['name']}\n"
    then = checked_as(document_of(tenant), text, None).effective
    is_same = then is not None and then.effective_hash == found.effective.effective_hash
    return text if is_same else pipeline


def lost_race(document: ConfigDocument, based_on: int, mine: str) -> Merge:
    """The author's text, the newest version and what both started from, hunk by hunk."""
    numbers = {based_on, document.head.number if document.head else 0}
    found = ConfigVersion.objects.filter(document=document, number__in=numbers)
    texts = {version.number: version.source for version in found if not version.is_tombstone}
    below = layers_below(document)
    shown = below[-1].source if below else ""  # the text of whoever followed the layer below
    return merge(texts.get(based_on, shown), texts.get(max(numbers), shown), mine)

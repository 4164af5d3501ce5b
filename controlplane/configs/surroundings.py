"""What is known of the place that a document is meant for: upstreams, secrets, prices (04 §2.5)."""

from __future__ import annotations

from django.db.models import Q

from controlplane.accounts.models import Organisation, Secret, TenantUpstream, Upstream
from controlplane.configs.models import ConfigDocument
from controlplane.configs.rested import rested
from controlplane.fleet import running
from controlplane.prices.queries import entries_in_force
from dataplane.core.config.deployment import Deployment, Endpoint

# Whose clients and answers carry the marks of a prompt cache that is kept between requests.
CACHING = frozenset({Upstream.Dialect.ANTHROPIC, Upstream.Dialect.OPENAI})


def surroundings(document: ConfigDocument, organisation: Organisation | None) -> Deployment:
    """Read anew at every check. An upstream that was switched off is as good as not chosen.

    No deployment of this build has a compaction model, and none lets a tenant name files.
    """
    enabled = Upstream.objects.filter(enabled=True)
    endpoints = tuple(Endpoint(one.name, one.dialect, one.base_url) for one in enabled)
    return Deployment(
        endpoints=endpoints,
        chosen=_chosen(document),
        secrets=_secrets(document, organisation),
        compaction_model=False,
        priced=tuple(entry.match for entry in entries_in_force()),
        hosted=True,
        imposed=running.imposed(),
        rested=rested(document.tenant.uid) if document.tenant else None,
    )


def caches(here: Deployment) -> bool:
    """Whether some provider of the tenant keeps a prompt cache."""
    return bool(CACHING & set(here.chosen or ()))


def _chosen(document: ConfigDocument) -> dict[str, str] | None:
    """Dialect to upstream; None where it differs from tenant to tenant."""
    if document.tenant is None:
        return None
    rows = TenantUpstream.objects.filter(tenant=document.tenant, upstream__enabled=True)
    return {str(one.dialect): one.upstream.name for one in rows.select_related("upstream")}


def _secrets(document: ConfigDocument, organisation: Organisation | None) -> frozenset[str]:
    """The names that a reference may use here: of the deployment, the organisation, the tenant."""
    scopes = Q(organisation=None, tenant=None)
    if organisation is not None:
        scopes |= Q(organisation=organisation, tenant=None)
    if document.tenant is not None:
        scopes |= Q(tenant=document.tenant)
    return frozenset(Secret.objects.filter(scopes).values_list("name", flat=True))

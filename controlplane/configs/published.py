"""A tenant as its nodes see it (03 §9.1)."""

from __future__ import annotations

from controlplane.accounts.capture import blocked_by
from controlplane.accounts.models import Tenant
from controlplane.configs.models import EffectiveRevision
from dataplane.core import resource
from dataplane.core.config.resolve import host_of


def tenant_body(uid: str) -> bytes:
    tenant = Tenant.objects.select_related("organisation").get(uid=uid)
    revision = EffectiveRevision.objects.get(
        pk=EffectiveRevision.objects.filter(tenant=tenant).values("pk")[:1]
    )
    chosen = tenant.upstreams.values_list("dialect", "upstream__name")
    body = resource.TenantBody(
        tenant=tenant.uid,
        slug=tenant.slug,
        label=tenant.label,
        upstreams=dict(chosen),
        variants=[_base(revision)],
        status="disabled" if tenant.disabled_at else "active",
        status_reason=tenant.disabled_reason,
        limits=resource.Limits(rpm=tenant.rpm_limit, concurrency=tenant.concurrent_limit),
        policy=resource.Policy(content_capture=blocked_by(tenant) is None),
        store=revision.effective.get("store", {}),
        cache=revision.effective.get("cache", {}),
    )
    return resource.encode(body)


def _base(revision: EffectiveRevision) -> resource.Variant:
    return resource.Variant(
        id=f"v{revision.number}",
        config_version=revision.number,
        config_hash=f"sha256:{revision.effective_hash}",
        role="base",
        host=host_of(revision.effective),
        document=revision.effective,
    )

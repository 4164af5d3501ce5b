"""An upgrade that changed the registry or a packaged preset merges every tenant anew (04 §2.8)."""

from __future__ import annotations

from controlplane.accounts.models import Tenant
from controlplane.configs.models import EffectiveRevision, SchemaRelease
from controlplane.configs.released import adopt_release
from dataplane.core.config.registry import SCHEMA_VERSION


def test_a_release_is_adopted_once(tenant: Tenant) -> None:
    before = EffectiveRevision.objects.count()

    assert adopt_release() == 1
    assert adopt_release() == 0
    assert SchemaRelease.objects.get().version == SCHEMA_VERSION
    assert EffectiveRevision.objects.count() == before


def test_another_registry_revises_the_tenants_whose_result_is_another(tenant: Tenant) -> None:
    adopt_release()
    SchemaRelease.objects.update(registry={})
    last = EffectiveRevision.objects.get(tenant=tenant)
    stale = EffectiveRevision(
        tenant=tenant, number=2, inputs=last.inputs, effective=last.effective, effective_hash="0"
    )
    stale.save(force_insert=True)

    assert adopt_release() == 1
    newest = EffectiveRevision.objects.filter(tenant=tenant).first()
    assert newest is not None
    assert (newest.number, newest.reason) == (3, "schema_upgrade")

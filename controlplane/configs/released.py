"""The registry of this build, kept beside those of earlier ones; what an upgrade sets off (2.8)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from django.db import transaction

from controlplane.accounts.models import Tenant
from controlplane.configs.actions import revise
from controlplane.configs.models import EffectiveRevision, SchemaRelease
from dataplane.core.components import components
from dataplane.core.config.presets import BUILT_IN
from dataplane.core.config.problems import ConfigError
from dataplane.core.config.registry import SCHEMA_VERSION, json_schema, registry
from dataplane.core.port.declaration import Declaration

log = logging.getLogger("headrace.configs")


def registry_facts(known: Mapping[str, Declaration]) -> list[dict[str, Any]]:
    """What a JSON schema cannot say of each component."""
    return [
        {
            "name": declared.name,
            "kind": declared.kind.value,
            "summary": declared.summary,
            "calls_model": declared.calls_model,
            "available": declared.available,
            "lacks": declared.lacks,
            "gates": {gate.name: gate.meaning for gate in declared.gates},
            "events": {event.name: event.meaning for event in declared.events},
            "refusals": {
                name: {"code": one.code, "reason": one.reason, "replacement": one.replacement}
                for name, one in declared.refusals.items()
            },
        }
        for declared in known.values()
    ]


def adopt_release() -> int:
    """Merge every tenant anew once the registry or a packaged preset changed; how many there were.

    A tenant whose layers no longer go together keeps what it runs, and is named in the log.
    """
    known = components()
    found = {
        "schema": json_schema(registry(known)),
        "presets": {f"{preset.name}@{preset.version}": preset.text for preset in BUILT_IN},
    }
    row = SchemaRelease.objects.filter(version=SCHEMA_VERSION).first()
    if row is not None and row.registry == found:
        return 0
    SchemaRelease.objects.update_or_create(
        version=SCHEMA_VERSION,
        defaults={
            "registry": found,
            "removed": [name for one in known.values() for name in one.refusals],
            "product_version": version("headrace"),
        },
    )
    tenants = Tenant.objects.select_related("organisation").order_by("id")
    return sum(_revised(tenant) for tenant in tenants)


def _revised(tenant: Tenant) -> bool:
    try:
        with transaction.atomic():
            revise(tenant, None, EffectiveRevision.Reason.SCHEMA_UPGRADE)
    except ConfigError as refused:
        log.error("configs.upgrade_refused", extra={"tenant": tenant.uid, "why": str(refused)})
        return False
    return True

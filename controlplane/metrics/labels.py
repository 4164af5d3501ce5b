"""Tenants as labels: their uid and the name that an operator gave them (03 §6.2, 04 §8.9)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.accounts.models import Tenant

TENANTS_MAX = 2000
OTHER = "_other"


@dataclass(frozen=True, slots=True)
class TenantLabel:
    """is_disabled: None for those that stand together as the others."""

    uid: str
    label: str
    is_disabled: bool | None


def tenant_labels(limit: int = TENANTS_MAX) -> dict[str, TenantLabel]:
    """By uid; the oldest tenants have a series each, all later ones share one."""
    rows = Tenant.objects.order_by("id").values_list("uid", "label", "disabled_at")
    return dict(_labelled(rows, limit))


def _labelled(
    rows: Iterable[tuple[str, str, object]], limit: int
) -> Iterable[tuple[str, TenantLabel]]:
    for number, (uid, label, disabled_at) in enumerate(rows):
        if number < limit:
            yield uid, TenantLabel(uid, label, disabled_at is not None)
        else:
            yield uid, TenantLabel(OTHER, OTHER, None)

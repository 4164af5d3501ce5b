"""The two kinds of documents there are, and the one that a new deployment starts with."""

from __future__ import annotations

from pathlib import Path

from controlplane.accounts.models import Tenant
from controlplane.configs.models import ConfigDocument

DEFAULT_SOURCE = Path(__file__).with_name("server_default.yaml")


def server_default() -> ConfigDocument:
    """What a tenant follows that wrote nothing itself; exactly one exists."""
    return ConfigDocument.objects.select_related("head").get_or_create(
        kind=ConfigDocument.Kind.SERVER_DEFAULT
    )[0]


def document_of(tenant: Tenant) -> ConfigDocument:
    """The tenant's own document; it exists from the tenant's creation."""
    return ConfigDocument.objects.select_related("head", "tenant__organisation").get_or_create(
        kind=ConfigDocument.Kind.TENANT, tenant=tenant
    )[0]

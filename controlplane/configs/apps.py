from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_save

from controlplane.topics import tell
from dataplane.core import resource


class ConfigsConfig(AppConfig):
    name = "controlplane.configs"

    def ready(self) -> None:
        from controlplane.configs import published
        from controlplane.fleet import bodies

        bodies.register(resource.TENANT, published.tenant_body)
        post_save.connect(give_first_revision, sender="accounts.Tenant")
        post_save.connect(give_default_document, sender="accounts.Organisation")
        post_save.connect(tell_version, sender="configs.ConfigVersion")
        post_save.connect(tell_revision, sender="configs.EffectiveRevision")


def give_first_revision(instance: Any, created: bool, **_: Any) -> None:  # noqa: FBT001
    """A tenant has a document and something to run from its creation (04 §1.1).

    A signal, because accounts may not know configs; it runs in the transaction of the creation.
    """
    from controlplane.configs.actions import revise

    if created:
        revise(instance, None)


def give_default_document(instance: Any, created: bool, **_: Any) -> None:  # noqa: FBT001
    """An organisation has a place for its default, which says nothing until somebody writes it."""
    from controlplane.configs.documents import org_default

    if created:
        org_default(instance)


def tell_version(instance: Any, **_: Any) -> None:
    document = instance.document
    tenant = document.tenant.uid if document.tenant else ""
    data = {"document": document.uid, "number": instance.number}
    tell("config", "version", document.uid, tenant=tenant, data=data)


def tell_revision(instance: Any, **_: Any) -> None:
    """To each tenant whose own document says it, or a layer below, or a preset."""
    tell("config", "effective", tenant=instance.tenant.uid, data={"number": instance.number})

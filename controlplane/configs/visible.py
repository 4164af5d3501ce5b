"""What of the configuration a principal may see and change (04 §8.4).

Reading: the server default by whoever reads any configuration, because tenants are merged from
it; an organisation's default and presets by whoever reads one of its tenants; a tenant's by its
readers. Writing: by whoever may write the place as a whole.
"""

from __future__ import annotations

from django.db.models import Q, QuerySet

from controlplane.accounts.models import Organisation
from controlplane.accounts.scopes import Scope
from controlplane.configs.models import (
    ConfigDocument,
    ConfigVersion,
    EffectiveRevision,
    Plan,
    Preset,
)

READ, WRITE = "config:read", "config:write"


def organisations(scope: Scope, permission: str = READ) -> QuerySet[Organisation]:
    """Those in which the principal has the permission for one tenant at least."""
    granting = [grant for grant in scope.grants if permission in grant.permissions]
    if any(grant.organisation is None for grant in granting):
        return Organisation.objects.all()
    return Organisation.objects.filter(pk__in=[grant.organisation for grant in granting])


def documents(scope: Scope) -> QuerySet[ConfigDocument]:
    seen = Q(tenant__in=scope.tenants(READ)) | Q(organisation__in=organisations(scope))
    if any(READ in grant.permissions for grant in scope.grants):
        seen |= Q(kind=ConfigDocument.Kind.SERVER_DEFAULT)
    return ConfigDocument.objects.filter(seen).select_related(
        "head", "promoted", "organisation", "tenant__organisation", "preset"
    )


def versions(scope: Scope) -> QuerySet[ConfigVersion]:
    """Newest first, with what a reader is shown of them."""
    found = ConfigVersion.objects.filter(document__in=documents(scope))
    return found.select_related("author", "author_token", "parent", *_DOCUMENT)


def presets(scope: Scope) -> QuerySet[Preset]:
    found = Preset.objects.filter(organisation__in=organisations(scope))
    return found.select_related("organisation", "document__head", "document__promoted")


def revisions(scope: Scope) -> QuerySet[EffectiveRevision]:
    return EffectiveRevision.objects.filter(tenant__in=scope.tenants(READ))


def plans(scope: Scope) -> QuerySet[Plan]:
    """One's own: a plan shows texts of documents that others may not read."""
    user = scope.principal.user if scope.principal else None
    return Plan.objects.filter(created_by=user)


def may_write(scope: Scope, document: ConfigDocument, permission: str = WRITE) -> bool:
    if document.tenant is not None:
        return scope.may(permission, document.tenant)
    return scope.may_in(permission, document.organisation)


_DOCUMENT = (
    "document__head",
    "document__promoted",
    "document__organisation",
    "document__tenant__organisation",
    "document__preset",
)

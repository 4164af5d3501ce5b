"""A configuration document as the pages find it: by its name in an address, if one may read it.

Source: 04-controlplane-and-dashboard.md 1.1 (permissions), 5.9 and 8.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import reverse

from controlplane.accounts.models import Tenant
from controlplane.accounts.scopes import Scope, scope_of_user
from controlplane.configs import visible
from controlplane.configs.documents import document_of, in_force, layers_below
from controlplane.configs.models import ConfigDocument, ConfigVersion
from controlplane.figures.scope import handle as tenant_handle
from controlplane.ui.frame.page import PersonRequest

SERVER_DEFAULT = "server_default"
Kind = ConfigDocument.Kind
NAMES = {
    Kind.SERVER_DEFAULT: "server default",
    Kind.ORG_DEFAULT: "organisation default",
    Kind.TENANT: "tenant",
    Kind.PRESET: "preset",
}


@dataclass(frozen=True, slots=True)
class Opened:
    """handle: its name in an address. version: the one in force, None for none.

    below: the version that counts instead, and under its own, None for a preset.
    """

    document: ConfigDocument
    handle: str
    may_write: bool
    version: ConfigVersion | None
    below: ConfigVersion | None

    @property
    def title(self) -> str:
        return title_of(self.document)

    @property
    def kind(self) -> str:
        return NAMES[Kind(self.document.kind)]

    @property
    def tenant(self) -> Tenant | None:
        return self.document.tenant

    @property
    def organisation(self) -> str:
        document = self.document
        owner = document.tenant.organisation if document.tenant else document.organisation
        return owner.name if owner else "all organisations"

    @property
    def head(self) -> ConfigVersion | None:
        return self.document.head

    @property
    def based_on(self) -> int:
        return self.document.head.number if self.document.head else 0

    @property
    def is_preset(self) -> bool:
        return self.document.kind == Kind.PRESET

    @property
    def follows(self) -> bool:
        """Whether it has no text of its own, so that the layer below counts."""
        return self.head is None or self.head.is_tombstone

    @property
    def below_is(self) -> str:
        """ "the server default, version 3"."""
        if self.below is None:
            return "nothing"
        name = NAMES[Kind(self.below.document.kind)]
        return f"the {name}, version {self.below.number}"

    @property
    def number(self) -> int | None:
        """Of the newest text; None while it follows."""
        return None if self.head is None or self.follows else self.head.number

    @property
    def source(self) -> str:
        """The newest text; "" while it follows."""
        return "" if self.head is None or self.head.is_tombstone else self.head.source

    @property
    def address(self) -> str:
        return reverse("ui:config-text", args=[self.handle])


def title_of(document: ConfigDocument) -> str:
    if document.kind == Kind.PRESET:
        return str(document.preset.title or document.preset.name)
    if document.tenant is not None:
        return document.tenant.label
    if document.organisation is not None:
        return f"{document.organisation.name}, default"
    return "Server default"


def open_by_handle(request: PersonRequest, handle: str, permission: str = visible.READ) -> Opened:
    """Http404 for a document one may not read, PermissionDenied for a deed one may not do."""
    scope = scope_of_user(request.user)
    document = _found(scope, handle)
    if document is None:
        raise Http404
    if permission != visible.READ and not visible.may_write(scope, document, permission):
        raise PermissionDenied
    return open_document(scope, document, handle)


def open_document(scope: Scope, document: ConfigDocument, handle: str) -> Opened:
    below = list(layers_below(document))
    return Opened(
        document,
        handle,
        visible.may_write(scope, document),
        in_force(document),
        below[-1] if below else None,
    )


def _found(scope: Scope, handle: str) -> ConfigDocument | None:
    """server_default, the slug or uid of a tenant, or the uid of any document."""
    seen = visible.documents(scope)
    if handle == SERVER_DEFAULT:
        return seen.filter(kind=Kind.SERVER_DEFAULT).first()
    if handle.startswith("doc_"):
        return seen.filter(uid=handle).first()
    tenant = scope.tenant(handle)
    return document_of(tenant) if tenant else None


def handle_of(document: ConfigDocument, among: Sequence[Tenant]) -> str:
    """among: the tenants that the reader sees, because a slug may stand for several."""
    if document.tenant is not None:
        return tenant_handle(document.tenant, among)
    return SERVER_DEFAULT if document.kind == Kind.SERVER_DEFAULT else document.uid

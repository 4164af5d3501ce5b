"""The documents that a person may see (04 §5.9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from controlplane.accounts.models import User
from controlplane.accounts.scopes import Scope, scope_of_user
from controlplane.configs import visible
from controlplane.configs.documents import org_default
from controlplane.configs.models import ConfigDocument, ConfigDraft
from controlplane.ui.configs.opened import NAMES, Kind, handle_of, title_of
from controlplane.ui.frame.page import PersonRequest, page


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """state: in words; message, author and saved_at: of the newest version."""

    handle: str
    title: str
    kind: str
    organisation: str
    state: str
    follows: bool
    message: str
    author: str
    saved_at: datetime | None
    has_draft: bool
    may_write: bool


@login_required
@require_safe
def documents(request: PersonRequest) -> HttpResponse:
    rows = document_rows(request.user)
    defaults = [row for row in rows if row.kind != NAMES[Kind.TENANT]]
    tenants = [row for row in rows if row.kind == NAMES[Kind.TENANT]]
    context = {
        "groups": (("Defaults", defaults), ("Tenants", tenants)),
        "has_several": len({row.organisation for row in rows}) > 1,
        "is_empty": not rows,
    }
    return page(request, "configs/documents.html", context, here="ui:config")


def document_rows(user: User) -> list[DocumentRow]:
    """Defaults first, then tenants by name; presets have their own page.

    An organisation's default is there to be written as soon as somebody may write it.
    """
    scope = scope_of_user(user)
    for organisation in scope.organisations(visible.WRITE).exclude(
        documents__kind=Kind.ORG_DEFAULT
    ):
        org_default(organisation)
    readable = visible.documents(scope).exclude(kind=Kind.PRESET).select_related("head__author")
    among = list(scope.tenants())
    mine = ConfigDraft.objects.filter(user=user)
    drafts = frozenset(mine.values_list("document_id", flat=True))
    order = {Kind.SERVER_DEFAULT: 0, Kind.ORG_DEFAULT: 1}
    rows = [
        (
            order.get(Kind(document.kind), 2),
            title_of(document),
            _row(document, scope, handle_of(document, among), drafts),
        )
        for document in readable
    ]
    return [row for _, _, row in sorted(rows, key=lambda each: each[:2])]


def _row(
    document: ConfigDocument, scope: Scope, handle: str, drafts: frozenset[int]
) -> DocumentRow:
    head = document.head
    follows = head is None or head.is_tombstone
    owner = document.tenant.organisation if document.tenant else document.organisation
    return DocumentRow(
        handle=handle,
        title=title_of(document),
        kind=NAMES[Kind(document.kind)],
        organisation=owner.name if owner else "all organisations",
        state="follows the default" if head is None or follows else f"version {head.number}",
        follows=follows,
        message=head.message if head else "",
        author=str(head.author or "Headrace") if head else "",
        saved_at=head.created_at if head else None,
        has_draft=document.pk in drafts,
        may_write=visible.may_write(scope, document),
    )

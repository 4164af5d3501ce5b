"""Tokens of this API: a person's own, and those that an admin may end (04 §1.1, 6.3)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from ninja import Router, Status

from controlplane.accounts.models import ApiToken, Organisation, Tenant
from controlplane.accounts.scopes import Scope
from controlplane.accounts.tokens import (
    TokenTerms,
    issue_token,
    may_manage,
    revoke_token,
    rotate_token,
    tokens_of,
)
from controlplane.api import account_schemas as schemas
from controlplane.api import shown_accounts as shown
from controlplane.api.access import SEEN, forbidden, lacking, plain, scope_of, tenant_named
from controlplane.api.operations import operation
from controlplane.api.refusals import invalid, not_found
from controlplane.configs import visible

router = Router(tags=["tokens"])
WRITE = "token:write"


@operation(
    router, "GET", "/tokens", scope=WRITE, tenancy="organisation",
    response={200: schemas.TokensOut},
)  # fmt: skip
def list_tokens(request: HttpRequest) -> dict[str, Any]:
    """One's own and those of the organisations that one administrates, newest first."""
    return {"items": [shown.token(row) for row in tokens_of(scope_of(request))]}


@operation(
    router, "DELETE", "/tokens/{uid}", scope=WRITE, tenancy="organisation",
    response={200: schemas.TokenOut},
)  # fmt: skip
def end_token(request: HttpRequest, uid: str) -> dict[str, Any]:
    """Revoked at once; it stays in the list as what it was."""
    return shown.token(revoke_token(_managed(request, uid), scope_of(request).principal))


@operation(
    router, "GET", "/me/tokens", scope="", tenancy="self", response={200: schemas.TokensOut}
)  # fmt: skip
def list_my_tokens(request: HttpRequest) -> dict[str, Any]:
    """The tokens that speak for the caller; to a token itself and what it may manage."""
    scope = scope_of(request)
    rows = ApiToken.objects.filter(created_by=_user(scope)).order_by("-id")
    found = rows.select_related("created_by", "organisation", "tenant")
    return {"items": [shown.token(row) for row in found if _reaches(scope, row)]}


@operation(
    router, "POST", "/me/tokens", scope="", tenancy="self", once="token",
    response={201: schemas.TokenText},
)  # fmt: skip
def add_token(request: HttpRequest, body: schemas.NewToken) -> Any:
    """A token in the caller's name. One that a token asks for may never do more than that one."""
    scope = scope_of(request)
    terms = _terms(scope, body)
    made, text = issue_token(_user(scope), body.name, scope.principal, terms)
    return Status(201, {**shown.token(made), "token": text})


def _terms(scope: Scope, body: schemas.NewToken) -> TokenTerms:
    """ "" and an absent place are everywhere; where a token asks, its own place, networks, end."""
    asking = scope.principal.token if scope.principal else None
    tenant = _tenant(scope, body.tenant) if body.tenant else None
    organisation = _organisation(scope, body.organisation) if body.organisation else None
    if tenant is not None:
        organisation = tenant.organisation
    if asking is not None:
        _refuse_more(scope, asking, body)
        tenant = tenant or asking.tenant
        organisation = tenant.organisation if tenant else organisation or asking.organisation
    return TokenTerms(
        scopes=body.scopes,
        organisation=organisation,
        tenant=tenant,
        days=body.days,
        parent=asking,
        ip_allow=(asking.ip_allow if asking else None) or body.ip_allow,
    )


def _refuse_more(scope: Scope, asking: ApiToken, body: schemas.NewToken) -> None:
    """A token gives out tokens when it was made for that, and none that is stronger than itself."""
    if WRITE not in asking.scopes:
        raise lacking(scope, WRITE)
    more = sorted(set(body.scopes) - set(asking.scopes))
    if more:
        detail = f"This token cannot give what it does not have: {', '.join(more)}."
        raise forbidden("policy.forbidden", detail)


def _tenant(scope: Scope, uid: str) -> Tenant:
    found = tenant_named(scope, uid, SEEN)
    if found is None:
        raise invalid("/tenant", "There is no such tenant.")
    return found


def _organisation(scope: Scope, uid: str) -> Organisation:
    found = visible.organisations(scope, SEEN).filter(uid=plain(uid)).first()
    if found is None:
        raise invalid("/organisation", "There is no such organisation.")
    return found


@operation(
    router, "POST", "/me/tokens/{uid}/rotate", scope="", tenancy="self", once="token",
    response={201: schemas.TokenText},
)  # fmt: skip
def replace_token(request: HttpRequest, uid: str, body: schemas.Rotation) -> Any:
    """The same terms under a new text; a token may replace itself so, and no other."""
    found, principal = _own(request, uid), scope_of(request).principal
    if principal is not None and principal.token not in (None, found):
        raise forbidden("policy.forbidden", "A token replaces itself alone. Use that token for it.")
    made, text = rotate_token(found, principal, overlap=timedelta(hours=body.overlap_h))
    return Status(201, {**shown.token(made), "token": text})


@operation(
    router, "DELETE", "/me/tokens/{uid}", scope="", tenancy="self",
    response={200: schemas.TokenOut},
)  # fmt: skip
def end_my_token(request: HttpRequest, uid: str) -> dict[str, Any]:
    """Revoked at once; a token may end itself so."""
    return shown.token(revoke_token(_own(request, uid), scope_of(request).principal))


def _own(request: HttpRequest, uid: str) -> ApiToken:
    """One's own: every one for a person who signed in, itself or what it may manage for a token."""
    scope, found = scope_of(request), _named(uid)
    if found is None or found.created_by != _user(scope) or not _reaches(scope, found):
        raise not_found()
    return found


def _reaches(scope: Scope, token: ApiToken) -> bool:
    is_itself = scope.principal is not None and scope.principal.token == token
    return is_itself or may_manage(scope, token)


def _managed(request: HttpRequest, uid: str) -> ApiToken:
    found = _named(uid)
    if found is None or not may_manage(scope_of(request), found):
        raise not_found()
    return found


def _named(uid: str) -> ApiToken | None:
    rows = ApiToken.objects.select_related("created_by", "organisation", "tenant__organisation")
    return rows.filter(uid=plain(uid)).first()


def _user(scope: Scope) -> Any:
    return scope.principal.user if scope.principal else None

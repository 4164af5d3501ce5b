"""Who may call an operation: on the route, asked before anything else (04 §6.1, 8.2, 8.4)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest
from ninja.utils import check_csrf

from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.scopes import Scope
from controlplane.accounts.tokens import why_refused
from controlplane.api.refusals import RefusedError, not_found
from controlplane.arrivals import address_of, scope_of_request
from controlplane.configs import visible
from controlplane.configs.models import ConfigDocument

Tenancy = Literal["public", "self", "organisation", "tenant", "deployment"]
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
DATA_PLANE_KEYS = ("cg_live_", "cg_test_")
SEEN = "telemetry:read"


class Access:
    """Ninja's auth callback: the caller's Scope, or a refusal that names what is missing."""

    def __init__(self, permission: str) -> None:
        """permission: "" for what everybody may do with what is their own."""
        self._permission = permission

    def __call__(self, request: HttpRequest) -> Scope:
        scope = scope_of_request(request)
        if scope.principal is None:
            raise nobody(request)
        if _by_cookie(request) and request.method not in SAFE and check_csrf(request):
            raise forbidden("auth.csrf", "Send the CSRF token of the page as X-CSRFToken.")
        if self._permission and not _is_granted(scope, self._permission):
            raise lacking(scope, self._permission)
        return scope


def _is_granted(scope: Scope, permission: str) -> bool:
    return any(permission in grant.permissions for grant in scope.grants)


def nobody(request: HttpRequest) -> RefusedError:
    if _by_cookie(request) and request.user.is_authenticated:
        return forbidden("auth.second_factor_owed", "Set up an authenticator: /me/second-factor.")
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and not _by_cookie(request):
        return _refused_token(credential.strip(), address_of(request))
    return _unknown("auth.missing", "Send Authorization: Bearer cg_api_…, or sign in.")


def _refused_token(credential: str, address: str) -> RefusedError:
    if credential.startswith(DATA_PLANE_KEYS):
        detail = "This is a key of the data plane; the API wants a token, cg_api_…"
        return _unknown("auth.wrong_credential", detail)
    why = why_refused(credential, address)
    if why is None:
        return _unknown("auth.invalid_token", "This is no token of ours, or nobody's any more.")
    if why.status == HTTPStatus.FORBIDDEN:
        return forbidden(why.code, str(why))
    return _unknown(why.code, str(why))


def _unknown(code: str, detail: str) -> RefusedError:
    refused = RefusedError(HTTPStatus.UNAUTHORIZED, code, detail)
    refused.headers["WWW-Authenticate"] = "Bearer"
    return refused


def lacking(scope: Scope, permission: str) -> RefusedError:
    is_token = scope.principal is not None and scope.principal.token is not None
    code = "auth.scope_missing" if is_token else "auth.role_missing"
    return forbidden(code, f"This takes the permission {permission}.", scope=permission)


def forbidden(code: str, detail: str, **more: str) -> RefusedError:
    return RefusedError(HTTPStatus.FORBIDDEN, code, detail, **more)


def _by_cookie(request: HttpRequest) -> bool:
    return settings.SESSION_COOKIE_NAME in request.COOKIES


def scope_of(request: HttpRequest) -> Scope:
    """The scope that Access has found."""
    scope: Scope = request.auth  # type: ignore[attr-defined]
    return scope


def deployment(request: HttpRequest, permission: str) -> Scope:
    """The scope of a caller who may do this to the deployment as a whole."""
    scope = scope_of(request)
    if not scope.may(permission, None):
        raise lacking(scope, permission)
    return scope


def by_hand(request: HttpRequest) -> User:
    """The person who signed in; a token acts for somebody and is nobody's account."""
    principal = scope_of(request).principal
    if principal is None or principal.token is not None:
        raise forbidden("policy.forbidden", "A token cannot do this. Sign in and do it yourself.")
    return principal.user


def tenant_of(request: HttpRequest, uid: str, permission: str) -> Tenant:
    """A tenant by uid or slug: absent for who may not see it, refused for who may only see."""
    scope = scope_of(request)
    found = tenant_named(scope, uid, permission)
    if found is not None:
        return found
    raise lacking(scope, permission) if tenant_named(scope, uid, SEEN) else not_found()


def tenant_named(scope: Scope, name: str, permission: str) -> Tenant | None:
    """By uid, or by a slug that only one organisation in reach uses."""
    return scope.tenant(plain(name), permission)


def organisation_of(request: HttpRequest, name: str, permission: str) -> Organisation:
    """An organisation by uid or slug, in the same way."""
    scope, named = scope_of(request), Q(uid=plain(name)) | Q(slug=name)
    found = scope.organisations(permission).filter(named).first()
    if found is not None:
        return found
    is_seen = visible.organisations(scope, SEEN).filter(named).exists()
    raise lacking(scope, permission) if is_seen else not_found()


def readable(request: HttpRequest, uid: str) -> ConfigDocument:
    found = visible.documents(scope_of(request)).filter(uid=plain(uid)).first()
    if found is None:
        raise not_found()
    return found


def writable(request: HttpRequest, uid: str, permission: str = visible.WRITE) -> ConfigDocument:
    """A document that the caller sees and may change; absent for one that they do not see."""
    return checked_write(request, readable(request, uid), permission)


def checked_write(
    request: HttpRequest, document: ConfigDocument, permission: str = visible.WRITE
) -> ConfigDocument:
    scope = scope_of(request)
    if not visible.may_write(scope, document, permission):
        raise lacking(scope, permission)
    return document


def plain(name: str) -> str:
    """A name as it may be looked up; what no name can be is absent like an unknown one."""
    if not name.isascii() or not name.isprintable():
        raise not_found()
    return name

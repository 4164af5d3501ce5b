"""What each request brings: its identifier, its origin, the machine behind it (04 §6.1, 8.1)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse

from controlplane.accounts import second_factor, websessions
from controlplane.accounts.models import User
from controlplane.accounts.scopes import NOBODY, Scope, scope_of, scope_of_user
from controlplane.accounts.tokens import authenticate_token
from controlplane.accounts.websessions import Machine
from controlplane.audit.origin import Origin, coming_from
from dataplane.core.door.addresses import address_behind

Answer = Callable[[HttpRequest], HttpResponse]
REQUEST_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
REQUEST_ID_BYTES = 8
API = "/api/"


class RequestOrigin:
    """Whatever is recorded meanwhile carries the request's address and identifier."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else secrets.token_hex(REQUEST_ID_BYTES)
        via = "api" if request.path.startswith(API) else "ui"
        with coming_from(Origin(via=via, ip=address_of(request), request_id=request_id)):
            response = self._answer(request)
        response.headers["X-Request-Id"] = request_id
        return response


class SignedInMachines:
    """A session whose machine was revoked ends; a new one is listed from its first answer on."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        known = self._admitted(request)
        response = self._answer(request)
        key = request.session.session_key
        if known is not None and known != key:
            websessions.close(known)
        if key is not None and key != known and isinstance(request.user, User):
            websessions.admit(key, request.user, machine_of(request))
        return response

    def _admitted(self, request: HttpRequest) -> str | None:
        """The session's key when somebody is signed in with it and may be."""
        user, key = request.user, request.session.session_key
        if isinstance(user, AnonymousUser) or key is None:
            return None
        row = websessions.admit(key, user, machine_of(request))
        if row is None:
            logout(request)
            return None
        if row.slid:
            request.session.modified = True
        return key


def scope_of_request(request: HttpRequest) -> Scope:
    """What whoever sent the request reaches; looked up once for each.

    A browser's session counts, or else a bearer token: never the token beside a session cookie,
    because a page that makes a browser send one must not gain the other's powers.
    """
    found: Scope | None = getattr(request, "principal_scope", None)
    if found is None:
        found = _looked_up(request)
        request.principal_scope = found  # type: ignore[attr-defined]
    return found


def _looked_up(request: HttpRequest) -> Scope:
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        return scope_of_session(request.user)
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return scope_of_user(request.user)
    return scope_of(authenticate_token(credential.strip(), address_of(request)))


def scope_of_session(user: User | AnonymousUser) -> Scope:
    """Of a person at a browser: nothing as long as they owe a second factor."""
    if isinstance(user, User) and second_factor.is_owed(user):
        return NOBODY
    return scope_of_user(user)


def machine_of(request: HttpRequest) -> Machine:
    return Machine(request.headers.get("user-agent", ""), address_of(request))


def address_of(request: HttpRequest) -> str:
    forwarded = request.headers.get("x-forwarded-for", "")
    peer = str(request.META.get("REMOTE_ADDR", ""))
    return address_behind(peer, forwarded, settings.TRUSTED_PROXIES)

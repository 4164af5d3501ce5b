"""Who asks for a stream, and whose figures it may carry (04 sections 6.4, 8.4)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from http import HTTPStatus
from importlib import import_module
from io import BytesIO
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.utils import timezone

from controlplane.accounts import websessions
from controlplane.accounts.models import Tenant, User, WebSession
from controlplane.accounts.problems import AmbiguousNameError
from controlplane.accounts.scopes import Scope
from controlplane.arrivals import machine_of, scope_of_session
from controlplane.live.subscriber import Subscriber, View

READ = "telemetry:read"
MOST_TOPICS = 16
WINDOWS_S = (3600, 300, 900, 21_600, 86_400, 604_800, 2_592_000)
TOPIC = re.compile(r"[a-z_]{1,32}(\.[^\s,\x00-\x1f]{1,167})?")  # a session's name is its client's


class RefusedError(Exception):
    """Answered instead of a stream."""

    def __init__(self, status: HTTPStatus, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class Asked:
    """scope: of ASGI. tenant: slug or uid, "" for all that may be seen. cursor: None for now.

    window_s: what the figures of the page cover.
    """

    scope: Any
    topics: frozenset[str]
    tenant: str
    cursor: int | None
    window_s: int = WINDOWS_S[0]


def reader_of(asked: Asked) -> Subscriber:
    """The reader that this browser may be; RefusedError for anyone else. It asks the database."""
    user, sid = _signed_in(asked.scope)
    return Subscriber(view_of(scope_of_session(user), asked), person=user.uid, session=sid)


def view_of(scope: Scope, asked: Asked, *, raw: bool = False) -> View:
    """The tenants and topics that were asked for, if all of them may be seen."""
    check_topics(asked.topics)
    view = View(None, asked.topics, asked.window_s, raw, scope)
    if not any(READ in grant.permissions for grant in scope.grants):
        raise RefusedError(HTTPStatus.FORBIDDEN, "auth.role_missing")
    if asked.tenant:
        tenant = _tenant(scope, asked.tenant)
        if tenant is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "not_found")
        return replace(view, tenants=frozenset([tenant.uid]), tenant=tenant.uid)
    if scope.may(READ, None):
        return view
    uids = scope.tenants(READ).values_list("uid", flat=True)
    return replace(view, tenants=frozenset(uids))


def _tenant(scope: Scope, named: str) -> Tenant | None:
    try:
        return scope.tenant(named, READ)
    except AmbiguousNameError as refused:
        raise RefusedError(refused.status, refused.code) from None


def check_topics(topics: frozenset[str]) -> None:
    is_wrong = any(not TOPIC.fullmatch(topic) for topic in topics)
    if not topics or len(topics) > MOST_TOPICS or is_wrong:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "live.topics")


def still_open(sids: frozenset[str]) -> frozenset[str]:
    """Those of the browser sessions whose person is signed in and active."""
    rows = WebSession.objects.filter(
        sid__in=sids, revoked_at=None, expires_at__gt=timezone.now(), user__is_active=True
    )
    return frozenset(rows.values_list("sid", flat=True))


def _signed_in(scope: Any) -> tuple[User, str]:
    """The person behind the session cookie and the session's sid, found as a page finds them."""
    request = ASGIRequest(scope, BytesIO())
    try:
        request.get_host()
    except DisallowedHost as problem:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "bad_request") from problem
    store = import_module(settings.SESSION_ENGINE).SessionStore
    request.session = store(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    user, key = get_user(request), request.session.session_key
    if not isinstance(user, User) or key is None:
        raise RefusedError(HTTPStatus.UNAUTHORIZED, "auth.missing")
    if websessions.admit(key, user, machine_of(request)) is None:
        raise RefusedError(HTTPStatus.UNAUTHORIZED, "auth.missing")
    return user, websessions.sid_of(key)

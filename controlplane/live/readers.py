"""Who asks for a stream, and whose figures it may carry (04 §6.4, 8.4)."""

from __future__ import annotations

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
from controlplane.telemetry.models import ComponentBucket
from controlplane.topics import Topic, named, topic_of
from dataplane.core.components import components

READ = "telemetry:read"
MOST_TOPICS = 20
WINDOWS_S = (3600, 300, 900, 21_600, 86_400, 604_800, 2_592_000)
LONGEST_TOPIC = 200


class RefusedError(Exception):
    """Answered instead of a stream."""

    def __init__(self, status: HTTPStatus, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.detail = detail


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
    check_topics(asked.topics, scope)
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


def check_topics(topics: frozenset[str], scope: Scope) -> None:
    """RefusedError names the first that nobody publishes, or that takes more than `scope` has."""
    if not topics or len(topics) > MOST_TOPICS:
        said = f"Name 1 to {MOST_TOPICS} topics: {named()}."
        raise RefusedError(HTTPStatus.BAD_REQUEST, "live.topics", said)
    for asked in sorted(topics):
        topic = topic_of(asked)
        if topic is None or not _exists(topic, asked, scope):
            said = f"There is no topic {asked[:LONGEST_TOPIC]!r}. There are {named()}."
            raise RefusedError(HTTPStatus.BAD_REQUEST, "live.unknown_topic", said)
        if topic.takes != READ and not scope.may(topic.takes, None):
            said = f"The topic {asked} takes the permission {topic.takes}."
            raise RefusedError(HTTPStatus.FORBIDDEN, "auth.role_missing", said)


def _exists(topic: Topic, asked: str, scope: Scope) -> bool:
    """Whether there is what a topic of one thing names; a session may be about to begin."""
    thing = asked.partition(".")[2]
    if topic.name == "component":
        is_built = thing in components()
        return is_built or ComponentBucket.objects.filter(component=thing).exists()
    if topic.name == "session":
        tenant, _, session = thing.partition(".")
        return bool(session) and _tenant(scope, tenant) is not None
    return True


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

"""Every route, every kind of visitor, exactly the permitted answer (04 §6.1, 8.4, A-02).

A new route fails here until it has a line in ROUTES. A line with another method of the same
route is another deed; every method without a line must be refused to everyone as a method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from controlplane.accounts.actions import issue_key
from controlplane.accounts.models import DataPlaneKey, Tenant
from controlplane.accounts.tokens import issue_token
from controlplane.audit.models import AuditEvent
from tests.controlplane import watched_deeds
from tests.controlplane.conftest import person
from tests.controlplane.sites import SIGN_IN, VISITORS, Expected, Site

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
OK, DONE, WRONG, FORBIDDEN, ABSENT, NOT_SO = 200, 302, 422, 403, 404, 405


@dataclass(frozen=True)
class Deed:
    """One method of one route, what is sent, and the answer for each kind of visitor.

    route: as Django prints it. A path names the visited tenant by its uid: "foreign" is an admin
    of another organisation, whose own tenant has the same slug.
    """

    method: str
    route: str
    answers: tuple[Expected, ...]
    body: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} /{self.route}"


def everyone(answer: Expected) -> tuple[Expected, ...]:
    return (answer,) * len(VISITORS)


# In the order of VISITORS: nobody, an admin of elsewhere, viewer, operator, admin, manager.
MEMBERS = (SIGN_IN, OK, OK, OK, OK, OK)
READERS = (SIGN_IN, ABSENT, OK, OK, OK, OK)
SENT = (SIGN_IN, ABSENT, FORBIDDEN, FORBIDDEN, OK, OK)
CHANGED = (SIGN_IN, ABSENT, FORBIDDEN, FORBIDDEN, DONE, DONE)
# For administrators of somewhere: "foreign" administrates another organisation.
ADMINS = (SIGN_IN, OK, FORBIDDEN, FORBIDDEN, OK, OK)
MANAGERS = (SIGN_IN, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, OK)
# What belongs to the deployment or to one person is absent for everybody else.
MANAGERS_ALONE = (SIGN_IN, ABSENT, ABSENT, ABSENT, ABSENT, OK)
ADMINS_ALONE = (SIGN_IN, ABSENT, ABSENT, ABSENT, OK, OK)

TENANT = "tenants/<slug:slug>"
KEY = f"{TENANT}/keys/<slug:uid>/revoke"
ROTATED = f"{TENANT}/keys/<slug:uid>/rotate"
BINDING = f"{TENANT}/agent-keys/<slug:binding>/unbind"
PLACE = "members/<slug:place>"
PERSON = f"{PLACE}/people/<slug:person>"
INVITATION = f"{PLACE}/invitations/<slug:invitation>/withdraw"
TEXT = "config/<slug:handle>"
PRESET = "presets/<slug:preset>"
DOCUMENT = {"source": "pipeline:\n  - mask\n", "message": "a change", "based_on": "1"}

DEEDS = [
    Deed("GET", "", MEMBERS),
    Deed("GET", "login", (OK, DONE, DONE, DONE, DONE, DONE)),
    Deed("POST", "login", everyone(WRONG)),
    Deed("POST", "login/code", everyone(WRONG)),
    Deed("POST", "logout", everyone(DONE)),
    Deed("POST", "theme", everyone(DONE), {"theme": "dark"}),
    Deed("GET", "components", MEMBERS),
    Deed("GET", "components/<str:name>", MEMBERS),
    Deed("GET", "tenants", MEMBERS),
    Deed("GET", TENANT, READERS),
    Deed("POST", f"{TENANT}/upstreams", CHANGED, {"dialect": "openai", "upstream": "lab"}),
    Deed(
        "POST",
        f"{TENANT}/limits",
        CHANGED,
        {"label": "Orchid", "rpm_limit": "60", "concurrent_limit": "0"},
    ),
    Deed("POST", f"{TENANT}/keys", SENT, {"label": "laptop"}),
    Deed("GET", KEY, SENT),
    Deed("POST", KEY, CHANGED),
    Deed("GET", ROTATED, SENT),
    Deed("POST", ROTATED, SENT, {"overlap": "24"}),
    Deed("POST", f"{TENANT}/agent-keys", CHANGED, {"label": "Cline", "agent_key": "k" * 24}),
    Deed("GET", BINDING, SENT),
    Deed("POST", BINDING, CHANGED),
    Deed("POST", "new-tenant", (SIGN_IN, WRONG, FORBIDDEN, FORBIDDEN, WRONG, WRONG)),
    *(
        Deed(method, route, answers)
        for route in (
            f"{TENANT}/texts/agree",
            f"{TENANT}/texts/withdraw",
            f"{TENANT}/texts/purge",
            f"{PLACE}/texts/allow",
            f"{PLACE}/texts/forbid",
        )
        for method, answers in (("GET", SENT), ("POST", CHANGED))
    ),
    Deed("GET", f"{TENANT}/switch", SENT),
    Deed("POST", f"{TENANT}/switch", CHANGED, {"reason": "unpaid"}),
    Deed("GET", "connect", MEMBERS),
    Deed("GET", "connect/<slug:slug>", READERS),
    Deed("GET", "connect/<slug:slug>/keys/<slug:uid>", READERS),
    Deed("GET", "members", ADMINS),
    Deed("GET", PLACE, SENT),
    Deed("POST", f"{PLACE}/invite", SENT, {"email": "new@example.com", "role": "viewer"}),
    Deed("GET", INVITATION, SENT),
    Deed("POST", INVITATION, CHANGED),
    Deed("GET", PERSON, SENT),
    Deed("POST", PERSON, CHANGED, {"role": "operator"}),
    Deed("GET", f"{PERSON}/remove", SENT),
    Deed("POST", f"{PERSON}/remove", CHANGED),
    Deed("GET", f"{PERSON}/activity", SENT),
    Deed("POST", f"{PERSON}/activity", CHANGED, {"active": "yes"}),
    Deed("GET", f"{PERSON}/reset", SENT),
    Deed("POST", f"{PERSON}/reset", SENT),
    Deed("GET", f"{PERSON}/second-factor", (SIGN_IN, ABSENT, *(FORBIDDEN,) * 3, OK)),
    Deed("POST", f"{PERSON}/second-factor", (SIGN_IN, ABSENT, *(FORBIDDEN,) * 3, DONE)),
    Deed("GET", "join/<str:link>", everyone(ABSENT)),
    Deed("POST", "join/<str:link>", everyone(ABSENT)),
    Deed("GET", "new-password/<str:link>", everyone(OK)),
    Deed("POST", "new-password/<str:link>", everyone(ABSENT), {"password": "a long new one"}),
    Deed("GET", "me", MEMBERS),
    Deed("POST", "me/name", (SIGN_IN, DONE, DONE, DONE, DONE, DONE), {"display_name": "A"}),
    Deed("POST", "me/password", (SIGN_IN, WRONG, WRONG, WRONG, WRONG, WRONG)),
    Deed("GET", "me/second-factor", MEMBERS),
    Deed("POST", "me/second-factor", (SIGN_IN, *(WRONG,) * 5), {"code": "000000"}),
    Deed("GET", "me/second-factor/codes", MEMBERS),
    Deed("POST", "me/second-factor/codes", (SIGN_IN, *(WRONG,) * 5), {"code": "000000"}),
    Deed("GET", "me/second-factor/remove", MEMBERS),
    Deed("POST", "me/second-factor/remove", (SIGN_IN, *(WRONG,) * 5), {"code": "000000"}),
    Deed("POST", "me/machines/others", (SIGN_IN, DONE, DONE, DONE, DONE, DONE)),
    Deed(
        "POST",
        "me/machines/<slug:session>/revoke",
        (SIGN_IN, ABSENT, ABSENT, ABSENT, DONE, ABSENT),
    ),
    Deed("POST", "me/tokens", MEMBERS, {"name": "ci", "days": "7", "scopes": "config:read"}),
    Deed("GET", "tokens", ADMINS),
    Deed("GET", "tokens/<slug:token>/rotate", (SIGN_IN, ABSENT, ABSENT, ABSENT, OK, ABSENT)),
    Deed(
        "POST",
        "tokens/<slug:token>/rotate",
        (SIGN_IN, ABSENT, ABSENT, ABSENT, OK, ABSENT),
        {"overlap": "24"},
    ),
    Deed("GET", "tokens/<slug:token>/revoke", ADMINS_ALONE),
    Deed("POST", "tokens/<slug:token>/revoke", (SIGN_IN, ABSENT, ABSENT, ABSENT, DONE, DONE)),
    Deed("GET", "upstreams", MANAGERS),
    Deed(
        "POST",
        "upstreams",
        (SIGN_IN, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, WRONG),
        {"name": "new", "dialect": "openai", "base_url": "http://169.254.169.254"},
    ),
    Deed("GET", "upstreams/<slug:upstream>", MANAGERS_ALONE),
    Deed(
        "POST",
        "upstreams/<slug:upstream>",
        (SIGN_IN, ABSENT, ABSENT, ABSENT, ABSENT, WRONG),
        {"base_url": "http://169.254.169.254"},
    ),
    Deed("GET", "secrets", ADMINS),
    Deed(
        "POST",
        "secrets",
        (SIGN_IN, WRONG, FORBIDDEN, FORBIDDEN, WRONG, WRONG),
        {"owner": "", "name": "Not A Name", "kind": "other", "value": "x"},
    ),
    Deed("GET", "secrets/<slug:secret>", ADMINS_ALONE),
    Deed(
        "POST",
        "secrets/<slug:secret>",
        (SIGN_IN, ABSENT, ABSENT, ABSENT, DONE, DONE),
        {"value": "another"},
    ),
    Deed("GET", "secrets/<slug:secret>/remove", ADMINS_ALONE),
    Deed("POST", "secrets/<slug:secret>/remove", (SIGN_IN, ABSENT, ABSENT, ABSENT, DONE, DONE)),
    Deed("GET", "prices", MEMBERS),
    Deed("POST", "prices", (SIGN_IN, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, WRONG)),
    Deed("GET", "audit", (SIGN_IN, OK, FORBIDDEN, OK, OK, OK)),
    Deed("GET", "config", MEMBERS),
    Deed("GET", TEXT, READERS),
    Deed("POST", TEXT, CHANGED, DOCUMENT),
    Deed("POST", f"{TEXT}/check", READERS, DOCUMENT),
    Deed("POST", f"{TEXT}/fix", SENT, DOCUMENT),
    Deed("POST", f"{TEXT}/discard", CHANGED),
    Deed("GET", f"{TEXT}/answer", READERS),
    Deed("POST", f"{TEXT}/merge", SENT, {**DOCUMENT, "theirs": "1"}),
    Deed("POST", f"{TEXT}/customise", CHANGED),
    Deed("GET", f"{TEXT}/follow", SENT),
    Deed("POST", f"{TEXT}/follow", CHANGED),
    Deed("GET", f"{TEXT}/form", READERS),
    Deed("POST", f"{TEXT}/form", (SIGN_IN, ABSENT, FORBIDDEN, FORBIDDEN, WRONG, WRONG)),
    Deed("GET", f"{TEXT}/effective", READERS),
    Deed("GET", f"{TEXT}/effective.<slug:form>", READERS),
    Deed("GET", f"{TEXT}/versions", READERS),
    Deed("GET", f"{TEXT}/versions/<int:number>", READERS),
    Deed("POST", f"{TEXT}/versions/<int:number>/restore", CHANGED),
    Deed("GET", f"{TEXT}/diff", READERS),
    Deed("GET", "presets", MEMBERS),
    Deed("GET", PRESET, READERS),
    # A manager has to name the organisation that gets the copy.
    Deed(
        "POST",
        f"{PRESET}/clone",
        (SIGN_IN, ABSENT, FORBIDDEN, FORBIDDEN, DONE, FORBIDDEN),
        {"name": "copy"},
    ),
    Deed("GET", "presets/new", ADMINS),
    Deed("POST", "presets/new", (SIGN_IN, WRONG, FORBIDDEN, FORBIDDEN, WRONG, WRONG)),
    Deed("GET", "presets/compare", MEMBERS),
    Deed("POST", f"{PRESET}/describe", CHANGED, {"title": "Lean"}),
    Deed("POST", f"{PRESET}/offer", CHANGED),
    Deed("POST", f"{PRESET}/archive", CHANGED),
    Deed("GET", f"{PRESET}/versions/<int:number>/promotion", SENT),
    Deed("POST", f"{PRESET}/versions/<int:number>/promote", CHANGED),
    Deed("GET", "docs/errors", MEMBERS),
    Deed("GET", "docs/errors/<str:code>", MEMBERS),
]
DEEDS += [Deed(*line) for line in watched_deeds.LINES]
# Ways in for somebody with a link, who has no account yet.
DOORS = ("join/<str:link>", "new-password/<str:link>")
# What is the same for everyone who has signed in: nodes are nobody's in particular.
NODES = (watched_deeds.NODE, f"{watched_deeds.NODE}/remove")
SHARED = ("docs/errors/<str:code>", "components/<str:name>", *NODES)


def routes(patterns: Any = None, prefix: str = "") -> Iterator[str]:
    """Every pattern of the whole process, as Django prints it."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        # The API has a walk of its own, tests/controlplane/api/test_api_routes.py; nodes report
        # with a credential that is nobody's: tests/controlplane/telemetry/test_endpoint.py.
        if route == "api/" or route.startswith("api/dp/"):
            continue
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def test_every_route_has_a_line() -> None:
    assert {deed.route for deed in DEEDS} == set(routes())


def test_no_deed_has_two_lines() -> None:
    assert len({str(deed) for deed in DEEDS}) == len(DEEDS)


@pytest.mark.parametrize("visitor", VISITORS)
@pytest.mark.parametrize("deed", DEEDS, ids=str)
def test_a_visitor_gets_exactly_the_permitted_answer(site: Site, deed: Deed, visitor: str) -> None:
    expected = deed.answers[VISITORS.index(visitor)]

    assert site.answer(visitor, deed.method, deed.route, deed.body) == expected


@pytest.mark.parametrize("deed", DEEDS, ids=str)
def test_a_refused_visitor_changes_nothing(site: Site, deed: Deed) -> None:
    for visitor, expected in zip(VISITORS, deed.answers, strict=True):
        before = AuditEvent.objects.exclude(action__startswith="session.").count()
        if expected in (SIGN_IN, FORBIDDEN, ABSENT):
            site.answer(visitor, deed.method, deed.route, deed.body)
            after = AuditEvent.objects.exclude(action__startswith="session.").count()
            assert after == before


@pytest.mark.parametrize("route", sorted({deed.route for deed in DEEDS}))
def test_a_method_without_a_line_is_refused_as_one(site: Site, route: str) -> None:
    lined = {deed.method for deed in DEEDS if deed.route == route}

    for method in set(METHODS) - lined:
        assert site.answer("manager", method, route, {}) == NOT_SO, method


@pytest.mark.parametrize(
    "route",
    [route for route in sorted(set(routes())) if "<" in route and route not in (*DOORS, *SHARED)],
)
def test_an_unknown_object_and_a_foreign_one_answer_alike(site: Site, route: str) -> None:
    method = next(deed.method for deed in DEEDS if deed.route == route)
    nowhere = {**dict.fromkeys(site.places, "ten_unknown"), "<int:number>": "99"}
    unknown = Site(site.clients, nowhere)

    assert site.answer("foreign", method, route, {}) == ABSENT
    assert unknown.answer("manager", method, route, {}) == ABSENT
    assert unknown.answer("anonymous", method, route, {}) == SIGN_IN


def test_an_object_of_another_tenant_is_absent_below_ones_own(
    site: Site,
) -> None:
    theirs, _ = issue_key(Tenant.objects.get(organisation__slug="globex"), "theirs", None)
    below = Site(site.clients, {**site.places, "<slug:uid>": theirs.uid})

    for method in ("GET", "POST"):
        for visitor in ("admin", "manager"):
            assert below.answer(visitor, method, KEY, {}) == ABSENT
    assert DataPlaneKey.objects.get(pk=theirs.pk).revoked_at is None


def test_a_token_of_the_api_opens_no_page(site: Site) -> None:
    manager = person("manager", None, "other@example.com")
    _, plaintext = issue_token(manager, "ci", manager)
    client = Client(headers={"authorization": f"Bearer {plaintext}"})

    assert client.get("/tenants")["location"].startswith("/login")

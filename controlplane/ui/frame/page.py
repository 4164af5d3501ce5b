"""What stands around every page: navigation, whose data is shown, account, theme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from controlplane.accounts.models import Membership, User
from controlplane.accounts.scopes import Scope
from controlplane.arrivals import scope_of_request
from controlplane.release import identity, release
from controlplane.ui.frame.bell import Bell, bell

THEME_COOKIE = "theme"
THEMES = ("light", "dark")
EVERY_ORGANISATION = "All organisations"

# Only pages that exist. A new page adds its line here.
NAVIGATION = (
    (
        "Watch",
        (
            ("Overview", "ui:overview", "overview"),
            ("Components", "ui:components", "components"),
            ("Alarms", "ui:alarms", "alarms"),
        ),
    ),
    (
        "Inspect",
        (("Sessions", "ui:sessions", "sessions"), ("Requests", "ui:requests", "requests")),
    ),
    (
        "Change",
        (("Configuration", "ui:config", "config"), ("Presets", "ui:presets", "presets")),
    ),
    (
        "Run",
        (
            ("Connect", "ui:connect", "connect"),
            ("Nodes", "ui:nodes", "nodes"),
            ("Tenants", "ui:tenants", "tenants"),
            ("Members", "ui:members", "members"),
            ("API tokens", "ui:tokens", "token"),
            ("Upstreams", "ui:upstream-list", "upstreams"),
            ("Secrets", "ui:secrets", "lock"),
            ("Prices", "ui:prices", "prices"),
            ("Channels", "ui:channels", "alarms"),
            ("Audit", "ui:audit", "audit"),
            ("System", "ui:system", "system"),
        ),
    ),
)
# What it takes to open a place that is not for everyone, in an organisation or the deployment.
TAKES = {
    "ui:members": "member:write",
    "ui:tokens": "token:write",
    "ui:upstream-list": "upstream:write",
    "ui:secrets": "secret:write",
    "ui:audit": "audit:read",
    "ui:channels": "secret:write",
}
# Reached with g and then this letter, from every page.
GO = {
    "ui:overview": "o",
    "ui:components": "c",
    "ui:alarms": "a",
    "ui:sessions": "e",
    "ui:requests": "q",
    "ui:nodes": "n",
    "ui:audit": "u",
}
OF_THE_DEPLOYMENT = {"ui:system": "system:read"}


class PersonRequest(HttpRequest):
    """A request of somebody who has signed in."""

    user: User


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    href: str
    icon: str
    is_current: bool
    keys: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    nav: tuple[Group, ...]
    organisation: str
    person: str
    email: str
    role: str
    initials: str
    release: str
    identity: str
    bell: Bell


def page(
    request: PersonRequest,
    template: str,
    context: Mapping[str, object],
    *,
    here: str,
    status: int = 200,
) -> HttpResponse:
    """The template inside the frame; here: the name of the navigation's current place."""
    around = frame(request.user, scope_of_request(request), here)
    whole = {**context, "frame": around, "theme": theme(request)}
    return render(request, template, whole, status=status)


def frame(user: User, scope: Scope, here: str) -> Frame:
    memberships = list(user.memberships.select_related("organisation"))
    person = user.display_name or user.email
    return Frame(
        nav=navigation(scope, here),
        organisation=_organisation(memberships),
        person=person,
        email=user.email,
        role=", ".join(sorted({membership.role for membership in memberships})) or "no role",
        initials=initials(person),
        release=release(),
        identity=identity(),
        bell=bell(scope),
    )


def navigation(scope: Scope, here: str) -> tuple[Group, ...]:
    """The places that whoever is asking may open."""
    return tuple(
        Group(title, tuple(_place(*line, here) for line in lines if _is_open(line[1], scope)))
        for title, lines in NAVIGATION
    )


def _is_open(view: str, scope: Scope) -> bool:
    if view in OF_THE_DEPLOYMENT:
        return scope.may(OF_THE_DEPLOYMENT[view], None)
    return view not in TAKES or scope.may_somewhere(TAKES[view])


def _place(name: str, view: str, icon: str, here: str) -> Place:
    keys = f"g {GO[view]}" if view in GO else ""
    return Place(name, reverse(view), icon, is_current=view == here, keys=keys)


def _organisation(memberships: list[Membership]) -> str:
    names = [found.organisation.name for found in memberships if found.organisation]
    if len(names) < len(memberships) or not names:
        return EVERY_ORGANISATION if memberships else "none"
    return ", ".join(sorted(names))


def initials(person: str) -> str:
    """Two letters: of the first two words, or of the one there is."""
    words = [word for word in person.partition("@")[0].replace(".", " ").split() if word]
    letters = [word[0] for word in words[:2]] if len(words) > 1 else list(person[:2])
    return "".join(letters).upper()


def theme(request: HttpRequest) -> str:
    """light or dark when the person, or before sign-in the cookie, asks for one; else empty."""
    kept = getattr(request.user, "theme", None) or request.COOKIES.get(THEME_COOKIE, "")
    return kept if kept in THEMES else ""

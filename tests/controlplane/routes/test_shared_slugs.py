"""Two organisations whose tenants share a slug, and somebody who sees both (04 §8.4)."""

from __future__ import annotations

import html
import re

import pytest
from django.urls import resolve

from controlplane.accounts.models import Tenant
from controlplane.audit.models import AuditEvent
from tests.controlplane.routes.test_routes import DEEDS, DONE, OK, Deed
from tests.controlplane.sites import Site

AMBIGUOUS = 409
BY_SLUG = {"<slug:slug>", "<slug:handle>"}  # name a tenant


def by_slug(site: Site) -> Site:
    """Both organisations have a tenant of this slug."""
    return Site(site.clients, {**site.places, "<slug:slug>": "orchid", "<slug:handle>": "orchid"})


@pytest.mark.parametrize("deed", [deed for deed in DEEDS if BY_SLUG & set(deed.route.split("/"))])
def test_a_slug_of_two_organisations_is_refused_and_nothing_is_done(site: Site, deed: Deed) -> None:
    before = AuditEvent.objects.count()

    assert by_slug(site).answer("manager", deed.method, deed.route, deed.body) == AMBIGUOUS
    assert AuditEvent.objects.count() == before


@pytest.mark.parametrize("path", ["", "alarms", "components/mask", "sessions", "requests"])
def test_a_slug_of_two_organisations_narrows_no_page(site: Site, path: str) -> None:
    answer = site.clients["manager"].get(f"/{path}", {"tenant": "orchid", "window": "900"})

    assert answer.status_code == AMBIGUOUS
    for tenant in Tenant.objects.filter(slug="orchid"):
        link = f'href="/{path}?tenant={tenant.uid}&amp;window=900"'
        assert link in answer.content.decode()


def test_the_page_that_asks_which_one_is_meant_leads_to_each(site: Site) -> None:
    manager = site.clients["manager"]
    page = manager.get("/tenants/orchid").content.decode()

    for tenant in Tenant.objects.filter(slug="orchid"):
        assert f'href="/tenants/{tenant.uid}">' in page
        assert tenant.organisation.name in page
        assert manager.get(f"/tenants/{tenant.uid}").status_code == OK


def test_no_link_of_a_page_carries_a_slug_that_two_organisations_share(site: Site) -> None:
    manager, seen, waiting = site.clients["manager"], set[str](), ["/"]
    while waiting:
        path = waiting.pop()
        if route_of(path) in seen:
            continue
        seen.add(route_of(path))
        answer = manager.get(path)
        assert answer.status_code in (OK, DONE), path
        if not answer.streaming and "html" in answer.get("content-type", ""):
            text = html.unescape(answer.content.decode())
            for link in re.findall(r'(?:href|action|hx-get|hx-post)="([^"]*)"', text):
                assert "orchid" not in link, f"{path}: {link}"
            waiting += re.findall(r'href="(/(?!static/)[^"#]*)', text)

    assert len(seen) > 30


def route_of(path: str) -> str:
    """One page of each kind is walked, with a tenant chosen and without."""
    return f"{resolve(path.partition('?')[0]).route} {'tenant=' in path}"

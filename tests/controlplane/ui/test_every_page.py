"""What holds for each page: nothing inline, nothing from elsewhere, no dead link (04 §8.2)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import transaction
from django.http import HttpResponseBase
from django.template.loader import render_to_string
from django.test import Client
from pytest_django import DjangoDbBlocker

from controlplane.accounts.actions import create_organisation, create_tenant, issue_key
from controlplane.accounts.models import Membership, Tenant, User
from controlplane.accounts.upstreams import create_upstream
from controlplane.configs.actions import ensure_server_default
from controlplane.fleet import running
from controlplane.static_files import FOREVER
from tests.controlplane.conftest import BOTH, person
from tests.controlplane.ui.conftest import Browser
from tests.fakes.node import NOTHING, FakeNode, busy

PATHS = (
    "/",
    "/components",
    "/components/mask",
    "/tenants",
    "/tenants/orchid",
    "/login",
    "/nowhere",
    "/connect",
    "/connect/orchid",
    "/members",
    "/me",
    "/me/second-factor",
    "/tokens",
    "/secrets",
    "/prices",
    "/audit",
    "/audit?verify=1",
    "/tenants/orchid/switch",
    "/config",
    "/config/orchid",
    "/config/orchid/form",
    "/config/orchid/effective?show=all",
    "/config/orchid/versions",
    "/config/orchid/diff",
    "/config/server_default",
    "/config/server_default/form",
    "/config/server_default/versions/1",
    "/presets",
    "/presets/house",
    "/docs/errors",
    "/docs/errors/config.removed_key",
)
TEMPLATES = Path(__file__).resolve().parents[3] / "templates"
# Whichever test is chosen, the databases are the tests' own.
pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Site:
    """pages: the text of every page, empty and with traffic. led_to: what the addresses that they
    link are answered with.
    """

    pages: dict[str, str]
    led_to: dict[str, HttpResponseBase]


@pytest.fixture(scope="module")
def site(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Site:
    """Made once, and taken out of the databases again: no test here changes anything."""
    with (
        django_db_blocker.unblock(),
        transaction.atomic(using="default"),
        transaction.atomic(using="telemetry"),
    ):
        made = visited()
        for alias in BOTH:
            transaction.set_rollback(True, using=alias)
    return made


@pytest.fixture
def pages(site: Site) -> dict[str, str]:
    return site.pages


def visited() -> Site:
    ensure_server_default()
    organisation = create_organisation(name="Acme", slug="acme", by=None)
    tenant = create_tenant(organisation, slug="orchid", by=None)
    client = Client()
    client.force_login(person(Membership.Role.ADMIN, organisation))
    pages = shown(client, tenant)
    links = {link for page in pages.values() for link in re.findall(r'href="([^"]*)"', page)}
    inside = {link for link in links - {"#main"} if link.startswith("/") or "#" in link}
    return Site(pages, {path: client.get(path) for path in map(without_fragment, inside)})


def without_fragment(link: str) -> str:
    return link.partition("#")[0]


def shown(client: Client, tenant: Tenant) -> dict[str, str]:
    create_upstream(name="claude", dialect="anthropic", base_url="https://api.example", by=None)
    key, _ = issue_key(tenant, "laptop", None)
    found = {}
    for name, stats in (("no node", None), ("empty", NOTHING), ("busy", busy())):
        if stats:
            running.register(FakeNode(stats, **{tenant.uid: stats}))
        for path in (*PATHS, f"/tenants/orchid/keys/{key.uid}/revoke"):
            reader = Client() if path == "/login" else client
            found[f"{path}, {name}"] = reader.get(path).content.decode()
    running.unregister()
    found["a new key"] = client.post("/tenants/orchid/keys", {"label": "x"}).content.decode()
    found["a fault"] = render_to_string("500.html")
    return found


def test_no_page_carries_a_style_or_a_script_of_its_own(pages: dict[str, str]) -> None:
    for name, page in pages.items():
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", page), name
        assert not re.search(r"hx-on|hx-vals=.js:|hx-trigger=\"[^\"]*\[", page), name


def test_no_page_asks_another_host_for_anything(pages: dict[str, str]) -> None:
    for name, page in pages.items():
        for address in re.findall(r'(?:href|src|action|hx-get)="([^"]*)"', page):
            assert urlsplit(address).netloc == "", f"{name}: {address}"
        hosts = {urlsplit(found).netloc for found in re.findall(r"https?://[^\s\"'<&]+", page)}
        assert hosts <= {"testserver"}, name


def test_every_link_of_ours_leads_somewhere(site: Site) -> None:
    links = {link for page in site.pages.values() for link in re.findall(r'href="(/[^"]*)"', page)}

    assert links
    for link in links:
        path = without_fragment(link)
        if path.startswith("/static/"):
            assert site.led_to[path]["cache-control"] == FOREVER, link
        else:
            assert site.led_to[path].status_code in {200, 302}, link


def test_every_fragment_that_a_link_names_is_on_the_page_it_leads_to(site: Site) -> None:
    pages = site.pages.values()
    links = {link for page in pages for link in re.findall(r'href="([^"]*#[^"]*)"', page)}

    assert links - {"#main"}
    for link in links - {"#main"}:
        path, _, fragment = link.partition("#")
        if path.endswith("/img/icons.svg"):
            symbols = site.led_to[path].getvalue().decode()
            assert f'id="{fragment}"' in symbols
        else:
            assert f'id="{fragment}"' in site.led_to[path].getvalue().decode(), link


def test_every_page_has_one_title_one_main_and_ids_that_are_its_own(pages: dict[str, str]) -> None:
    for name, page in pages.items():
        assert page.count("<h1") == page.count("<main") == 1, name
        ids = re.findall(r'\sid="([^"]*)"', page)
        assert len(ids) == len(set(ids)), name


def test_every_answer_carries_the_policy_and_htmx_is_told_to_obey_it(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    answer = browser(admin).get("/")
    policy = answer["content-security-policy"]
    (config,) = re.findall(r"name=\"htmx-config\" content='([^']+)'", answer.content.decode())

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert json.loads(config) == {
        "includeIndicatorStyles": False,
        "allowEval": False,
        "allowScriptTags": False,
        "selfRequestsOnly": True,
        "historyCacheSize": 0,
    }


def test_a_fault_of_ours_says_that_agents_are_not_affected(pages: dict[str, str]) -> None:
    assert "Agents are not affected" in pages["a fault"]


def test_templates_contain_no_arithmetic() -> None:
    for template in TEMPLATES.rglob("*.html"):
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\|(?:add|divisibleby|floatformat|length|intcomma)|widthratio", text)

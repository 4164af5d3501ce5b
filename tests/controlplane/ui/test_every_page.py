"""What holds for each page: nothing inline, nothing from elsewhere, no dead link (04 8.2)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.template.loader import render_to_string
from django.test import Client

from controlplane.accounts.actions import issue_key
from controlplane.accounts.models import Tenant, User
from controlplane.accounts.upstreams import create_upstream
from controlplane.fleet import running
from controlplane.static_files import FOREVER
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


@pytest.fixture
def pages(browser: Browser, admin: User, tenant: Tenant) -> dict[str, str]:
    """The text of every page, empty and with traffic."""
    create_upstream(name="claude", dialect="anthropic", base_url="https://api.example", by=None)
    key, _ = issue_key(tenant, "laptop", None)
    client = browser(admin)
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


def test_every_link_of_ours_leads_somewhere(
    pages: dict[str, str], browser: Browser, admin: User
) -> None:
    client = browser(admin)
    links = {link for page in pages.values() for link in re.findall(r'href="(/[^"]*)"', page)}

    for link in links:
        path = link.partition("#")[0]
        if path.startswith("/static/"):
            assert client.get(path)["cache-control"] == FOREVER, link
        else:
            assert client.get(path).status_code in {200, 302}, link


def test_every_fragment_that_a_link_names_is_on_the_page_it_leads_to(
    pages: dict[str, str], browser: Browser, admin: User
) -> None:
    client = browser(admin)
    links = {link for page in pages.values() for link in re.findall(r'href="([^"]*#[^"]*)"', page)}

    for link in links - {"#main"}:
        path, _, fragment = link.partition("#")
        if path.endswith("/img/icons.svg"):
            symbols = client.get(path).content.decode()
            assert f'id="{fragment}"' in symbols
        else:
            assert f'id="{fragment}"' in client.get(path).content.decode(), link


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

"""From a key to the first request of an agent (04 §5.13)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest

from controlplane.accounts.actions import choose_upstream, issue_key, rotate_key, set_disabled
from controlplane.accounts.models import Secret, Tenant, User
from controlplane.accounts.upstreams import UpstreamTerms, create_upstream
from controlplane.accounts.vault import put_secret
from controlplane.telemetry.uses import keep_uses
from controlplane.ui.tenants.snippets import PLACEHOLDER, clients
from dataplane.core.uplink import UseRow
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.watched import a_stream, traffic
from tests.fakes.node import NOTHING, FakeNode

PAGE = "/connect/orchid"
KEY = "cg_live_" + "A" * 26


def texts() -> dict[str, str]:
    made = clients("https://gate.example", KEY)
    return {client.key: "\n".join(line.text for line in client.lines) for client in made}


@pytest.mark.parametrize("name", list(texts()))
def test_every_clients_lines_carry_the_address_and_the_key(name: str) -> None:
    text = texts()[name]

    assert "https://gate.example/" in text
    assert "x-context-guru-token" in text
    assert KEY in text


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("claude-code", "ANTHROPIC_BASE_URL=https://gate.example/anthropic\n"),
        ("codex", 'base_url = "https://gate.example/openai/v1"'),
        ("opencode", '"baseURL": "https://gate.example/anthropic/v1"'),
        ("cline", "https://gate.example/openai/v1\n"),
        ("anthropic-python", 'base_url="https://gate.example/anthropic"'),
        ("anthropic-typescript", 'baseURL: "https://gate.example/anthropic"'),
        ("openai-python", 'base_url="https://gate.example/openai/v1"'),
        ("openai-typescript", 'baseURL: "https://gate.example/openai/v1"'),
        ("langchain", 'base_url="https://gate.example/anthropic"'),
        ("curl", "curl https://gate.example/anthropic/v1/messages "),
    ],
)
def test_a_client_gets_the_base_that_it_completes_to_a_route(name: str, address: str) -> None:
    assert address in texts()[name]


def test_before_a_key_is_issued_the_lines_hold_a_placeholder(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    page = browser(admin).get("/connect").content.decode()

    assert page.count(PLACEHOLDER) >= len(texts())
    assert "Issue a key first" in page


def test_a_viewer_reads_the_lines_and_is_told_who_issues_keys(
    browser: Browser, viewer: User, tenant: Tenant
) -> None:
    page = browser(viewer).get(PAGE).content.decode()

    assert "Your role cannot issue one." in page
    assert "Issue a key</button>" not in page


def test_a_client_whose_dialect_has_no_upstream_is_warned(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    create_upstream(name="claude", dialect="anthropic", base_url="https://api.example", by=None)
    choose_upstream(tenant, "anthropic", "claude", None)

    page = browser(admin).get(PAGE).content.decode()

    assert "Goes to claude in the Anthropic dialect, with the agent&#x27;s own key" in page
    assert "no upstream for OpenAI yet" in page
    assert "no upstream for Anthropic yet" not in page


def test_a_held_key_is_said_because_it_replaces_the_agents(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    held = put_secret(None, "lab", "sk-held", kind=Secret.Kind.PROVIDER_KEY, by=None)
    terms = UpstreamTerms(key_secret=held)
    create_upstream(
        name="claude", dialect="anthropic", base_url="https://api.example", by=None, terms=terms
    )
    choose_upstream(tenant, "anthropic", "claude", None)

    page = browser(admin).get(PAGE).content.decode()

    assert "with the key that Headrace holds" in page
    assert "sk-held" not in page


def test_a_disabled_tenant_says_that_every_request_gets_403(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    set_disabled(tenant, reason="unpaid", by=None)

    assert "unpaid. Every request gets 403." in browser(admin).get(PAGE).content.decode()


def test_the_page_waits_until_the_key_itself_has_been_used(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    key, _ = issue_key(tenant, "laptop", None)
    other, _ = issue_key(tenant, "other", None)
    a_stream("node-a")
    client = browser(admin)
    look = f"{PAGE}/keys/{key.uid}"
    heard = partial(UseRow, tenant=tenant.uid, first_at=10**12, last_at=10**12, session="s-1",
                    model="opus", status=200)  # fmt: skip

    keep_uses(0, [heard(other.principal)])
    waiting = client.get(look, headers={"hx-request": "true"}).content.decode()
    keep_uses(0, [heard(key.principal)])
    arrived = client.get(look, headers={"hx-request": "true"}).content.decode()

    assert "Waiting for the first request" in waiting
    assert 'hx-trigger="every 2s, again"' in waiting
    assert "First request arrived" in arrived
    assert "01:46:40 UTC" in arrived
    assert "<code>s-1</code>" in arrived
    assert "<code>opus</code>" in arrived
    assert "hx-get" not in arrived
    assert "<html" not in arrived


def test_what_is_turned_away_meanwhile_is_said_with_its_reason(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    key, _ = issue_key(tenant, "laptop", None)
    traffic(tenant.uid, **{"refused:no_provider_key": 3})
    look = f"{PAGE}/keys/{key.uid}?since=1"

    page = browser(admin).get(look, headers={"hx-request": "true"}).content.decode()

    assert re.search(r"2\W+requests of this tenant turned away meanwhile: no key of the", page)


def test_a_key_that_took_over_cannot_be_told_from_its_predecessor(
    browser: Browser, admin: User, tenant: Tenant, node: Callable[[FakeNode], None]
) -> None:
    key, _ = issue_key(tenant, "laptop", None)
    fresh, _ = rotate_key(key, None)
    node(FakeNode(NOTHING))

    page = browser(admin).get(f"{PAGE}/keys/{fresh.uid}").content.decode()

    assert "cannot be told from theirs" in page


def test_a_poll_of_somebody_who_was_signed_out_goes_to_the_sign_in_as_a_whole(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    key, _ = issue_key(tenant, "laptop", None)
    client = browser(admin)
    client.logout()

    answer = client.get(f"{PAGE}/keys/{key.uid}", headers={"hx-request": "true"})

    assert answer["hx-redirect"] == "/login?next=/connect"

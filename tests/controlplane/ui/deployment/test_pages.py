"""Upstreams, secrets and the trail as pages (04 §5.12, 5.14, 8.5, 8.6)."""

from __future__ import annotations

import json
import re

import pytest

from controlplane.accounts.actions import create_tenant, issue_key, set_disabled
from controlplane.accounts.members import set_member
from controlplane.accounts.models import Organisation, Secret, Tenant, Upstream, User
from controlplane.accounts.upstreams import UpstreamTerms, create_upstream
from controlplane.accounts.vault import put_secret, reveal
from controlplane.audit.queries import trail
from controlplane.ui.deployment.audit_rows import changes, in_words
from tests.controlplane.conftest import person
from tests.controlplane.ui.conftest import Browser

# ---- upstreams --------------------------------------------------------------------------------

LAB = {"name": "lab", "dialect": "openai", "base_url": "https://127.0.0.1:9000", "enabled": "on"}


def test_a_manager_adds_an_upstream_of_a_private_network_and_it_is_marked(
    browser: Browser, manager: User
) -> None:
    client = browser(manager)

    answer = client.post("/upstreams", {**LAB, "allow_private": "on"})
    page = client.get("/upstreams").content.decode()

    assert answer["location"] == "/upstreams"
    assert Upstream.objects.get(name="lab").allow_private
    assert "private network</span>" in page


@pytest.mark.parametrize(
    ("base_url", "rule"),
    [
        ("https://169.254.169.254", "number"),
        ("https://127.0.0.1", "number"),
        ("https://localhost", "loopback"),
        ("ftp://files.example", "form"),
        ("https://user:pass@api.example", "userinfo"),
        ("https://api.example/v1", "path"),
    ],
)
def test_an_address_that_breaks_a_rule_is_refused_beside_it_with_the_rules_name(
    browser: Browser, manager: User, base_url: str, rule: str
) -> None:
    answer = browser(manager).post("/upstreams", {**LAB, "base_url": base_url})

    assert answer.status_code == 422
    assert f"Rule “{rule}”:" in answer.content.decode()
    assert not Upstream.objects.exists()


def test_a_cloud_s_metadata_stays_closed_to_a_manager_too(browser: Browser, manager: User) -> None:
    wanted = {**LAB, "base_url": "https://169.254.169.254", "allow_private": "on"}

    answer = browser(manager).post("/upstreams", wanted)

    assert "Rule “cloud metadata”:" in answer.content.decode()


def test_an_upstream_takes_a_held_key_by_name(browser: Browser, manager: User) -> None:
    held = put_secret(None, "main", "sk-held", kind=Secret.Kind.PROVIDER_KEY, by=None)
    made = create_upstream(
        name="lab", dialect="openai", base_url="https://127.0.0.1", by=None,
        terms=UpstreamTerms(allow_private=True, header_timeout_s=30),
    )  # fmt: skip
    client = browser(manager)
    form = client.get(f"/upstreams/{made.uid}").content.decode()

    client.post(
        f"/upstreams/{made.uid}",
        {"base_url": "https://127.0.0.1", "allow_private": "on", "enabled": "on",
         "key_secret": held.uid, "header_timeout_s": "30"},
    )  # fmt: skip

    made.refresh_from_db()
    assert 'value="30"' in form
    assert made.key_secret == held
    assert "held: <code>main</code>" in client.get("/upstreams").content.decode()


def test_an_upstream_in_use_is_not_taken_off_the_list(
    browser: Browser, manager: User, tenant: Tenant
) -> None:
    made = create_upstream(
        name="lab", dialect="openai", base_url="https://127.0.0.1", by=None,
        terms=UpstreamTerms(allow_private=True),
    )  # fmt: skip
    tenant.upstreams.create(dialect="openai", upstream=made)

    answer = browser(manager).post(
        f"/upstreams/{made.uid}", {"base_url": "https://127.0.0.1", "allow_private": "on"}
    )

    assert answer.status_code == 422
    assert "Tenants still use this upstream." in answer.content.decode()


# ---- secrets ----------------------------------------------------------------------------------


def test_a_secret_is_put_replaced_and_never_shown(browser: Browser, manager: User) -> None:
    client = browser(manager)
    client.post("/secrets", {"owner": "", "name": "main", "kind": "provider_key", "value": "sk-1x"})
    secret = Secret.objects.get()

    client.post(f"/secrets/{secret.uid}", {"value": "sk-2x"})

    secret.refresh_from_db()
    page = client.get("/secrets").content.decode()
    assert (reveal(secret), secret.version) == ("sk-2x", 2)
    assert secret.fingerprint in page
    assert "sk-1x" not in page
    assert "sk-2x" not in page


def test_a_secret_that_an_upstream_uses_is_not_removed(browser: Browser, manager: User) -> None:
    held = put_secret(None, "main", "sk-held", kind=Secret.Kind.PROVIDER_KEY, by=None)
    create_upstream(
        name="lab", dialect="openai", base_url="https://127.0.0.1", by=None,
        terms=UpstreamTerms(allow_private=True, key_secret=held),
    )  # fmt: skip

    answer = browser(manager).post(f"/secrets/{held.uid}/remove")

    assert "the upstream lab uses it" in answer.content.decode()
    assert Secret.objects.exists()


def test_an_admin_keeps_secrets_of_the_organisation_and_none_of_the_deployment(
    browser: Browser, admin: User, organisation: Organisation
) -> None:
    deployment = put_secret(None, "main", "sk-held", kind="provider_key", by=None)
    client = browser(admin)
    wanted = {"name": "hook", "kind": "webhook_hmac", "value": "x"}

    own = client.post("/secrets", {**wanted, "owner": organisation.uid})
    theirs = client.post("/secrets", {**wanted, "owner": ""})

    assert (own.status_code, theirs.status_code) == (302, 422)
    assert client.post(f"/secrets/{deployment.uid}/remove").status_code == 404
    assert "main" not in re.findall(r"<code>(\w+)</code>", client.get("/secrets").content.decode())


def test_a_refused_value_is_not_sent_back(browser: Browser, manager: User) -> None:
    wanted = {"owner": "", "name": "Not A Name", "kind": "other", "value": "top secret"}

    answer = browser(manager).post("/secrets", wanted)

    assert answer.status_code == 422
    assert "top secret" not in answer.content.decode()


# ---- the trail --------------------------------------------------------------------------------


def test_the_trail_says_who_changed_what_from_where(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client = browser(admin)
    client.post("/tenants/orchid/switch", {"reason": "unpaid"})

    page = re.sub(r"\s+", " ", client.get("/audit").content.decode())

    assert "<code>tenant.disable</code>" in page
    assert "admin@example.com" in page
    assert "disabled reason</span> nothing" in page
    assert "unpaid" in page
    assert "127.0.0.1" in page


def test_the_trail_of_another_organisation_is_not_there(
    browser: Browser, admin: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    set_disabled(other_tenant, reason="foreign reason", by=None)
    client = browser(admin)

    for path in ("/audit", f"/audit?subject={other_tenant.uid}", "/audit?text=foreign"):
        assert "foreign reason" not in client.get(path).content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("action=tenant.disable", True), ("action=key.issue", False), ("action=tenant.", True),
        ("text=orchid", True), ("text=nothing+like+it", False), ("via=ui", False),
        ("since=2001-01-01", True), ("until=2001-01-01", False), ("since=yesterday", True),
    ],
)  # fmt: skip
def test_a_filter_narrows_the_trail_and_one_that_is_not_understood_does_not(
    browser: Browser, manager: User, tenant: Tenant, query: str, *, found: bool
) -> None:
    set_disabled(tenant, reason="the reason", by=None)
    browser(manager).post("/tenants/orchid/keys", {"label": "x"})

    page = browser(manager).get(f"/audit?{query}").content.decode()

    assert ("the reason" in page) is found


def test_pages_stay_put_while_events_are_appended(
    browser: Browser, manager: User, tenant: Tenant
) -> None:
    for number in range(60):
        set_disabled(tenant, reason=f"reason {number}", by=None)
    client = browser(manager)
    first = client.get("/audit?action=tenant.").content.decode()
    (older,) = re.findall(r'href="(/audit\?[^"]*before=\d+)"', first)
    older = older.replace("&amp;", "&")
    before = client.get(older).content.decode()

    set_disabled(tenant, reason="one more", by=None)

    rows = re.compile(r'<td class="num">(\d+)</td>')
    assert rows.findall(client.get(older).content.decode()) == rows.findall(before)
    assert not set(rows.findall(first)) & set(rows.findall(before))
    assert "That is the first event." in before


def test_a_whole_trail_is_said_to_be_whole(browser: Browser, manager: User, tenant: Tenant) -> None:
    page = browser(manager).get("/audit?verify=1").content.decode()

    assert "The trail is whole." in page
    assert trail(None).events[0].hash in page


def test_an_operator_restricted_to_some_tenants_reads_no_trail(
    browser: Browser, organisation: Organisation, tenant: Tenant
) -> None:
    operator = person("operator", organisation)
    set_member(operator, organisation, "operator", None, tenants=[tenant])

    assert browser(operator).get("/audit").status_code == 403


def test_a_change_is_told_field_by_field() -> None:
    told = changes({"a": 1, "b": ["x"], "c": None}, {"a": 1, "b": ["x", "y"], "d": True})

    assert [(each.field, each.before, each.after) for each in told] == [
        ("b", "x", "x, y"), ("c", "nothing", ""), ("d", "", "yes"),
    ]  # fmt: skip


def test_a_long_value_is_cut() -> None:
    assert in_words("x" * 300) == "x" * 200 + "…"
    assert in_words("ab" * 32) == "abababababababab…"
    assert in_words({"k": 1}) == '{"k": 1}'


def test_the_navigation_names_the_places_that_are_open(
    browser: Browser, manager: User, viewer: User, tenant: Tenant
) -> None:
    create_tenant(tenant.organisation, slug="fern", by=None)
    closed = ("/members", "/tokens", "/upstreams", "/secrets", "/audit")

    seen = {
        user.email: re.findall(
            r'class="go" href="([^"]+)"', browser(user).get("/me").content.decode()
        )
        for user in (manager, viewer)
    }

    assert set(closed) <= set(seen[manager.email])
    assert not set(closed) & set(seen[viewer.email])
    assert "/prices" in seen[viewer.email]


def test_the_trail_is_exported_as_it_is_filtered(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client = browser(admin)
    issue_key(tenant, "laptop", admin)
    page = client.get("/audit?action=key.&text=laptop&since=2026-01-01").content.decode()

    found = re.search(r'href="(/api/v1/audit/export[^"]*)"', page)
    assert found is not None
    address = found[1].replace("&amp;", "&")
    lines = client.get(address).content.decode().splitlines()

    assert address.startswith("/api/v1/audit/export?action=key.&q=laptop&since=17672256")
    assert [json.loads(line)["object"] for line in lines] == ["laptop"]
